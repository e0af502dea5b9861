"""Serves the API over HTTPS."""

import asyncio
import ssl
from contextlib import aclosing, suppress
from dataclasses import dataclass, field
from typing import Any

from aiohttp import web

from events.kube.client import Request, Response
from services.sandbox.api.server.app import Api
from services.sandbox.api.server.kubeconfig import kubeconfig
from services.sandbox.api.store.watch import OpenWatch

__all__ = ["Server", "kubeconfig"]

_BODY = 4 * 1024 * 1024
_QUEUE = 4096
"""The listen backlog: thousands of workload clusters may connect at once."""
_GRACE = 1.0
"""Seconds a request may take to finish when the server stops; the API ends watches before."""


@dataclass(slots=True)
class Server:
    """The API on one port of 127.0.0.1; a port of 0 takes a free one."""

    api: Api
    port: int = 0
    context: ssl.SSLContext | None = None
    _runner: web.ServerRunner | None = field(default=None, init=False)

    async def start(self) -> None:
        """Listen. Raises OSError if the port is taken."""
        server = web.Server(self._handle, request_factory=_request)
        self._runner = web.ServerRunner(server, shutdown_timeout=_GRACE)
        await self._runner.setup()
        site = web.TCPSite(self._runner, "127.0.0.1", self.port, ssl_context=self.context, backlog=_QUEUE)
        await site.start()
        self.port = self._runner.addresses[0][1]

    async def stop(self) -> None:
        """Close every connection and the port."""
        if self._runner:
            await self._runner.cleanup()

    @property
    def url(self) -> str:
        """Where it listens, without a cluster's path."""
        return f"http{'s' if self.context else ''}://127.0.0.1:{self.port}"

    async def _handle(self, request: web.BaseRequest) -> web.StreamResponse:
        asked = Request(request.method, request.path, dict(request.query), dict(request.headers), await request.read())
        answer = await self.api.handle(asked)
        if isinstance(answer, Response):
            return web.Response(status=answer.status, headers=answer.headers, body=answer.body)
        return await _stream(request, answer)


def _request(message: Any, payload: Any, protocol: Any, writer: Any, task: Any) -> web.BaseRequest:  # noqa: ANN401 - aiohttp's own parts, handed through
    loop = asyncio.get_running_loop()
    return web.BaseRequest(message, payload, protocol, writer, task, loop, client_max_size=_BODY)


async def _stream(request: web.BaseRequest, watch: OpenWatch) -> web.StreamResponse:
    response = web.StreamResponse(headers={"Content-Type": "application/json"})
    response.enable_chunked_encoding()
    async with aclosing(watch.batches()) as batches:
        with suppress(ConnectionResetError):  # whoever watches may go at any time
            await response.prepare(request)
            async for lines in batches:
                await response.write(b"".join(lines))
    return response
