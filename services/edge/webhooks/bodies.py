"""Reads request bodies within a shared limit on the bytes of all that are in progress."""

import asyncio
from typing import TypeVar

from aiohttp import web

from services.edge.http.problem import Problem

B = TypeVar("B", bytes, bytearray)

LARGEST = 1_000_000
"""Bytes of a body: what the bus takes as one message."""
SLOWEST = 10.0
"""Seconds a body may take to come."""
MOST = 64 * LARGEST
"""Bytes of all bodies that are still coming: when there is more, the one that began first is given up."""


class WorkSlot:
    """A place among the requests that are worked on; it is left while the body is still coming."""

    def __init__(self, room: asyncio.Semaphore) -> None:
        self._room = room
        self._held = False

    async def take(self) -> None:
        """Wait for one."""
        await self._room.acquire()
        self._held = True

    def leave(self) -> None:
        """Let another have it."""
        if self._held:
            self._held = False
            self._room.release()


class Bodies:
    """Those that are still coming."""

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
    """The same. Raises Problem 413."""
    if len(data) > largest:
        raise too_large(largest)
    return data


def too_large(largest: int) -> Problem:
    """It is not read on."""
    return Problem(413, f"the body is too large: at most {largest} bytes", "body", {"Connection": "close"})
