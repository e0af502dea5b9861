"""A receiver on the loopback that keeps what it is sent and answers as it is told, for the tests of outbound."""

from collections import deque
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

from aiohttp import web


@dataclass(frozen=True)
class Got:
    path: str
    headers: Mapping[str, str]
    body: bytes


@dataclass
class Receiver:
    url: str = ""
    got: list[Got] = field(default_factory=list)
    answers: deque[tuple[int, Mapping[str, str]]] = field(default_factory=deque)
    """What it says next; 200 once there is no more."""

    async def take(self, request: web.Request) -> web.Response:
        self.got.append(Got(request.raw_path, request.headers, await request.read()))
        status, headers = self.answers.popleft() if self.answers else (200, {})
        return web.Response(status=status, headers=headers)


@asynccontextmanager
async def receiving() -> AsyncIterator[Receiver]:
    receiver = Receiver()
    app = web.Application()
    app.router.add_route("*", "/{any:.*}", receiver.take)
    runner = web.AppRunner(app, access_log=None)
    await runner.setup()
    try:
        site = web.TCPSite(runner, "127.0.0.1", 0)
        await site.start()
        port = runner.addresses[0][1]
        receiver.url = f"http://127.0.0.1:{port}"
        yield receiver
    finally:
        await runner.cleanup()
