"""An API server of the attacker's own, whose answers are endless, packed, or hold objects without a name."""

import gzip
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from functools import cache

from aiohttp import web

PIECE = b" " * 65_536


@cache
def bomb() -> bytes:
    """200 MB of blanks in 0.9 MB."""
    return gzip.compress(b'{"items":[' + b" " * 200_000_000 + b"]}", compresslevel=1)


async def endless(request: web.Request) -> web.StreamResponse:
    answer = web.StreamResponse(headers={"Content-Type": "application/json"})
    await answer.prepare(request)
    await answer.write(b'{"items":[')
    for _ in range(24_000):  # 1.5 GB
        await answer.write(PIECE)
    return answer


async def packed(_: web.Request) -> web.StreamResponse:
    headers = {"Content-Type": "application/json", "Content-Encoding": "gzip"}
    return web.Response(body=bomb(), headers=headers)


async def nameless(_: web.Request) -> web.StreamResponse:
    return web.json_response({"kind": "List", "metadata": {"resourceVersion": "1"}, "items": [{}]})


@asynccontextmanager
async def serving() -> AsyncIterator[dict[str, str]]:
    """Its URLs, by what they answer."""
    app = web.Application()
    kinds = {"endless": endless, "packed": packed, "nameless": nameless}
    for name, handler in kinds.items():
        app.router.add_route("*", f"/{name}/{{rest:.*}}", handler)
    runner = web.AppRunner(app, access_log=None, shutdown_timeout=0)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    try:
        yield {name: f"http://127.0.0.1:{runner.addresses[0][1]}/{name}" for name in kinds}
    finally:
        await runner.cleanup()
