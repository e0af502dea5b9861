"""A durable consumer in memory: deliveries, redeliveries and acknowledgement deadlines."""

import asyncio
from collections.abc import Callable
from dataclasses import dataclass, field

from events.bus import Consumer, ConsumerLag, Stored
from events.dead_letter import original
from events.memory.stream import Bell, Log

Bury = Callable[[Stored, Consumer, str], None]

TICK = 1e-6
"""Seconds an alarm may ring early: the loop's clock is no finer, and who then looked again at once would never end."""


@dataclass(eq=False)
class Out:
    """A message that was handed out and has no final answer."""

    stored: Stored
    attempt: int = 0
    due: float = 0.0
    """When it comes again, by the loop's time."""
    holder: object = None
    """The connection it was handed to; None while it waits to come again."""


@dataclass(eq=False)
class ConsumerQueue:
    """One consumer's place in its stream."""

    consumer: Consumer
    log: Log
    bell: Bell
    bury: Bury
    cursor: int = 0
    out: dict[int, Out] = field(default_factory=dict)

    def take(self, holder: object) -> Out | None:
        """The next message for a connection, if there is one now; those that come again go first."""
        now = asyncio.get_running_loop().time()
        if self._held(holder, now) >= self.consumer.in_flight:
            return None
        while found := self._again(now) or self._fresh():
            found.attempt += 1
            if found.attempt <= self.consumer.max_deliver:
                found.due, found.holder = now + self.consumer.ack_wait, holder
                return found
            self.finish(found, f"no answer in {self.consumer.max_deliver} attempts")
        return None

    def next_due(self) -> float | None:
        """When the next unanswered message comes again."""
        now = asyncio.get_running_loop().time()
        return min((out.due for out in self.out.values() if out.due > now + TICK), default=None)

    def finish(self, out: Out, reason: str | None = None) -> None:
        """It never comes again; with a reason it is a dead letter."""
        if reason is not None:
            self.bury(out.stored, self.consumer, reason)
        self.out.pop(out.stored.sequence, None)
        self.bell.ring()

    def postpone(self, out: Out, seconds: float) -> None:
        """Give it again after a while."""
        out.due, out.holder = asyncio.get_running_loop().time() + seconds, None
        self.bell.ring()

    def drop(self, holder: object) -> None:
        """A connection is gone: what it held comes again at once."""
        for out in self.out.values():
            if out.holder is holder:
                self.postpone(out, 0.0)

    def unanswered(self) -> int:
        """How many messages are out or still to come."""
        return len(self.out) + self._pending()

    def place(self) -> ConsumerLag:
        """How far it has come."""
        redelivered = sum(out.attempt > 1 for out in self.out.values())
        mine = self.consumer
        return ConsumerLag(mine.name, mine.stream, mine.filters, self._pending(), len(self.out), redelivered)

    def _pending(self) -> int:
        return sum(stored.sequence > self.cursor for stored in self.log.matching(self.consumer.heard))

    def _held(self, holder: object, now: float) -> int:
        return sum(out.holder is holder and out.due > now for out in self.out.values())

    def _again(self, now: float) -> Out | None:
        for sequence, out in tuple(self.out.items()):
            if out.due > now + TICK:
                continue
            if self.log.get(sequence) is not None:
                return out
            del self.out[sequence]  # purged meanwhile
        return None

    def _fresh(self) -> Out | None:
        stored = self.log.after(self.cursor, self.consumer.heard)
        self.cursor = stored.sequence if stored else self.log.last_sequence
        if stored is None:
            return None
        return self.out.setdefault(stored.sequence, Out(original(stored)))


class DeliveredMessage:
    """A delivered message; see `events.bus.Delivery`."""

    __slots__ = ("_lane", "_out", "_reach", "attempt")

    def __init__(self, reach: Callable[[], object], lane: ConsumerQueue, out: Out) -> None:
        self._reach = reach  # raises `Unavailable` once the connection is gone
        self._lane = lane
        self._out = out
        self.attempt = out.attempt

    @property
    def stored(self) -> Stored:
        """See the port."""
        return self._out.stored

    async def ack(self) -> None:
        """See the port."""
        self._reach()
        self._lane.finish(self._out)

    async def retry(self, after: float) -> None:
        """See the port."""
        self._reach()
        if self.attempt >= self._lane.consumer.max_deliver:
            await self.reject(f"still not done after {self.attempt} attempts")
        else:
            self._lane.postpone(self._out, after)

    async def reject(self, reason: str) -> None:
        """See the port."""
        self._reach()
        self._lane.finish(self._out, reason)
