"""Everything that is said is followed once, and told to every page that looks on, in batches."""

import asyncio
from collections.abc import Iterable
from contextlib import aclosing, suppress
from datetime import datetime, timedelta

import msgspec
import structlog
from aiohttp import web

from events.bus import Bus, CaughtUp
from services.edge.page.brief import brief
from services.edge.page.rates import Rates
from services.edge.page.ring import Kept, Mark, Ring, read, written
from services.edge.problem import not_now
from services.trail.which import STREAMS, is_event

MEMORY = 20_000
"""Messages that are kept for pages that were cut off: 40 s at 500 a second."""
BACK = timedelta(minutes=2)
"""So much of what was said before we began is told as well."""
TICK = 0.1
"""Seconds between two batches: what comes in between is one of them."""
SILENCE = 15.0
"""Seconds after which a word is said, so that no proxy takes the line for dead."""
LOOKING = 64
"""How many pages may look on."""
BATCH = 2_000
"""Messages of one batch; a page that is slower than what is said is told that it has missed some."""
AGAIN = 2000
"""Milliseconds until a page that was cut off tries again."""

log = structlog.get_logger()


class Live:
    """The ring, who fills it, and who is told of it."""

    def __init__(self, bus: Bus, rates: Rates) -> None:
        self._bus = bus
        self._rates = rates
        self._ring = Ring(MEMORY)
        self._news = asyncio.Event()
        self._looking = 0
        self._closed = False

    async def run(self, since: datetime) -> None:
        """Follow every stream until cancelled; then every page is let go."""
        try:
            async with asyncio.TaskGroup() as group:
                for stream in STREAMS:
                    group.create_task(self._follow(stream, since - BACK))
        finally:
            self._closed = True
            self._wake()

    async def _follow(self, stream: str, since: datetime) -> None:
        async with aclosing(self._bus.follow(stream, ">", since=since)) as feed:
            async for stored in feed:
                if isinstance(stored, CaughtUp) or not is_event(stream, stored.subject):
                    continue
                told = brief(stream, stored)
                if self._ring.add(Kept(stream, stored.sequence, msgspec.json.encode(told))):
                    self._rates.take(told.lane, told.at)
                    self._wake()

    def _wake(self) -> None:
        self._news.set()
        self._news = asyncio.Event()

    async def stream(self, request: web.Request) -> web.StreamResponse:
        """Server-sent events: batches, each with the mark to go on from. Raises Problem 503."""
        if self._looking >= LOOKING:
            raise not_now(503, f"{LOOKING} pages look on already: try again", SILENCE)
        response = web.StreamResponse(headers={"Content-Type": "text/event-stream", "Cache-Control": "no-store"})
        self._looking += 1
        try:
            await response.prepare(request)
            mark = read(request.headers.get("Last-Event-ID", "") or request.query.get("after", ""))
            with suppress(ConnectionError):  # it looks no longer
                await self._tell(response, mark)
        finally:
            self._looking -= 1
        return response

    async def _tell(self, response: web.StreamResponse, mark: Mark | None) -> None:
        await response.write(f"retry: {AGAIN}\n\n".encode())
        if mark is not None and not self._ring.whole(mark):
            await response.write(_event("gap", b"{}"))
        number = 0
        while not self._closed:
            news = self._news
            batch, whole = self._ring.after(number)
            if number and not whole:
                await response.write(_event("gap", b"{}"))
            number = self._ring.end
            await self._send(response, (kept for kept in batch if kept.sequence > (mark or {}).get(kept.stream, 0)))
            await self._wait(response, news)

    async def _send(self, response: web.StreamResponse, batch: Iterable[Kept]) -> None:
        said = [kept.data for kept in batch]
        mark = written(self._ring.mark)
        for first in range(0, len(said), BATCH):
            part = said[first : first + BATCH]
            last = first + BATCH >= len(said)
            await response.write(_event("said", b"[" + b",".join(part) + b"]", mark if last else ""))

    async def _wait(self, response: web.StreamResponse, news: asyncio.Event) -> None:
        try:
            await asyncio.wait_for(news.wait(), SILENCE)
            await asyncio.sleep(TICK)
        except TimeoutError:
            await response.write(b": nothing is said\n\n")


def _event(name: str, data: bytes, mark: str = "") -> bytes:
    own = f"id: {mark}\n" if mark else ""
    return f"{own}event: {name}\ndata: ".encode() + data + b"\n\n"
