"""Limits how many requests one server is sent at a time."""

import asyncio
from collections import deque
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager


class ConcurrencyLimit:
    """At most so many requests at the same time; all others wait in order of arrival.

    A long queue is no failure: requests that left it after a while and queued again would keep others from
    being served, and 5,000 who do so are never done. A server that answers nobody is one: then all who wait go.
    """

    def __init__(self, at_once: int, within: float) -> None:
        """A question must be answered `within` so many seconds of its turn."""
        self._free = at_once
        self._within = within
        self._waiting: deque[asyncio.Future[None]] = deque()
        self._answered = 0

    @asynccontextmanager
    async def taken(self) -> AsyncIterator[None]:
        """A slot for one request. Raises TimeoutError if it, or every request while it waited, had no answer."""
        await self._come()
        before = self._answered
        try:
            async with asyncio.timeout(self._within):
                yield
            self._answered += 1
        except TimeoutError:
            if self._answered == before:
                self._send_away()
            raise
        finally:
            self._next()

    async def _come(self) -> None:
        if self._free:
            self._free -= 1
            return
        turn = asyncio.get_running_loop().create_future()
        self._waiting.append(turn)
        try:
            await turn
        except asyncio.CancelledError:
            if turn.done() and not turn.cancelled() and not turn.exception():  # it came, and is not wanted any more
                self._next()
            raise

    def _next(self) -> None:
        while self._waiting:
            turn = self._waiting.popleft()
            if not turn.done():
                turn.set_result(None)
                return
        self._free += 1

    def _send_away(self) -> None:
        for turn in self._waiting:
            if not turn.done():
                turn.set_exception(TimeoutError())
        self._waiting.clear()
