"""Every page that looks on is told what is said, in batches."""

import asyncio
from collections.abc import Iterable
from contextlib import suppress

from aiohttp import web

from services.edge.http.problem import not_now
from services.edge.page.following import Following
from services.edge.page.ring import Kept, Mark, read, written

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


class Live:
    """The lines to the pages."""

    def __init__(self, following: Following) -> None:
        self._following = following
        self._looking = 0

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
        await self._following.look_back()
        ring = self._following.ring
        if mark is not None and not (self._following.abreast and ring.whole(mark)):
            await response.write(_event("gap", b"{}"))
        number = 0
        while not self._following.closed:
            self._following.look()
            news = self._following.news
            batch, whole = ring.after(number)
            if number and not whole:
                await response.write(_event("gap", b"{}"))
            number = ring.end
            await self._send(response, (kept for kept in batch if kept.sequence > (mark or {}).get(kept.stream, 0)))
            await self._wait(response, news)

    async def _send(self, response: web.StreamResponse, batch: Iterable[Kept]) -> None:
        said = [kept.data for kept in batch]
        mark = written(self._following.ring.mark)
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
