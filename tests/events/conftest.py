"""A small Kubernetes API is scripted here, so that a test can cut, refuse and delay exactly where it wants to."""

import asyncio
import json
from collections import deque
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import suppress
from datetime import UTC, datetime

import pytest
from aiohttp import web

from events.kube.client import Kube
from events.kube.http import Access, ApiCredentials, HttpTransport

# Before 3.14 pytest-asyncio's look at "the loop before" makes one that nobody closes; None says there is none.
asyncio.set_event_loop(None)

Answer = Callable[[web.Request], Awaitable[web.StreamResponse]]


def status(code: int, reason: str, message: str, **headers: str) -> Answer:
    """A refusal as Kubernetes words it."""
    body = {"kind": "Status", "code": code, "reason": reason, "message": message}

    async def answer(_: web.Request) -> web.Response:
        return web.json_response(body, status=code, headers={k.replace("_", "-"): v for k, v in headers.items()})

    return answer


class Api:
    """ConfigMaps of one namespace: a log of changes, listed in pages and watched from any version in it."""

    def __init__(self) -> None:
        self.objects: dict[str, dict] = {}
        self.log: list[dict] = []
        self.version = 100
        self.compacted = 0
        self.scripted: deque[Answer] = deque()
        self.asked: list[web.Request] = []
        self.bodies: list[bytes] = []
        self.watchers = 0
        self.port = 0
        self.banned: str | None = None
        """The Authorization header that is no longer good."""
        self._moved = asyncio.Condition()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def watched_from(self) -> list[str]:
        """The version each watch asked to start at."""
        return [r.query["resourceVersion"] for r in self.asked if r.query.get("watch") == "true"]

    async def say(self, name: str, kind: str = "ADDED") -> None:
        """One object changes."""
        self.version += 1
        thing = {"kind": "ConfigMap", "metadata": {"name": name, "resourceVersion": str(self.version)}}
        self.log.append({"type": kind, "object": thing})
        if kind == "DELETED":
            self.objects.pop(name, None)
        elif kind != "BOOKMARK":
            self.objects[name] = thing
        await self._notify()

    async def error(self, code: int, reason: str) -> None:
        """Every watch hears an ERROR event."""
        self.log.append({"type": "ERROR", "object": {"kind": "Status", "code": code, "reason": reason}})
        await self._notify()

    async def forget(self) -> None:
        """The log is compacted: who asks for an older version gets 410."""
        self.compacted, self.log = self.version, []

    async def until(self, true: Callable[[], bool]) -> None:
        """Wait for something that is so after a request or a change."""
        async with self._moved:
            await asyncio.wait_for(self._moved.wait_for(true), 20)

    def refuse(self, code: int, reason: str = "", message: str = "no", **headers: str) -> None:
        """The next request is answered so."""
        self.scripted.append(status(code, reason, message, **headers))

    def say_raw(self, body: bytes) -> None:
        """The next request is answered with these bytes."""

        async def answer(_: web.Request) -> web.Response:
            return web.Response(body=body, content_type="application/json")

        self.scripted.append(answer)

    async def up(self) -> None:
        self._runner = web.AppRunner(self._app(), shutdown_timeout=0, handler_cancellation=True)
        await self._runner.setup()
        site = web.TCPSite(self._runner, "127.0.0.1", self.port, reuse_address=True)
        await site.start()
        self.port = self._runner.addresses[0][1]

    async def cut(self) -> None:
        """Break every connection, as a dying load balancer does."""
        for connection in list(self._runner.server.connections):
            if connection.transport is not None:
                connection.transport.abort()
        await self.until(lambda: self.watchers == 0)

    async def down(self) -> None:
        """Stop listening and break every connection."""
        for site in list(self._runner.sites):
            await site.stop()
        await self.cut()
        await self._runner.cleanup()

    def _app(self) -> web.Application:
        app = web.Application()
        app.router.add_route("*", "/{rest:.*}", self._handle)
        return app

    async def _notify(self) -> None:
        async with self._moved:
            self._moved.notify_all()

    async def _handle(self, request: web.Request) -> web.StreamResponse:
        self.asked.append(request)
        self.bodies.append(await request.read())
        await self._notify()
        if self.banned and request.headers.get("Authorization") == self.banned:
            return await status(401, "Unauthorized", "no")(request)
        if self.scripted:
            return await self.scripted.popleft()(request)
        if request.method != "GET":
            return web.json_response(json.loads(self.bodies[-1]))
        return await (self._watch(request) if "watch" in request.query else self._list(request))

    async def _list(self, request: web.Request) -> web.Response:
        start, limit = int(request.query.get("continue", 0)), int(request.query.get("limit", 10_000))
        items = [{"metadata": o["metadata"]} for o in self.objects.values()]
        rest = str(start + limit) if start + limit < len(items) else ""
        meta = {"resourceVersion": str(self.version), "continue": rest}
        return web.json_response({"kind": "ConfigMapList", "metadata": meta, "items": items[start : start + limit]})

    async def _watch(self, request: web.Request) -> web.StreamResponse:
        since = int(request.query["resourceVersion"])
        if since < self.compacted:
            return await status(410, "Expired", "too old resource version")(request)
        response = web.StreamResponse()
        await response.prepare(request)
        self.watchers += 1
        await self._notify()
        with suppress(ConnectionError):
            await self._follow(response, since)
        return response

    async def _follow(self, response: web.StreamResponse, since: int) -> None:
        place = next((i for i, e in enumerate(self.log) if _version(e) > since), len(self.log))
        log = self.log
        try:
            while True:
                while place < len(log):
                    event, place = log[place], place + 1
                    line = json.dumps(event).encode() + b"\n"
                    await response.write(line[:17])  # in two pieces, so that a cut can fall between them
                    await response.write(line[17:])
                    if event["type"] == "ERROR":
                        log.remove(event)
                        return
                async with self._moved:
                    await self._moved.wait()
        finally:
            self.watchers -= 1
            await asyncio.shield(asyncio.ensure_future(self._notify()))


def _version(event: dict) -> int:
    return int(event["object"].get("metadata", {}).get("resourceVersion", 0))


@pytest.fixture
async def api() -> AsyncIterator[Api]:
    server = Api()
    await server.up()
    yield server
    await server.down()


def direct(url: str, **times: float) -> HttpTransport:
    """Straight to a URL, with nothing to prove."""

    async def load() -> Access:
        return Access(url)

    return HttpTransport(ApiCredentials(load, lambda: datetime.now(UTC)), **times)


@pytest.fixture
async def reach() -> AsyncIterator[Callable[..., Kube]]:
    """Makes clients of a URL; closes them."""
    made: list[Kube] = []

    def client(url: str, **times: float) -> Kube:
        made.append(Kube(direct(url, **times), random=lambda: 0.0))
        return made[-1]

    yield client
    for one in made:
        await one.close()


@pytest.fixture
def kube(api: Api, reach: Callable[..., Kube]) -> Kube:
    return reach(api.url)
