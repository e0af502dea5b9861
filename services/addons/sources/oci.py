"""An artifact of an OCI registry: a chart, an archive of manifests, or files."""

import re
from collections.abc import Awaitable, Callable
from pathlib import PurePosixPath
from typing import NamedTuple
from urllib.parse import urlsplit

from events.errors import Denied
from services.addons.sources.cosign import verify
from services.addons.sources.credentials import secret_texts
from services.addons.sources.registry import Layer, Manifest, Registry, layers_of
from services.addons.sources.request import FetchFolders, SourceRequest, unpacked
from services.addons.sources.versions import InvalidRange, newest

CHART = "application/vnd.cncf.helm.chart.content.v1.tar+gzip"
TITLE = "org.opencontainers.image.title"
MOST_LAYERS = 64
COSIGN = "cosign.pub"
"""The key of a Secret that cosign itself writes a public key under."""
_TAG = re.compile(r"[A-Za-z0-9_][A-Za-z0-9._-]{0,127}")
_PATH = re.compile(r"[a-z0-9]+(?:(?:[._]|__|-+)[a-z0-9]+)*(?:/[a-z0-9]+(?:(?:[._]|__|-+)[a-z0-9]+)*)*")


class ImageName(NamedTuple):
    """Where an artifact is."""

    host: str
    path: str
    reference: str = "latest"
    """A tag or a digest."""

    def __str__(self) -> str:
        return f"oci://{self.host}/{self.path}"


Choose = Callable[[Registry], Awaitable[str]]
"""Picks a tag of a repository. Raises TryLater, Denied."""


def image_name(url: str) -> ImageName:
    """The artifact that ``oci://host/path[:tag]`` names. Raises Denied."""
    parts = urlsplit(url)
    path, _, tag = parts.path.strip("/").partition(":")
    if parts.scheme != "oci" or not parts.hostname or parts.username or not _PATH.fullmatch(path):
        raise Denied(f"{url.rpartition('@')[2]!r:.200} is no address such as oci://host/path", "InvalidSource")
    return ImageName(parts.netloc, path, tag or "latest")


async def pull_oci(request: SourceRequest, known: str, folders: FetchFolders) -> str:
    """Download the artifact of a tag, a range of versions or a digest."""
    source = request.source.oci
    if source is None:
        raise TypeError
    image = image_name(source.url)
    if source.digest or source.tag is None or _TAG.fullmatch(source.tag):
        reference = source.digest or source.tag or image.reference
        return await pull_image(request, image._replace(reference=reference), known, folders)
    wanted = source.tag
    return await pull_image(request, image, known, folders, choose=lambda registry: _newest(registry, image, wanted))


async def _newest(registry: Registry, image: ImageName, wanted: str) -> str:
    tags = await registry.tags()
    try:
        found = newest(tags, wanted)
    except InvalidRange as wrong:
        raise Denied(str(wrong), "InvalidSource") from wrong
    if found is None:
        raise Denied(f"{image} has no tag that fits {wanted}", "NotFound")
    return found


async def pull_image(
    request: SourceRequest, image: ImageName, known: str, folders: FetchFolders, choose: Choose | None = None
) -> str:
    """Download an artifact, verified where a key is given. Raises NotFound, TryLater, Denied, OSError."""
    base = f"https://{image.host}/{image.path}"
    async with request.http(await request.credentials(base)) as http:
        registry = Registry(http, image.host, image.path)
        reference = await choose(registry) if choose else image.reference
        manifest = await registry.manifest(reference)
        revision = manifest.digest if reference == manifest.digest else f"{reference}@{manifest.digest}"
        if revision == known:
            return revision
        await _verify(request, registry, image, manifest)
        layers = _layers(image, manifest)
        _check(request, image, manifest, layers)
        for number, layer in enumerate(layers):
            file = folders.scratch / f"layer-{number}"
            await registry.blob(layer.digest, file, request.settings.bounds.downloaded)
            await unpacked(request, file, folders, _title(layer, number), str(image))
    return revision


async def _verify(request: SourceRequest, registry: Registry, image: ImageName, manifest: Manifest) -> None:
    if (ref := request.source.cosign_key) is None:
        return
    texts = await secret_texts(request.management, ref.name, request.namespace)
    key = texts.get(ref.key or COSIGN)
    if key is None:
        raise Denied(f"Secret {request.namespace}/{ref.name} has no key {ref.key or COSIGN}", "InvalidCredentials")
    await verify(registry, str(image), manifest.digest, key)


def _layers(image: ImageName, manifest: Manifest) -> list[Layer]:
    """The layers that make up the content: of a chart only its own archive."""
    layers = layers_of(manifest)
    if not 0 < len(layers) <= MOST_LAYERS:
        raise Denied(f"{image} is no single artifact of 1 to {MOST_LAYERS} layers: it has {len(layers)}", "Unsupported")
    return [each for each in layers if each.media_type == CHART] or layers


def _check(request: SourceRequest, image: ImageName, manifest: Manifest, layers: list[Layer]) -> None:
    """Compare the sha256 that is written with the manifest's, and with that of an only layer."""
    wanted = request.source.sha256
    found = [manifest.digest, *(each.digest for each in layers[:1] if len(layers) == 1)]
    if wanted is not None and f"sha256:{wanted}" not in found:
        raise Denied(f"{image} has the digest {manifest.digest}, not sha256:{wanted}", "ChecksumMismatch")


def _title(layer: Layer, number: int) -> str:
    """The name of a layer that is a file."""
    return PurePosixPath((layer.annotations or {}).get(TITLE, "")).name or f"{number}.yaml"
