"""A ConfigMap or a Secret of the management cluster, each of whose keys is a file."""

import asyncio
import base64
import binascii
from collections.abc import Mapping
from pathlib import Path

from events.errors import Denied, NotFound
from events.kube.client import Object
from events.kube.resources import CONFIGMAPS, SECRETS
from services.addons.sources.credentials import secret_files
from services.addons.sources.request import FetchFolders, SourceRequest


async def pull_config_map(request: SourceRequest, known: str, folders: FetchFolders) -> str:
    """Its texts and its binary data."""
    return await _pull(request, known, folders, secret=False)


async def pull_secret(request: SourceRequest, known: str, folders: FetchFolders) -> str:
    """Its data."""
    return await _pull(request, known, folders, secret=True)


async def _pull(request: SourceRequest, known: str, folders: FetchFolders, *, secret: bool) -> str:
    ref = request.source.secret if secret else request.source.config_map
    kind, name = SECRETS if secret else CONFIGMAPS, ref.name if ref else ""
    try:
        found = await request.management.get(kind, name, request.namespace)
    except NotFound:
        raise NotFound(f"there is no {kind.kind} {name} in namespace {request.namespace}") from None
    meta = found["metadata"]
    revision = f"{meta.get('uid', '')}@{meta.get('resourceVersion', '')}"
    if revision != known:
        files = secret_files(found) if secret else _texts(found)
        await asyncio.to_thread(_write, files, folders.tree)
    return revision


def _texts(found: Object) -> Mapping[str, bytes]:
    try:
        binary = {key: base64.b64decode(text) for key, text in (found.get("binaryData") or {}).items()}
        return binary | {key: text.encode() for key, text in (found.get("data") or {}).items()}
    except (binascii.Error, AttributeError, TypeError, ValueError):
        meta = found["metadata"]
        raise Denied(f"ConfigMap {meta.get('namespace')}/{meta['name']} holds no texts", "InvalidSource") from None


def _write(files: Mapping[str, bytes], folder: Path) -> None:
    """Kubernetes allows in a key what a file may be called, without slashes; a copied object is not trusted."""
    for key, data in files.items():
        if "/" in key or key in (".", "..", ""):
            raise Denied(f"the key {key!r:.80} is no name of a file", "InvalidSource")
        (folder / key).write_bytes(data)
