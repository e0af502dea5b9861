"""What is no HTTP never reaches a route; it is answered as everything else that goes wrong is."""

import asyncio
from typing import Any

import structlog
from aiohttp import web

from services.edge.problem import MEDIA, Problem, not_now

log = structlog.get_logger()


class Explaining(web.RequestHandler):
    """One connection."""

    __slots__ = ()

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
    """Makes a connection of ours for each that comes, on behalf of the application's own server."""

    def __init__(self, whole: web.Server) -> None:
        self._whole = whole

    def __call__(self) -> Explaining:
        # Bodies are taken as they were signed: unpacking would be a bomb's first step.
        loop = asyncio.get_running_loop()
        silent: Any = None  # what aiohttp takes for no access log, and does not declare
        return Explaining(self._whole, loop=loop, access_log=silent, auto_decompress=False)


class Runner(web.AppRunner):
    """Runs an application; what cannot be read is a problem as well."""

    @property
    def server(self) -> web.Server | None:
        """What makes connections; None before it is set up."""
        whole = super().server
        return _Connections(whole) if whole is not None else None
