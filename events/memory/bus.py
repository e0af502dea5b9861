"""The bus in memory: the same promises as JetStream, for tests and simulations."""

import asyncio
from collections.abc import AsyncGenerator, Iterable
from contextlib import aclosing
from datetime import UTC, datetime

from events.bus import (
    CaughtUp,
    Clock,
    Consumer,
    ConsumerLag,
    Delivery,
    Expect,
    FeedItem,
    Message,
    Stored,
    Timer,
    Unavailable,
    schedule,
)
from events.errors import TOO_LARGE, Denied
from events.memory.consumer import ConsumerQueue, DeliveredMessage
from events.memory.stream import Bell, Log
from events.rpc import RpcHandler, RpcService
from events.streams import STREAMS, StreamSpec, dead_letter

FIRED_FOR = 86_400.0
"""Seconds that the message of a fired timer is stored."""
LIMIT = 1_048_576 - 8192
"""The most bytes of a message: the default of nats-server."""


def wall_clock() -> datetime:
    """The time of day."""
    return datetime.now(UTC)


class Memory:
    """The streams and consumers, apart from the connections to them."""

    def __init__(self, streams: Iterable[StreamSpec], clock: Clock) -> None:
        self.bell = Bell()
        self.clock = clock
        self.logs = {spec.name: Log(spec, clock, self.bell) for spec in streams}
        self.lanes: dict[tuple[str, str], ConsumerQueue] = {}
        self.answers: dict[str, list[RpcHandler]] = {}

    def log(self, stream: str) -> Log:
        """A stream by name; raises `Unavailable` if there is none."""
        if stream not in self.logs:
            raise Unavailable(f"no stream is called {stream}")
        return self.logs[stream]

    def taking(self, message: Message) -> Log:
        """The stream of a message's subject; raises `Denied` if it is too large, `Unavailable` if no stream has it."""
        if len(message.data) > LIMIT:
            raise Denied(f"{len(message.data)} bytes on {message.subject} are too many: at most {LIMIT}", TOO_LARGE)
        found = next((log for log in self.logs.values() if log.takes(message.subject)), None)
        if found is None:
            raise Unavailable(f"no stream takes {message.subject}")
        return found

    def lane(self, consumer: Consumer) -> ConsumerQueue:
        """The queue of a consumer, which is created or updated."""
        place = (consumer.stream, consumer.name)
        lane = self.lanes.get(place) or ConsumerQueue(consumer, self.log(consumer.stream), self.bell, self.bury)
        lane.consumer = consumer
        return self.lanes.setdefault(place, lane)

    def bury(self, stored: Stored, consumer: Consumer, reason: str) -> None:
        """Store a dead letter."""
        letter = dead_letter(stored, consumer, reason)
        self.taking(letter).append(letter)

    def arm(self, timer: Timer) -> None:
        """Store the timer, replacing an earlier one of its subject."""
        message = Message(timer.subject, b"", schedule(timer))
        log = self.taking(message)
        if not (log.spec.schedules and log.takes(timer.target)):
            raise Denied(f"{log.spec.name} holds no timer on {timer.subject} for {timer.target}", "NoTimers")
        log.forget(stored.sequence for stored in log.matching((timer.subject,)))
        self._await(log, log.append(message).sequence, timer)

    def _await(self, log: Log, sequence: int, timer: Timer) -> None:
        seconds = (timer.at - self.clock()).total_seconds()
        asyncio.get_running_loop().call_later(max(0.0, seconds), self._fire, log, sequence, timer)

    def _fire(self, log: Log, sequence: int, timer: Timer) -> None:
        if log.get(sequence) is None:
            return  # replaced, cancelled or purged
        if self.clock() < timer.at:
            self._await(log, sequence, timer)
            return
        log.forget((sequence,))
        fired = log.append(Message(timer.target, b"")).sequence
        asyncio.get_running_loop().call_later(FIRED_FOR, log.forget, (fired,))


