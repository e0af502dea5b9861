"""All streams are read once, for all open pages, and only while a page is open."""

import asyncio
from contextlib import aclosing, suppress
from datetime import datetime, timedelta

import msgspec

from events.bus import CaughtUp, Stored
from services.edge.page.rates import Rates
from services.edge.page.replay_buffer import BufferedMessage, ReplayBuffer
from services.edge.page.summary import summarize
from services.eventlog.filters import STREAMS, is_event
from services.runtime.context import Context
from services.runtime.level_publisher import retry_forever

MEMORY = 20_000
"""Messages that are kept for pages that lost their connection: 40 s at 500 a second."""
BACKLOG = timedelta(minutes=2)
"""How far before its start the follower begins to read."""
LINGER = 60.0
"""Seconds it goes on after the last request of a page, so that a page that reconnects has missed nothing. Without any
page, reading would make each webhook cost a fifth more."""
PROMPT = 2.0
"""Seconds within which the backlog is usually read."""


class Follower:
    """Reads the streams into the replay buffer."""

    def __init__(self, context: Context) -> None:
        self.buffer = ReplayBuffer(MEMORY)
        self.rates = Rates()
        self.changed = asyncio.Event()
        """Set at the next message; then replaced by another one."""
        self.closed = False
        self._bus = context.bus
        self._clock = context.clock
        self._jitter = context.jitter
        self._wanted = asyncio.Event()
        self._until = 0.0
        self._behind = set(STREAMS)
        self._caught_up = asyncio.Event()

    @property
    def caught_up(self) -> bool:
        """Whether the whole backlog is read."""
        return not self._behind

    async def run(self) -> None:
        """Read every stream while a page is open; once cancelled, it is closed."""
        try:
            while True:
                await self._wanted.wait()
                await self._follow_while_wanted()
        finally:
            self.closed = True
            self.notify()

    def keep_reading(self) -> None:
        """Start to read, or go on for another `LINGER` seconds."""
        self._until = asyncio.get_running_loop().time() + LINGER
        self._wanted.set()

    async def catch_up(self) -> None:
        """The same; returns once the backlog is read, or when that takes too long."""
        self.keep_reading()
        with suppress(TimeoutError):
            await asyncio.wait_for(self._caught_up.wait(), PROMPT)

    def notify(self) -> None:
        """Wake every page's connection."""
        self.changed.set()
        self.changed = asyncio.Event()

    async def _follow_while_wanted(self) -> None:
        loop, since = asyncio.get_running_loop(), self._clock() - BACKLOG
        async with asyncio.TaskGroup() as group:
            following = [group.create_task(self._insist(stream, since)) for stream in STREAMS]
            while (left := self._until - loop.time()) > 0:  # noqa: ASYNC110 - each request puts the end off
                await asyncio.sleep(left)
            for each in following:
                each.cancel()
        self._wanted.clear()
        self._caught_up.clear()
        self._behind = set(STREAMS)
        self.buffer.clear()
        self.rates.clear()

    async def _insist(self, stream: str, since: datetime) -> None:
        await retry_forever(self._jitter, lambda: self._follow(stream, since))

    async def _follow(self, stream: str, since: datetime) -> None:
        last = await self._bus.last(stream, ">")
        async with aclosing(self._bus.follow(stream, ">", since=since)) as feed:
            async for stored in feed:
                if isinstance(stored, CaughtUp):
                    self._catch_up(stream, last.sequence if last else 0)
                elif is_event(stream, stored.subject):
                    self._take(stream, stored)

    def _take(self, stream: str, stored: Stored) -> None:
        summary = summarize(stream, stored)
        if self.buffer.add(BufferedMessage(stream, stored.sequence, msgspec.json.encode(summary))):
            self.rates.count(summary.group, summary.at)
            self.notify()

    def _catch_up(self, stream: str, last: int) -> None:
        self.buffer.caught_up(stream, last)
        self._behind.discard(stream)
        if not self._behind:
            self._caught_up.set()
