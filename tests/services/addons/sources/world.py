"""A server on this host, archives, a management cluster in memory, and time that a test moves."""

import base64
import gzip
import io
import tarfile
from collections import Counter
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta

from aiohttp import web

from events.kube.client import Kube
from events.kube.resources import CONFIGMAPS, SECRETS
from schemas.crds.model import read
from schemas.crds.sources import SourceSpec
from services.addons.sources.request import SourceSettings
from services.addons.sources.sources import Sources

START = datetime(2026, 1, 1, tzinfo=UTC)
CONFIG = "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: one\ndata: {size: small}\n"


def tgz(files: Mapping[str, str | bytes | tarfile.TarInfo]) -> bytes:
    """An archive; a TarInfo is taken as it is."""
    whole = io.BytesIO()
    with tarfile.open(fileobj=whole, mode="w:gz") as archive:
        for name, text in files.items():
            if isinstance(text, tarfile.TarInfo):
                archive.addfile(text)
                continue
            data = text.encode() if isinstance(text, str) else text
            info = tarfile.TarInfo(name)
            info.size = len(data)
            archive.addfile(info, io.BytesIO(data))
    return gzip.compress(gzip.decompress(whole.getvalue()), mtime=0)


class Web:
    """An HTTP server: what lies under a path, and how often it was asked for."""

    def __init__(self) -> None:
        self.files: dict[str, bytes | web.StreamResponse] = {}
        self.handlers = {}
        self.asked: Counter[str] = Counter()
        self.headers = []
        self.url = ""

    async def answer(self, request: web.Request) -> web.StreamResponse:
        return await self.serve(request)

    async def serve(self, request: web.Request) -> web.StreamResponse:
        self.asked[request.path] += 1
        self.headers.append((request.path, dict(request.headers)))
        if (handler := self.handlers.get(request.path)) is not None:
            return await handler(request)
        if (data := self.files.get(request.path)) is None:
            return web.Response(status=404)
        return web.Response(body=data)


class World:
    """A management cluster, a clock, and the sources of add-ons."""

    def __init__(self, management: Kube, folder) -> None:
        self.management, self.folder, self.now = management, folder, START
        self.opened: list[Sources] = []

    def sources(self, **settings) -> Sources:
        made = Sources(self.management, self.folder, lambda: self.now, SourceSettings(**{"patience": 5.0} | settings))
        self.opened.append(made)
        return made

    def pass_time(self, **much) -> None:
        self.now += timedelta(**much)

    async def secret(self, name: str, **data: str | bytes) -> None:
        texts = {
            key.replace("__", "."): base64.b64encode(each if isinstance(each, bytes) else each.encode()).decode()
            for key, each in data.items()
        }
        await self.management.apply(
            SECRETS, {"metadata": {"name": name, "namespace": "acme"}, "data": texts}, manager="test"
        )

    async def config_map(self, name: str, data: Mapping[str, str]) -> None:
        await self.management.apply(
            CONFIGMAPS, {"metadata": {"name": name, "namespace": "acme"}, "data": dict(data)}, manager="test"
        )


def spec(**source) -> SourceSpec:
    """A source as somebody writes it."""
    return read(SourceSpec, source)
