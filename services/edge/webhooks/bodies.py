"""Reads request bodies within a shared limit on the bytes of all that are in progress."""

import asyncio
from typing import TypeVar

from aiohttp import web

from services.edge.http.problem import Problem

B = TypeVar("B", bytes, bytearray)

LARGEST = 1_000_000
"""Bytes of a body: the limit of a message on the bus."""
SLOWEST = 10.0
"""Seconds that a body may take."""
MOST = 64 * LARGEST
"""Bytes of all bodies that are being read: beyond it, the one that began first is given up."""


class WorkSlot:
    """A place among the requests that are processed; it is free while the body is read."""

    def __init__(self, room: asyncio.Semaphore) -> None:
        self._room = room
        self._held = False

    async def take(self) -> None:
        """Wait for a place."""
        await self._room.acquire()
        self._held = True

    def leave(self) -> None:
        """Release the place."""
        if self._held:
            self._held = False
            self._room.release()


class Bodies:
    """The bodies that are being read."""

    def __init__(self, most: int = MOST) -> None:
        self._most = most
        self._coming: dict[asyncio.Timeout, int] = {}
        """Bytes of each, in the order in which they began."""

    async def read(self, request: web.Request, largest: int, slowest: float) -> bytes:
        """The whole body. Raises Problem 413, TimeoutError."""
        data = bytearray()
        async with asyncio.timeout(slowest) as limit:
            self._coming[limit] = 0
            try:
                async for chunk in request.content.iter_any():
                    data += chunk
                    bounded(data, largest)
                    self._grown(limit, len(data))
            finally:
                self._coming.pop(limit, None)
        return bytes(data)

    def _grown(self, limit: asyncio.Timeout, size: int) -> None:
        if limit in self._coming:
            self._coming[limit] = size
        while sum(self._coming.values()) > self._most:
            first = next(iter(self._coming))
            del self._coming[first]
            first.reschedule(asyncio.get_running_loop().time())


def bounded(data: B, largest: int) -> B:
    """The data, if it is not too large. Raises Problem 413."""
    if len(data) > largest:
        raise too_large(largest)
    return data


def too_large(largest: int) -> Problem:
    """The problem of a body that is too large; the rest of it is not read."""
    return Problem(413, f"the body is too large: at most {largest} bytes", "body", {"Connection": "close"})
