"""Verifies what cosign signed with a key: a payload beside the artifact that names its digest, and its signature."""

import base64
import binascii
from pathlib import Path
from tempfile import TemporaryDirectory

import msgspec
from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ec import ECDSA, EllipticCurvePublicKey
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.serialization import load_pem_public_key

from events.errors import Denied
from schemas.registry import UNREADABLE
from services.addons.sources.registry import Layer, Registry

SIGNATURE = "dev.cosignproject.cosign/signature"
"""The annotation that holds the signature of a layer's payload."""
LARGEST = 64 << 10
"""Bytes of a payload."""
MOST = 16
"""Signatures that are looked at."""


class _Digest(msgspec.Struct, rename={"digest": "docker-manifest-digest"}):
    digest: str


class _Critical(msgspec.Struct):
    image: _Digest


class _Payload(msgspec.Struct):
    critical: _Critical


async def verify(registry: Registry, what: str, digest: str, pem: str) -> None:
    """See that one of an artifact's signatures is by this key. Raises TryLater, Denied."""
    key = _key(pem)
    try:
        manifest = await registry.manifest(f"{digest.replace(':', '-')}.sig")
    except Denied as missing:
        if missing.reason != "NotFound":
            raise
        raise Denied(f"{what} at {digest} has no cosign signature", "SignatureInvalid") from missing
    with TemporaryDirectory(prefix="alate-") as folder:
        for number, layer in enumerate(_signatures(manifest.content)):
            file = Path(folder) / str(number)
            await registry.blob(layer.digest, file, LARGEST)
            if _signed(key, file.read_bytes(), (layer.annotations or {})[SIGNATURE], digest):
                return
    raise Denied(f"{what} at {digest} has no cosign signature by the key that is given", "SignatureInvalid")


def _key(pem: str) -> EllipticCurvePublicKey:
    try:
        key = load_pem_public_key(pem.encode())
    except ValueError as wrong:
        raise Denied("the key that cosignKey names is no public key in PEM", "InvalidCredentials") from wrong
    if not isinstance(key, EllipticCurvePublicKey):
        raise Denied("the key that cosignKey names is of another kind than ECDSA", "Unsupported")
    return key


def _signatures(content: dict[str, object]) -> list[Layer]:
    try:
        layers = msgspec.convert(content.get("layers"), list[Layer])
    except UNREADABLE:
        return []
    return [each for each in layers if SIGNATURE in (each.annotations or {})][:MOST]


def _signed(key: EllipticCurvePublicKey, payload: bytes, signature: str, digest: str) -> bool:
    """Whether the payload is signed by the key, and is about this digest."""
    try:
        key.verify(base64.b64decode(signature, validate=True), payload, ECDSA(SHA256()))
        return msgspec.json.decode(payload, type=_Payload).critical.image.digest == digest
    except (InvalidSignature, binascii.Error, ValueError, *UNREADABLE):
        return False
