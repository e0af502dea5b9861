"""Files that survive a restart of the sandbox: the server's certificate and the secret that tokens derive from."""

import hmac
from datetime import datetime, timedelta
from hashlib import sha256
from pathlib import Path
from secrets import token_bytes

from cryptography import x509

from services.process.secret_file import write_private
from services.sandbox.api.server.tls import Identity, self_signed

LEAST = timedelta(days=30)
"""A certificate that expires sooner than this is replaced."""


def identity(folder: Path, now: datetime) -> Identity:
    """The server's certificate and key, created at the first start."""
    certificate, key = folder / "ca.crt", folder / "ca.key"
    if certificate.exists() and key.exists():
        read = Identity(certificate.read_bytes(), key.read_bytes())
        if x509.load_pem_x509_certificate(read.certificate).not_valid_after_utc - now > LEAST:
            return read
    made = self_signed(now)
    write_private(key, made.key)
    write_private(certificate, made.certificate)
    return made


def seal(folder: Path) -> bytes:
    """The secret that all tokens derive from."""
    path = folder / "seal"
    if not path.exists():
        write_private(path, token_bytes(32))
    return path.read_bytes()


def token(seal_: bytes, *parts: str) -> str:
    """The bearer token of one cluster (by name and uid); the same inputs give the same token."""
    return hmac.new(seal_, "/".join(parts).encode(), sha256).hexdigest()
