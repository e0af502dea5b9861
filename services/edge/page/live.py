"""Every open page is sent new messages and changed fleet rows as server-sent events, in batches."""

import asyncio
from collections.abc import Iterable
from contextlib import suppress

import msgspec
from aiohttp import web

from services.edge.http.problem import not_now
from services.edge.page.follower import Changes, Fleet, Follower
from services.edge.page.replay_buffer import BufferedMessage, Cursor, format_cursor, parse_cursor

TICK = 0.1
"""Seconds between two batches."""
HEARTBEAT = 15.0
"""Seconds of silence after which a comment is sent, so that no proxy closes the connection."""
MAX_PAGES = 64
"""How many pages may be connected."""
BATCH = 2_000
"""Messages, or rows, of one event; a page that is slower than the stream is told that it has missed some."""
RETRY = 2000
"""Milliseconds until a page that lost its connection connects again."""


class Live:
    """The connections of the pages."""

    def __init__(self, follower: Follower, fleet: Fleet) -> None:
        self._follower = follower
        self._fleet = fleet
        self._pages = 0

    async def stream(self, request: web.Request) -> web.StreamResponse:
        """Server-sent events: batches of messages, each with the cursor to resume from. Raises Problem 503."""
        if self._pages >= MAX_PAGES:
            raise not_now(503, f"{MAX_PAGES} pages are connected already: try again", HEARTBEAT)
        response = web.StreamResponse(headers={"Content-Type": "text/event-stream", "Cache-Control": "no-store"})
        self._pages += 1
        try:
            await response.prepare(request)
            cursor = parse_cursor(request.headers.get("Last-Event-ID", "") or request.query.get("after", ""))
            with suppress(ConnectionError):  # the page was closed
                await self._serve(response, cursor)
        finally:
            self._pages -= 1
        return response

    async def _serve(self, response: web.StreamResponse, cursor: Cursor | None) -> None:
        await response.write(f"retry: {RETRY}\n\n".encode())
        await self._follower.catch_up()
        buffer = self._follower.buffer
        if cursor is not None and not (self._follower.caught_up and buffer.covers(cursor)):
            await response.write(_event("gap", b"{}"))
        index = version = 0
        while not self._follower.closed:
            self._follower.keep_reading()
            changed = self._follower.changed
            batch, complete = buffer.after(index)
            if index and not complete:
                await response.write(_event("gap", b"{}"))
            index = buffer.end
            await self._send(
                response, (entry for entry in batch if entry.sequence > (cursor or {}).get(entry.stream, 0))
            )
            version = await self._send_fleet(response, version)
            await self._wait(response, changed)

    async def _send(self, response: web.StreamResponse, batch: Iterable[BufferedMessage]) -> None:
        messages = [entry.data for entry in batch]
        cursor = format_cursor(self._follower.buffer.cursor)
        for first in range(0, len(messages), BATCH):
            part = messages[first : first + BATCH]
            last = first + BATCH >= len(messages)
            await response.write(_event("messages", b"[" + b",".join(part) + b"]", cursor if last else ""))

    async def _send_fleet(self, response: web.StreamResponse, version: int) -> int:
        """Send what changed after a version, and give the version that the page has now."""
        if not self._fleet.ready.is_set() or self._fleet.version == version > 0:
            return version
        current, changes = self._fleet.version, self._fleet.since(version)
        for first in range(0, max(len(changes.rows), 1), BATCH):
            gone = () if first else changes.gone
            part = Changes(changes.rows[first : first + BATCH], gone, whole=changes.whole and not first)
            await response.write(_event("fleet", msgspec.json.encode(part)))
        return current

    async def _wait(self, response: web.StreamResponse, changed: asyncio.Event) -> None:
        try:
            await asyncio.wait_for(changed.wait(), HEARTBEAT)
            await asyncio.sleep(TICK)
        except TimeoutError:
            await response.write(b": heartbeat\n\n")


def _event(name: str, data: bytes, cursor: str = "") -> bytes:
    own = f"id: {cursor}\n" if cursor else ""
    return f"{own}event: {name}\ndata: ".encode() + data + b"\n\n"
