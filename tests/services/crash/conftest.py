"""Processes that die where one likes: before or after any of their calls."""

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from types import SimpleNamespace
from typing import Any

import pytest

from events.bus import Delivery, FeedItem, Message, Stored, Timer
from events.memory.bus import MemoryBus

START = datetime(2026, 1, 1, tzinfo=UTC)


def clock() -> datetime:
    return START + timedelta(seconds=asyncio.get_running_loop().time())


class Died(BaseException):
    """The process is not there any more."""


@dataclass
class Life:
    """Counts the calls of one process, and ends it at one of them."""

    at: int = 0
    """The number of the call at which it dies; 0: never."""
    after: bool = False
    """It dies when the call is done, not before it is made."""
    calls: int = 0
    over: asyncio.Event = field(default_factory=asyncio.Event)
    end: Callable[[], None] = lambda: None

    async def call(self, port: Callable[[], Awaitable[Any]]) -> Any:
        if self.dead:
            raise Died
        self.calls += 1
        last = self.calls == self.at
        if last and not self.after:
            self.die()
        try:
            return await port()
        finally:
            if last:
                self.die()

    @property
    def dead(self) -> bool:
        return self.over.is_set()

    def die(self) -> None:
        self.over.set()
        self.end()
        raise Died


class MortalDelivery:
    def __init__(self, real: Delivery, life: Life) -> None:
        self.stored, self.attempt = real.stored, real.attempt
        self._real, self._life = real, life

    async def ack(self) -> None:
        await self._life.call(self._real.ack)

    async def retry(self, after: float) -> None:
        await self._life.call(lambda: self._real.retry(after))

    async def reject(self, reason: str) -> None:
        raise AssertionError(f"nothing here is a dead letter, but: {reason}")


class MortalBus(MemoryBus):
    """A connection that dies with its process."""

    def __init__(self, real: MemoryBus, life: Life) -> None:
        super().__init__((), clock)
        self._memory, self._life = real._memory, life
        life.end = self.crash

    async def publish(self, message: Message, **how: Any) -> int:
        return await self._life.call(lambda: super(MortalBus, self).publish(message, **how))

    async def last(self, stream: str, subject_filter: str) -> Stored | None:
        return await self._life.call(lambda: super(MortalBus, self).last(stream, subject_filter))

    async def wake(self, timer: Timer) -> None:
        await self._life.call(lambda: super(MortalBus, self).wake(timer))

    async def consume(self, consumer: Any) -> AsyncGenerator[Delivery]:
        async for delivery in super().consume(consumer):
            yield MortalDelivery(delivery, self._life)

    async def feed(self, stream: str, *filters: str) -> AsyncGenerator[FeedItem]:
        await self._life.call(lambda: asyncio.sleep(0))
        async for stored in super().feed(stream, *filters):
            yield stored


@pytest.fixture
def mortal() -> SimpleNamespace:
    """What dies, and how that shows; and the time it lives by."""
    return SimpleNamespace(Life=Life, Bus=MortalBus, Died=Died, clock=clock)
