"""A registry that behaves as the distribution specification says, in memory, and pushing to any registry."""

import hashlib
import json
from collections.abc import Mapping
from typing import NamedTuple

import aiohttp
from aiohttp import web

from tests.services.addons.sources.world import tgz

MANIFEST = "application/vnd.oci.image.manifest.v1+json"
CHART = "application/vnd.cncf.helm.chart.content.v1.tar+gzip"
SIMPLE = "application/vnd.dev.cosign.simplesigning.v1+json"


class Blob(NamedTuple):
    """A layer to push."""

    data: bytes
    media_type: str = "application/vnd.oci.image.layer.v1.tar+gzip"
    annotations: Mapping[str, str] = {}


def chart(name: str = "driver", version: str = "1.0.0") -> bytes:
    """A chart's archive."""
    return tgz({
        f"{name}/Chart.yaml": f"apiVersion: v2\nname: {name}\nversion: {version}\n",
        f"{name}/templates/one.yaml": "kind: ConfigMap\napiVersion: v1\nmetadata: {name: one}\n",
    })  # fmt: skip


def digest(data: bytes) -> str:
    return f"sha256:{hashlib.sha256(data).hexdigest()}"


async def push(address: str, path: str, tag: str, *layers: Blob) -> str:
    """Push an artifact as the specification says. Returns the digest of its manifest."""
    async with aiohttp.ClientSession(f"http://{address}/v2/{path}/") as session:
        config = Blob(b"{}", "application/vnd.oci.empty.v1+json")
        for blob in (config, *layers):
            async with session.post("blobs/uploads/") as begun:
                where = begun.headers["Location"]
            where = where if where.startswith("http") else f"http://{address}{where}"
            joint = "&" if "?" in where else "?"
            async with session.put(f"{where}{joint}digest={digest(blob.data)}", data=blob.data) as done:
                assert done.status == 201, await done.text()
        body = json.dumps(
            {
                "schemaVersion": 2,
                "mediaType": MANIFEST,
                "config": _said(config),
                "layers": [_said(each) for each in layers],
            }
        ).encode()
        async with session.put(f"manifests/{tag}", data=body, headers={"Content-Type": MANIFEST}) as done:
            assert done.status == 201, await done.text()
    return digest(body)


def _said(blob: Blob) -> dict:
    said = {"mediaType": blob.media_type, "digest": digest(blob.data), "size": len(blob.data)}
    return said | ({"annotations": dict(blob.annotations)} if blob.annotations else {})


class FakeRegistry:
    """The paths of a registry on the test's server."""

    def __init__(self, server) -> None:
        self.blobs: dict[str, bytes] = {}
        self.manifests: dict[tuple[str, str], bytes] = {}
        self.token = ""
        """What must be shown; empty: nothing."""
        self.page = 1000
        self._server = server
        server.serve, self._plain = self._serve, server.serve

    async def _serve(self, request: web.Request) -> web.StreamResponse:
        self._server.asked[request.path] += 1
        self._server.headers.append((request.path, dict(request.headers)))
        if request.path in self._server.handlers:
            return await self._server.handlers[request.path](request)
        if self.token and request.method == "GET" and request.headers.get("Authorization") != f"Bearer {self.token}":
            realm = f'Bearer realm="{self._server.url}/token",service="test",scope="repository:x:pull"'
            return web.Response(status=401, headers={"WWW-Authenticate": realm})
        path, _, rest = request.path.removeprefix("/v2/").partition("/manifests/")
        if rest:
            return await self._manifest(request, path, rest)
        if request.path.endswith("/tags/list"):
            return self._tags(request)
        return await self._blob(request)

    async def _manifest(self, request: web.Request, path: str, reference: str) -> web.Response:
        if request.method == "PUT":
            body = await request.read()
            self.manifests |= {(path, reference): body, (path, digest(body)): body}
            return web.Response(status=201)
        found = self.manifests.get((path, reference))
        return web.Response(status=200 if found else 404, body=found, content_type=MANIFEST if found else None)

    def _tags(self, request: web.Request) -> web.Response:
        path = request.path.removeprefix("/v2/").removesuffix("/tags/list")
        tags = sorted(tag for of, tag in self.manifests if of == path and not tag.startswith("sha256:"))
        after = [tag for tag in tags if tag > request.query.get("last", "")]
        page, more = after[: self.page], after[self.page :]
        link = {"Link": f'<{request.path}?last={page[-1]}>; rel="next"'} if more else {}
        return web.json_response({"name": path, "tags": page}, headers=link)

    async def _blob(self, request: web.Request) -> web.Response:
        if request.method == "POST":
            return web.Response(status=202, headers={"Location": f"{request.path}1"})
        if request.method == "PUT":
            self.blobs[request.query["digest"]] = await request.read()
            return web.Response(status=201)
        found = self.blobs.get(request.path.rpartition("/")[2])
        return web.Response(status=200 if found is not None else 404, body=found)
