"""The one HTTP server of the edge: a table of routes, bounds on what may come in, and problem details for the rest."""

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable, Iterable
from contextlib import asynccontextmanager, nullcontext
from dataclasses import dataclass
from typing import TypeVar

import structlog
from aiohttp import web
from aiohttp.typedefs import Middleware
from aiohttp.web_exceptions import HTTPException

from services.edge.problem import Problem, not_now
from services.edge.unread import Runner, answer
from services.listening import listening

B = TypeVar("B", bytes, bytearray)
Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]

AT_ONCE = 128
"""How many requests are worked on at the same time: with `LARGEST` the bound on memory."""
LARGEST = 1_000_000
"""Bytes of a body: what the bus takes as one message."""
SLOWEST = 10.0
"""Seconds a body may take to come."""

log = structlog.get_logger()


@dataclass(frozen=True)
class Route:
    """One line of the table."""

    method: str
    path: str
    """As aiohttp writes it, with ``{name}`` for a part."""
    handler: Handler
    lasts: bool = False
    """It takes as long as somebody looks on: it has bounds of its own."""


@asynccontextmanager
async def opened(address: str, routes: Iterable[Route]) -> AsyncGenerator[str]:
    """Serve the routes on HOST:PORT; gives the base URL. Raises ``Denied("AddressInUse")``."""
    runner = Runner(application(routes), shutdown_timeout=5.0)
    async with listening(runner, address, "ALATE_EDGE_ADDRESS") as url:
        yield url


def application(routes: Iterable[Route]) -> web.Application:
    """The routes behind the one rule for everything that goes wrong."""
    table = tuple(routes)
    lasting = frozenset(route.handler for route in table if route.lasts)
    app = web.Application(middlewares=[_explaining(asyncio.Semaphore(AT_ONCE), lasting)])
    for route in table:
        app.router.add_route(route.method, route.path, route.handler)
    return app


def _explaining(room: asyncio.Semaphore, lasting: frozenset[Handler]) -> Middleware:
    @web.middleware
    async def explain(request: web.Request, handler: Handler) -> web.StreamResponse:
        lasts = request.match_info.handler in lasting
        if room.locked() and not lasts:
            return answer(not_now(503, f"{AT_ONCE} requests are being worked on: send it again", 1.0))
        try:
            async with nullcontext() if lasts else room:
                return await handler(request)
        except Problem as problem:
            return answer(problem)
        except HTTPException as other:  # no such path, or not by this method
            allow = {"Allow": other.headers["Allow"]} if "Allow" in other.headers else {}
            return answer(Problem(other.status, f"{request.method} {request.path[:256]}: {other.reason}", "", allow))
        except Exception:  # a fault of ours: nothing was taken, so that the sender may try again
            log.exception("edge.failed", method=request.method)
            return answer(not_now(503, "the request could not be worked on: send it again", 5.0))

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


async def body_of(request: web.Request) -> bytes:
    """The body as it came. Raises Problem 400 (cut off), 408, 413, 415 (packed)."""
    if {each.lower() for each in request.headers.getall("Content-Encoding", ())} - {"identity"}:
        packed = {"Accept-Encoding": "identity"}
        raise Problem(
            415, "Content-Encoding must be identity: the body is verified as it comes", "Content-Encoding", packed
        )
    if (request.content_length or 0) > LARGEST:
        raise _too_large()
    try:
        if request.content.is_eof():  # it came together with its headers, as nearly all do
            return _bounded(request.content.read_nowait())
        async with asyncio.timeout(SLOWEST):
            return await _read(request)
    except TimeoutError as late:
        raise Problem(408, f"the body was not there after {SLOWEST:g} s", "body") from late
    except (web.RequestPayloadError, ConnectionError) as cut:
        raise Problem(400, "the body ends before its announced length", "body") from cut


async def _read(request: web.Request) -> bytes:
    data = bytearray()
    async for chunk in request.content.iter_any():
        data += chunk
        _bounded(data)
    return bytes(data)


def _bounded(data: B) -> B:
    if len(data) > LARGEST:
        raise _too_large()
    return data


def _too_large() -> Problem:
    return Problem(413, f"the body is too large: at most {LARGEST} bytes", "body", {"Connection": "close"})
