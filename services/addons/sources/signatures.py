"""The two forms in which cosign signs an artifact's digest, verified with a key as pure functions."""

import base64
import binascii

import msgspec
from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ec import ECDSA, EllipticCurvePublicKey
from cryptography.hazmat.primitives.hashes import SHA256

from schemas.registry import UNREADABLE

SIGNATURE = "dev.cosignproject.cosign/signature"
"""The annotation that holds the signature of a layer's payload."""
BUNDLE = "application/vnd.dev.sigstore.bundle"
"""How the media types of Sigstore's bundles begin."""
SIGNED = "https://sigstore.dev/cosign/sign/v1"
"""The predicate of a signature: other statements, such as a list of contents, approve of nothing."""
STATEMENT = "application/vnd.in-toto+json"
_WRONG = (InvalidSignature, binascii.Error, ValueError, *UNREADABLE)


class _Digest(msgspec.Struct, rename={"digest": "docker-manifest-digest"}):
    digest: str


class _Critical(msgspec.Struct):
    image: _Digest


class _Payload(msgspec.Struct):
    critical: _Critical


class _Signature(msgspec.Struct):
    sig: str


class _Envelope(msgspec.Struct, rename="camel"):
    payload: str
    payload_type: str
    signatures: list[_Signature]


class _Bundle(msgspec.Struct, rename="camel"):
    dsse_envelope: _Envelope


class _Subject(msgspec.Struct):
    digest: dict[str, str]


class _Statement(msgspec.Struct, rename="camel"):
    subject: list[_Subject]
    predicate_type: str


def payload_is_by(key: EllipticCurvePublicKey, payload: bytes, signature: str, digest: str) -> bool:
    """Whether a payload of simple signing is signed by the key, and is about this digest."""
    try:
        key.verify(base64.b64decode(signature, validate=True), payload, ECDSA(SHA256()))
        return msgspec.json.decode(payload, type=_Payload).critical.image.digest == digest
    except _WRONG:
        return False


def bundle_is_by(key: EllipticCurvePublicKey, bundle: bytes, digest: str) -> bool:
    """Whether a bundle's statement is signed by the key, and says that this digest is signed."""
    try:
        envelope = msgspec.json.decode(bundle, type=_Bundle).dsse_envelope
        payload = base64.b64decode(envelope.payload, validate=True)
        key.verify(
            base64.b64decode(envelope.signatures[0].sig, validate=True), _encoded(envelope, payload), ECDSA(SHA256())
        )
        said = msgspec.json.decode(payload, type=_Statement)
    except (IndexError, *_WRONG):
        return False
    about = any(f"sha256:{each.digest.get('sha256')}" == digest for each in said.subject)
    return about and said.predicate_type == SIGNED and envelope.payload_type == STATEMENT


def _encoded(envelope: _Envelope, payload: bytes) -> bytes:
    """What the signature of a DSSE envelope is over."""
    kind = envelope.payload_type.encode()
    return b"DSSEv1 %d %s %d %s" % (len(kind), kind, len(payload), payload)
