"""The HTTP server of the edge: routes, limits on requests, and problem details for errors."""

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable, Iterable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import cast

import structlog
from aiohttp import web
from aiohttp.typedefs import Middleware
from aiohttp.web_exceptions import HTTPException

from services.edge.http.connection import HttpConnection, Runner, answer
from services.edge.http.problem import Problem, not_now
from services.edge.webhooks.bodies import LARGEST, SLOWEST, Bodies, WorkSlot, bounded, too_large
from services.process.http_server import listening

HttpHandler = Callable[[web.Request], Awaitable[web.StreamResponse]]

AT_ONCE = 128
"""The most requests that are processed at the same time, counted once their bodies are read."""
TURN = web.RequestKey("turn", WorkSlot)
BODIES = web.AppKey("bodies", Bodies)

log = structlog.get_logger()


@dataclass(frozen=True)
class HttpRoute:
    """One route."""

    method: str
    path: str
    """The path in aiohttp's syntax, with ``{name}`` for a part."""
    handler: HttpHandler
    lasts: bool = False
    """Whether it is a long-lived response, which has limits of its own."""


@asynccontextmanager
async def opened(address: str, routes: Iterable[HttpRoute]) -> AsyncGenerator[str]:
    """Serve the routes on HOST:PORT; gives the base URL. Raises ``Denied("AddressInUse")``."""
    runner = Runner(application(routes), shutdown_timeout=5.0)
    async with listening(runner, address, "ALATE_EDGE_ADDRESS") as url:
        yield url


def application(routes: Iterable[HttpRoute]) -> web.Application:
    """An application with these routes, whose errors are answered as problems."""
    table = tuple(routes)
    lasting = frozenset(route.handler for route in table if route.lasts)
    app = web.Application(middlewares=[_explaining(asyncio.Semaphore(AT_ONCE), lasting)])
    app[BODIES] = Bodies()
    for route in table:
        app.router.add_route(route.method, route.path, route.handler)
    return app


def _explaining(room: asyncio.Semaphore, lasting: frozenset[HttpHandler]) -> Middleware:
    @web.middleware
    async def explain(request: web.Request, handler: HttpHandler) -> web.StreamResponse:
        lasts = request.match_info.handler in lasting
        if room.locked() and not lasts:
            return answer(not_now(503, f"{AT_ONCE} requests are being worked on: send it again", 1.0))
        turn = request[TURN] = WorkSlot(room)
        try:
            if not lasts:
                await turn.take()
            return await handler(request)
        except Problem as problem:
            return answer(problem)
        except HTTPException as other:  # no such path, or not by this method
            allow = {"Allow": other.headers["Allow"]} if "Allow" in other.headers else {}
            return answer(Problem(other.status, f"{request.method} {request.path[:256]}: {other.reason}", "", allow))
        except Exception:  # a fault of ours: nothing was taken, so that the sender may try again
            log.exception("edge.failed", method=request.method)
            return answer(not_now(503, "the request could not be worked on: send it again", 5.0))
        finally:
            turn.leave()

    return explain


def headers_of(request: web.Request) -> dict[str, str]:
    """Headers by lower-case names, several of one name with commas between. Raises Problem 400."""
    found = {name.lower(): value for name, value in request.headers.items()}
    if len(found) < len(request.headers):
        found = {name: ", ".join(request.headers.getall(name)) for name in found}
    if not "".join(found.values()).isprintable():  # one look at all of them: nearly all are
        name = next(name for name, value in found.items() if not value.isprintable())
        raise Problem(400, f"{name!a} holds what is no text: expected UTF-8", name)
    return found


async def body_of(request: web.Request, largest: int = LARGEST, slowest: float = SLOWEST) -> bytes:
    """The body as received, within a size and a time. Raises Problem 400 (cut off), 408, 413, 415 (compressed)."""
    if {each.lower() for each in request.headers.getall("Content-Encoding", ())} - {"identity"}:
        packed = {"Accept-Encoding": "identity"}
        raise Problem(
            415, "Content-Encoding must be identity: the body is verified as it comes", "Content-Encoding", packed
        )
    if (request.content_length or 0) > largest:
        raise too_large(largest)
    try:
        if request.content.is_eof():  # it came together with its headers, as nearly all do
            return bounded(request.content.read_nowait(), largest)
        return await _coming(request, largest, slowest)
    except TimeoutError as late:
        raise Problem(408, f"the body was not there after {slowest:g} s", "body", {"Connection": "close"}) from late
    except (web.RequestPayloadError, ConnectionError) as cut:
        raise Problem(400, "the body ends before its announced length", "body") from cut


async def _coming(request: web.Request, largest: int, slowest: float) -> bytes:
    """Read the rest of the body, while other requests are processed."""
    turn, connection = request[TURN], cast(HttpConnection, request.protocol)
    turn.leave()
    connection.reading = True
    try:
        data = await request.app[BODIES].read(request, largest, slowest)
    finally:
        connection.reading = False
    await turn.take()
    return data