class MemoryBus:
    """See `events.bus.Bus`. What it keeps outlives it: `again` is the next connection to the same memory.

    Timers and waits go by the running loop's time, stamps and a timer's `at` by `clock`.
    """

    def __init__(self, streams: Iterable[StreamSpec] = STREAMS, clock: Clock = wall_clock) -> None:
        self._memory = Memory(streams, clock)
        self._gone: str | None = None

    def again(self) -> "MemoryBus":
        """Another connection to the same streams, as another process would have."""
        other = MemoryBus((), self._memory.clock)
        other._memory = self._memory
        return other

    def crash(self) -> None:
        """Disconnect at once: unacknowledged messages are redelivered, and every call raises `Unavailable`."""
        self._leave("the connection broke")

    async def publish(
        self,
        message: Message,
        *,
        expect: Expect | None = None,
        cancels: str | None = None,
        msg_id: str | None = None,
        within: float | None = None,  # noqa: ARG002 - memory answers at once
    ) -> int:
        """See the port; also raises `Denied` for a message larger than the server takes."""
        log = self._here().taking(message)
        sequence, new = log.publish(message, expect, msg_id)
        if cancels and new:
            log.forget(stored.sequence for stored in log.matching((cancels,)))
        return sequence

    async def last(self, stream: str, subject_filter: str) -> Stored | None:
        """See the port."""
        return self._here().log(stream).last(subject_filter)

    async def feed(self, stream: str, *filters: str) -> AsyncGenerator[FeedItem, None]:
        """See the port; this feed is never interrupted, so it never relists."""
        log = self._here().log(stream)
        async with aclosing(self._given(log, log.tips(filters or (">",)), filters)) as given:
            async for each in given:
                yield each

    async def follow(
        self, stream: str, *filters: str, since: datetime | None = None
    ) -> AsyncGenerator[Stored | CaughtUp, None]:
        """See the port."""
        log = self._here().log(stream)
        kept = [] if since is None else [each for each in log.matching(filters or (">",)) if each.time >= since]
        async with aclosing(self._given(log, kept, filters)) as given:
            async for each in given:
                yield each

    async def _given(
        self, log: Log, kept: Iterable[Stored], filters: tuple[str, ...]
    ) -> AsyncGenerator[Stored | CaughtUp, None]:
        """The stored messages, then new ones."""
        place = log.last_sequence
        for stored in kept:
            yield stored
        yield CaughtUp()
        while self._open():
            following = log.after(place, filters or (">",))
            if following:
                place = following.sequence
                yield following
            else:
                place = max(place, log.last_sequence)
                await self._memory.bell.wait()

    async def consume(self, consumer: Consumer) -> AsyncGenerator[Delivery, None]:
        """See the port."""
        lane = self._here().lane(consumer)
        while self._open():
            if out := lane.take(self):
                yield DeliveredMessage(self._here, lane, out)
            else:
                await self._memory.bell.wait(lane.next_due())

    async def wake(self, timer: Timer) -> None:
        """See the port."""
        self._here().arm(timer)

    async def purge(self, stream: str, subject_filter: str) -> int:
        """See the port."""
        log = self._here().log(stream)
        return log.forget(stored.sequence for stored in log.matching((subject_filter,)))

    async def count(self, stream: str, subject_filter: str) -> int:
        """See the port."""
        return len(self._here().log(stream).matching((subject_filter,)))

    async def read(self, stream: str, subject_filter: str) -> tuple[Stored, ...]:
        """See the port."""
        return tuple(self._here().log(stream).matching((subject_filter,)))

    async def at(self, stream: str, sequence: int) -> Stored | None:
        """See the port."""
        return self._here().log(stream).get(sequence)

    async def drop(self, stream: str, sequence: int) -> bool:
        """See the port."""
        return bool(self._here().log(stream).forget((sequence,)))

    async def consumers(self, stream: str) -> tuple[ConsumerLag, ...]:
        """See the port."""
        lanes = sorted(self._here().lanes.items())
        return tuple(lane.place() for (of, _), lane in lanes if of == stream)

    async def unanswered(self, consumer: Consumer) -> int:
        """See the port; a missing consumer is created."""
        return self._here().lane(consumer).unanswered()

    async def answer(self, desk: RpcService) -> None:
        """See the port."""
        answers = self._here().answers
        for each in desk.questions:
            answers.setdefault(each.subject, []).append(each.answer)
        try:
            while self._open():
                await self._memory.bell.wait()
        finally:
            for each in desk.questions:
                answers[each.subject].remove(each.answer)

    async def ask(self, subject: str, data: bytes = b"") -> bytes:
        """See the port."""
        answers = self._here().answers.get(subject)
        if not answers:
            raise Unavailable(f"no answer on {subject}: nothing answers there")
        answers.append(answers.pop(0))  # the next question is the next one's
        return await answers[-1](data)

    async def notify(self, subject: str, data: bytes) -> None:
        """See the port."""
        for listening in self._here().answers.get(subject, ())[:1]:
            await listening(data)

    @property
    def trouble(self) -> str:
        """See the port: there is none."""
        return ""

    async def close(self) -> None:
        """See the port; unacknowledged messages are redelivered at once."""
        self._leave("")

    def _here(self) -> Memory:
        if self._gone is not None:
            raise Unavailable(self._gone or "the bus was left")
        return self._memory

    def _open(self) -> bool:
        if self._gone:
            raise Unavailable(self._gone)
        return self._gone is None

    def _leave(self, why: str) -> None:
        self._gone = why
        for lane in self._memory.lanes.values():
            lane.drop(self)
        self._memory.bell.ring()
