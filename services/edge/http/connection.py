"""One HTTP connection: rejects what is not HTTP, and closes connections that are too slow."""

import asyncio
from typing import Any

import structlog
from aiohttp import web

from services.edge.http.connection_limit import ConnectionLimit
from services.edge.http.problem import MEDIA, Problem, not_now

IDLE = 15.0
"""Seconds that a connection may be idle, or its headers may take, since it was opened or last answered."""
READ = 15.0
"""Seconds that a client may take to read a response."""
LINGERS = 2.0
"""Seconds for which the rest of a refused body is still read."""

log = structlog.get_logger()


class HttpConnection(web.RequestHandler):
    """One connection."""

    __slots__ = ("_crowd", "address", "reading")

    def __init__(self, whole: web.Server, crowd: ConnectionLimit) -> None:
        # Bodies are taken as they were signed: unpacking would be a bomb's first step.
        silent: Any = None  # what aiohttp takes for no access log, and does not declare
        super().__init__(
            whole,
            loop=asyncio.get_running_loop(),
            access_log=silent,
            auto_decompress=False,
            keepalive_timeout=IDLE,
            lingering_time=LINGERS,
        )
        self._crowd = crowd
        self.address = ""
        self.reading = False
        """Whether the body of its request is still coming."""

    @property
    def waits(self) -> bool:
        """Whether it has sent no complete request yet."""
        return self.reading or not (self._request_in_progress or self._messages)

    def end(self) -> None:
        """Close it now."""
        if self.transport is not None:
            self.transport.abort()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Enter the limit, which may close another connection."""
        super().connection_made(transport)
        self.address = str((transport.get_extra_info("peername") or ("",))[0])
        self._crowd.enter(self)

    def connection_lost(self, exc: BaseException | None) -> None:
        """Leave the limit."""
        self._crowd.leave(self)
        super().connection_lost(exc)

    async def finish_response(
        self, request: web.BaseRequest, resp: web.StreamResponse, start_time: float | None
    ) -> tuple[web.StreamResponse, bool]:
        """Close the connection if the response is not read in time."""
        try:
            async with asyncio.timeout(READ):
                return await super().finish_response(request, resp, start_time)
        except TimeoutError:
            self.end()
            return resp, True

    def handle_error(
        self,
        request: web.BaseRequest,
        status: int = 500,
        exc: BaseException | None = None,
        message: str | None = None,  # noqa: ARG002 - aiohttp's own signature
    ) -> web.StreamResponse:
        """A problem that quotes nothing, for what was sent may hold a secret; then the connection ends.

        Raises ConnectionError if some of another answer is out already.
        """
        if request.writer.output_size > 0:
            raise ConnectionError("an answer was begun already")
        if status >= 500:
            log.error("edge.failed", method=request.method, exc_info=exc)
            said = answer(not_now(503, "the request could not be worked on: send it again", 5.0))
        else:
            log.info("edge.unreadable", status=status, error=type(exc).__name__)
            said = answer(Problem(status, "what was sent cannot be read: it must be HTTP/1.1 as RFC 9112 has it"))
        said.force_close()
        return said


def answer(problem: Problem) -> web.Response:
    """The problem as a response."""
    return web.Response(status=problem.status, body=problem.body(), headers={**problem.headers, "Content-Type": MEDIA})


class _Connections(web.Server):
    """Creates an `HttpConnection` for each accepted connection, for the application's own server."""

    def __init__(self, whole: web.Server) -> None:
        self._whole = whole
        self._crowd = ConnectionLimit()

    def __call__(self) -> HttpConnection:
        return HttpConnection(self._whole, self._crowd)


class Runner(web.AppRunner):
    """Runs an application; a request that cannot be parsed is answered with a problem, too."""

    @property
    def server(self) -> web.Server | None:
        """The factory of connections; None before it is set up."""
        whole = super().server
        return _Connections(whole) if whole is not None else None
