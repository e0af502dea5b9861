"""The bare reference for a webhook: a handler that publishes the bytes it is given, and waits for the ack."""

import asyncio
import sys
from itertools import count

import uvloop
from aiohttp import web

from tests.bench.bare_publish import BarePublisher


async def serve(port: int, nats: str) -> None:
    """Until cancelled: no check, no name, no limit but aiohttp's own."""
    numbers = count()
    async with BarePublisher(nats) as bus:

        async def take(request: web.Request) -> web.Response:
            await bus.publish(
                f"hook.bare.{next(numbers)}", await request.read(), {"Content-Type": request.content_type}
            )
            return web.Response(status=202)

        app = web.Application(client_max_size=1_000_000)
        app.router.add_post("/{path:.*}", take)
        runner = web.AppRunner(app, access_log=None)
        await runner.setup()
        await web.TCPSite(runner, "127.0.0.1", port).start()
        await asyncio.Event().wait()


if __name__ == "__main__":
    uvloop.run(serve(int(sys.argv[1]), sys.argv[2]))
