"""Everything that is said is followed once, for all pages, and only while somebody looks."""

import asyncio
from collections.abc import Callable
from contextlib import aclosing, suppress
from datetime import datetime, timedelta

import msgspec

from events.bus import Bus, CaughtUp, Stored
from services.edge.page.brief import brief
from services.edge.page.rates import Rates
from services.edge.page.ring import Kept, Ring
from services.eventlog.filters import STREAMS, is_event
from services.runtime.retrying_bus import insist

MEMORY = 20_000
"""Messages that are kept for pages that were cut off: 40 s at 500 a second."""
BACK = timedelta(minutes=2)
"""So much of what was said before we began is told as well."""
LINGER = 60.0
"""Seconds it goes on after the last look, so that who was cut off misses nothing. For nobody it would make each webhook
cost a fifth more."""
PROMPT = 2.0
"""Seconds within which what was said before is known, while the bus is well."""


class Following:
    """The ring, and who fills it."""

    def __init__(self, bus: Bus, *, clock: Callable[[], datetime], jitter: Callable[[], float]) -> None:
        """`jitter` gives 0 to 1."""
        self.ring = Ring(MEMORY)
        self.rates = Rates()
        self.news = asyncio.Event()
        """Set at the next message; then there is another one."""
        self.closed = False
        self._bus = bus
        self._clock = clock
        self._jitter = jitter
        self._looked = asyncio.Event()
        self._until = 0.0
        self._behind = set(STREAMS)
        self._abreast = asyncio.Event()

    @property
    def abreast(self) -> bool:
        """Whether all that was said before is known."""
        return not self._behind

    async def run(self) -> None:
        """Follow every stream while somebody looks; once cancelled, it is closed."""
        try:
            while True:
                await self._looked.wait()
                await self._follow_while_looked_at()
        finally:
            self.closed = True
            self._wake()

    def look(self) -> None:
        """Somebody looks."""
        self._until = asyncio.get_running_loop().time() + LINGER
        self._looked.set()

    async def look_back(self) -> None:
        """The same; returns once it is abreast, or when that takes too long."""
        self.look()
        with suppress(TimeoutError):
            await asyncio.wait_for(self._abreast.wait(), PROMPT)

    async def _follow_while_looked_at(self) -> None:
        loop, since = asyncio.get_running_loop(), self._clock() - BACK
        async with asyncio.TaskGroup() as group:
            following = [group.create_task(self._insist(stream, since)) for stream in STREAMS]
            while (left := self._until - loop.time()) > 0:  # noqa: ASYNC110 - each look puts the end off
                await asyncio.sleep(left)
            for each in following:
                each.cancel()
        self._looked.clear()
        self._abreast.clear()
        self._behind = set(STREAMS)
        self.ring.forget()
        self.rates.forget()

    async def _insist(self, stream: str, since: datetime) -> None:
        await insist(self._jitter, lambda: self._follow(stream, since))

    async def _follow(self, stream: str, since: datetime) -> None:
        last = await self._bus.last(stream, ">")
        async with aclosing(self._bus.follow(stream, ">", since=since)) as feed:
            async for stored in feed:
                if isinstance(stored, CaughtUp):
                    self._catch_up(stream, last.sequence if last else 0)
                elif is_event(stream, stored.subject):
                    self._take(stream, stored)

    def _take(self, stream: str, stored: Stored) -> None:
        told = brief(stream, stored)
        if self.ring.add(Kept(stream, stored.sequence, msgspec.json.encode(told))):
            self.rates.take(told.lane, told.at)
            self._wake()

    def _catch_up(self, stream: str, last: int) -> None:
        self.ring.begin(stream, last)
        self._behind.discard(stream)
        if not self._behind:
            self._abreast.set()

    def _wake(self) -> None:
        self.news.set()
        self.news = asyncio.Event()
