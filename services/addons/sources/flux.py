"""The newest artifact of a source of Flux, as its controller has fetched and verified it."""

from typing import Any

from events.errors import Denied, NotFound, TryLater
from events.kube.client import Object
from events.kube.discovery import find
from schemas.crds.sources import FluxSource
from services.addons.sources.http import AGAIN, http_client
from services.addons.sources.request import FetchFolders, SourceRequest, check_digest, unpacked

VERSIONS = ("source.toolkit.fluxcd.io/v1", "source.toolkit.fluxcd.io/v1beta2")
"""The newest first; buckets and OCI repositories came to v1 late."""


async def pull_flux(request: SourceRequest, known: str, folders: FetchFolders) -> str:
    """Download the artifact that the object's status names."""
    source = request.source.flux
    if source is None:
        raise TypeError
    found = await _object(request, source)
    url, digest, revision = _artifact(found)
    if revision == known:
        return revision
    file = folders.scratch / "download"
    try:
        async with http_client(request.settings.inside, patience=request.settings.patience) as http:
            got = await http.save(url, file, request.settings.bounds.downloaded)
    except Denied as refused:
        if refused.reason != "NotFound":
            raise
        raise TryLater(f"{_name(found)} has just replaced its artifact {revision}", AGAIN) from refused
    check_digest(f"the artifact of {_name(found)}", got, digest)
    check_digest(f"the artifact of {_name(found)}", got, request.source.sha256)
    await unpacked(request, file, folders, "artifact.yaml", f"the artifact of {_name(found)}")
    return revision


async def _object(request: SourceRequest, source: FluxSource) -> Object:
    """Raises NotFound without the object, or without Flux."""
    namespace = source.namespace or request.namespace
    for version in VERSIONS:
        try:
            resource = await find(request.management, version, source.kind)
        except NotFound:
            continue
        return await request.management.get(resource, source.name, namespace)
    raise NotFound(f"the management cluster has no kind {source.kind} of Flux: is its source controller installed?")


def _artifact(found: Object) -> tuple[str, str, str]:
    """The artifact's URL, digest and revision. Raises TryLater, Denied."""
    artifact = (found.get("status") or {}).get("artifact")
    if not isinstance(artifact, dict):
        raise TryLater(f"{_name(found)} has no artifact yet{_why(found)}", AGAIN)
    url, digest, revision = (str(artifact.get(key, "")) for key in ("url", "digest", "revision"))
    if not url.startswith("http") or not digest.startswith("sha256:"):
        raise Denied(f"the artifact of {_name(found)} has no URL or no sha256 digest", "Unsupported")
    return url, digest, f"{revision} {digest}"


def _why(found: Object) -> str:
    conditions: list[Any] = (found.get("status") or {}).get("conditions") or []
    told = [one.get("message", "") for one in conditions if one.get("type") == "Ready" and one.get("status") != "True"]
    return f": {told[0]:.300}" if told and told[0] else ""


def _name(found: Object) -> str:
    return f"{found['kind']} {found['metadata'].get('namespace')}/{found['metadata']['name']}"
