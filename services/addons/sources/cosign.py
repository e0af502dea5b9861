"""Verifies what cosign signed with a key, as it was stored before its version 3 (a tag) and since (a referrer)."""

from collections.abc import AsyncIterator
from pathlib import Path
from tempfile import TemporaryDirectory

from cryptography.hazmat.primitives.asymmetric.ec import EllipticCurvePublicKey
from cryptography.hazmat.primitives.serialization import load_pem_public_key

from events.errors import Denied
from services.addons.sources.registry import Layer, Manifest, Registry, layers_of
from services.addons.sources.signatures import BUNDLE, SIGNATURE, bundle_is_by, payload_is_by

LARGEST = 1 << 20
"""Bytes of a signature with what it signs."""
MOST = 16
"""Signatures that are looked at."""


async def verify(registry: Registry, what: str, digest: str, pem: str) -> None:
    """See that one of an artifact's signatures is by this key. Raises TryLater, Denied."""
    key, seen = _key(pem), 0
    with TemporaryDirectory(prefix="alate-") as folder:
        async for layer in _signatures(registry, digest):
            file = Path(folder) / str(seen)
            await registry.blob(layer.digest, file, LARGEST)
            if _signed(key, layer, file.read_bytes(), digest):
                return
            seen += 1
            if seen == MOST:
                break
    by = "by the key that is given" if seen else "at all"
    raise Denied(f"{what} at {digest} has no cosign signature {by}", "SignatureInvalid")


def _key(pem: str) -> EllipticCurvePublicKey:
    try:
        key = load_pem_public_key(pem.encode())
    except ValueError as wrong:
        raise Denied("the key that cosignKey names is no public key in PEM", "InvalidCredentials") from wrong
    if not isinstance(key, EllipticCurvePublicKey):
        raise Denied("the key that cosignKey names is of another kind than ECDSA", "Unsupported")
    return key


async def _signatures(registry: Registry, digest: str) -> AsyncIterator[Layer]:
    """The layers that are signatures of an artifact."""
    tagged = await _manifest(registry, f"{digest.replace(':', '-')}.sig")
    for layer in layers_of(tagged) if tagged else ():
        if SIGNATURE in (layer.annotations or {}):
            yield layer
    for each in (await registry.referrers(digest))[:MOST]:
        referrer = await _manifest(registry, each)
        for layer in layers_of(referrer) if referrer else ():
            if layer.media_type.startswith(BUNDLE):
                yield layer


async def _manifest(registry: Registry, reference: str) -> Manifest | None:
    try:
        return await registry.manifest(reference)
    except Denied as missing:
        if missing.reason != "NotFound":
            raise
        return None


def _signed(key: EllipticCurvePublicKey, layer: Layer, data: bytes, digest: str) -> bool:
    if layer.media_type.startswith(BUNDLE):
        return bundle_is_by(key, data, digest)
    return payload_is_by(key, data, (layer.annotations or {})[SIGNATURE], digest)
