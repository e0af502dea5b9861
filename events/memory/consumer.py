"""A durable consumer in memory: deliveries, redeliveries and acknowledgement deadlines."""

import asyncio
from collections.abc import Callable
from dataclasses import dataclass, field

from events.bus import Consumer, ConsumerLag, Stored
from events.memory.stream import Bell, Log
from events.streams import original

Bury = Callable[[Stored, Consumer, str], None]

TICK = 1e-6
"""Seconds an alarm may ring early: the loop's clock is no finer, and who then looked again at once would never end."""


@dataclass(eq=False)
class Out:
    """A delivered message that is not acknowledged or rejected yet."""

    stored: Stored
    attempt: int = 0
    due: float = 0.0
    """The loop's time at which it is redelivered."""
    holder: object = None
    """The connection that it was delivered to; None while it waits for redelivery."""


@dataclass(eq=False)
class ConsumerQueue:
    """The position of a consumer in its stream, and its unacknowledged messages."""

    consumer: Consumer
    log: Log
    bell: Bell
    bury: Bury
    cursor: int = 0
    out: dict[int, Out] = field(default_factory=dict)

    def take(self, holder: object) -> Out | None:
        """The next message for a connection, redeliveries first; None if there is none now."""
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
        """The time of the next redelivery."""
        now = asyncio.get_running_loop().time()
        return min((out.due for out in self.out.values() if out.due > now + TICK), default=None)

    def finish(self, out: Out, reason: str | None = None) -> None:
        """Settle a message for good; with a reason it becomes a dead letter."""
        if reason is not None:
            self.bury(out.stored, self.consumer, reason)
        self.out.pop(out.stored.sequence, None)
        self.bell.ring()

    def postpone(self, out: Out, seconds: float) -> None:
        """Redeliver a message after some seconds."""
        out.due, out.holder = asyncio.get_running_loop().time() + seconds, None
        self.bell.ring()

    def drop(self, holder: object) -> None:
        """Redeliver at once what a closed connection had not acknowledged."""
        for out in self.out.values():
            if out.holder is holder:
                self.postpone(out, 0.0)

    def unanswered(self) -> int:
        """The number of messages that are not settled."""
        return len(self.out) + self._pending()

    def place(self) -> ConsumerLag:
        """The lag of the consumer."""
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
