"""Signs and verifies Standard Webhooks."""

import binascii
import hmac
from base64 import b64decode, b64encode
from hashlib import sha256

PREFIX = b"whsec_"
"""The prefix of a secret in base64."""


def key_of(secret: bytes) -> bytes:
    """The bytes to sign with. Raises ValueError if what follows ``whsec_`` is no base64."""
    if not secret.startswith(PREFIX):
        return secret
    try:
        return b64decode(secret.removeprefix(PREFIX), validate=True)
    except binascii.Error as error:
        raise ValueError("what follows whsec_ is no base64") from error


def signature(secret: bytes, name: bytes, stamp: bytes, body: bytes) -> bytes:
    """``v1,<base64>`` over id, time and body. Raises ValueError for a damaged secret."""
    return b"v1," + b64encode(hmac.digest(key_of(secret), b".".join((name, stamp, body)), sha256))
