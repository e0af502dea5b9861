"""Levels are published when they differ from the last ones, by a bus whose calls retry until they succeed."""

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable, Iterator
from datetime import datetime
from hashlib import blake2b
from typing import TypeVar

import msgspec
import structlog

from events.backoff import Backoff
from events.bus import Bus, Conflict, Expect, FeedItem, Message, Stored, Unavailable
from events.cloudevents import CloudEvent, encode, msg_id
from events.streams import is_tombstone, standing, tips, tombstone
from events.telemetry import NOWHERE, Meters, Trace, sending
from schemas.registry import Stream, declared
from schemas.subjects import names_of
from services.runtime.subscriptions import wildcard

T = TypeVar("T")

FIRST, LONGEST = 1.0, 30.0
"""Seconds between two tries, doubled from the first to the longest: so late, an outage's end is noticed."""

log = structlog.get_logger()


async def retry_forever(jitter: Callable[[], float], call: Callable[[], Awaitable[T]]) -> T:
    """Call until the bus answers, with back-off; `jitter` gives 0 to 1."""
    backoff = Backoff(jitter, FIRST, LONGEST)
    while True:
        try:
            return await call()
        except Unavailable as away:
            log.warning("bus.unavailable", tries=backoff.failures + 1, reason=str(away))
            await asyncio.sleep(backoff.next_delay())


class RetryingBus:
    """The part of a bus that levels need; its calls retry until they succeed."""

    def __init__(self, bus: Bus, jitter: Callable[[], float]) -> None:
        """`jitter` gives 0 to 1."""
        self._bus = bus
        self._jitter = jitter

    async def publish(self, message: Message, *, expect: Expect | None = None, msg_id: str | None = None) -> int:
        """See the port; a repeat is our own publish, and no conflict. Raises `Conflict`, `Denied`."""
        return await retry_forever(self._jitter, lambda: self._bus.publish(message, expect=expect, msg_id=msg_id))

    async def last(self, stream: str, subject_filter: str) -> Stored | None:
        """See the port."""
        return await retry_forever(self._jitter, lambda: self._bus.last(stream, subject_filter))

    def feed(self, stream: str, *filters: str) -> AsyncGenerator[FeedItem, None]:
        """See the port: a feed that has begun waits by itself; one that cannot begin raises `Unavailable`."""
        return self._bus.feed(stream, *filters)


Said = tuple[bytes, int]
"""The data of a message and its sequence."""
NOTHING: Said = (b"", 0)


class SubjectIndex:
    """The newest messages by subject."""

    def __init__(self) -> None:
        self._said: dict[str, Said] = {}
        self._below: dict[str, dict[str, None]] = {}
        """The subjects below each one of a token less."""

    def __iter__(self) -> Iterator[str]:
        return iter(tuple(self._said))

    def get(self, subject: str) -> Said:
        """The newest message; `NOTHING` if there is none."""
        return self._said.get(subject, NOTHING)

    def keep(self, subject: str, data: bytes, sequence: int) -> None:
        """Keep a message that was published."""
        self._said[subject] = (data, sequence)
        self._below.setdefault(_above(subject), {})[subject] = None

    def drop(self, subject: str) -> None:
        """Drop a subject."""
        if self._said.pop(subject, None) is not None:
            below = self._below[_above(subject)]
            del below[subject]
            if not below:
                del self._below[_above(subject)]

    def under(self, subject_filter: str) -> tuple[str, ...]:
        """The subjects that match a filter with wildcards at its end; a single one is looked up directly."""
        if not subject_filter.endswith("*"):
            return (subject_filter,) if subject_filter in self._said else ()
        head = subject_filter.rstrip("*.")
        if subject_filter == f"{head}.*":
            return tuple(self._below.get(head, ()))
        return tuple(subject for subject in self._said if subject.startswith(f"{head}."))


def _above(subject: str) -> str:
    return subject.rpartition(".")[0]


V = TypeVar("V", bound=msgspec.Struct)


class LevelPublisher:
    """Publishes levels of some kinds, and knows the last ones across restarts."""

    def __init__(
        self, bus: Bus | RetryingBus, clock: Callable[[], datetime], meters: Meters, *kinds: type[msgspec.Struct]
    ) -> None:
        """Every call raises `Unavailable` unless the bus retries."""
        self._bus = bus
        self._clock = clock
        self._meters = meters
        self._filters = tuple(wildcard(declared(kind).subject) for kind in kinds)
        self._said = SubjectIndex()
        self._encoder = msgspec.json.Encoder()

    async def boot(self) -> None:
        """Read the last levels."""
        for stored in standing(await tips(self._bus, Stream.LEVELS, *self._filters)):
            self._said.keep(stored.subject, stored.data, stored.sequence)

    async def refresh(self) -> None:
        """Read them again, since others, or a crash of the bus, may have changed them."""
        before = {subject: self._said.get(subject)[1] for subject in self._said}
        found = {each.subject: each for each in standing(await tips(self._bus, Stream.LEVELS, *self._filters))}
        for subject in before.keys() | found.keys():
            if self._said.get(subject)[1] != before.get(subject, 0):
                continue  # something was said meanwhile
            if (stored := found.get(subject)) is None:
                self._said.drop(subject)
            else:
                self._said.keep(subject, stored.data, stored.sequence)

    def last(self, struct: type[V], *names: str) -> V | None:
        """The last level under these names."""
        data, _ = self._said.get(declared(struct).at(*names))
        return msgspec.json.decode(data, type=struct) if data else None

    def named(self, struct: type[V], *names: str) -> tuple[tuple[tuple[str, ...], V], ...]:
        """The last levels of one kind under these first names (or all), each with all its names."""
        skip = declared(struct).subject.split("{", maxsplit=1)[0].count(".")
        return tuple(
            (names_of(kept.subject)[skip:], msgspec.json.decode(kept.data, type=struct))
            for kept in self.kept(struct, *names)
        )

    def kept(self, struct: type[msgspec.Struct], *names: str) -> tuple[Stored, ...]:
        """The last level as it was published, undecoded."""
        subjects = self._said.under(declared(struct).under(*names))
        found = ((subject, *self._said.get(subject)) for subject in subjects)
        return tuple(Stored(subject, data, sequence=sequence) for subject, data, sequence in found if data)

    async def publish(
        self, level: msgspec.Struct, *names: str, cause: str = "", trace: Trace = NOWHERE, force: bool = False
    ) -> bool:
        """Publish a level under its names; returns False if it equals the last one (unless `force`).

        `cause` is the id of the event that caused it, `trace` that event's trace.
        """
        declaration = declared(type(level))
        subject = declaration.at(*names)
        data = self._encoder.encode(level)
        while force or self._said.get(subject)[0] != data:
            _, last = self._said.get(subject)
            now = self._clock()
            event = CloudEvent(
                # With the time: after a purge the same words follow nothing again, and are no repeat of the first ones.
                id=f"{blake2b(data, digest_size=8).hexdigest()}.{last}.{now.timestamp():.6f}",
                source=f"/alate/{subject}",
                type=declaration.type,
                subject="/".join(names),
                time=now,
                extensions={"causationid": cause} if cause else {},
                data=data,
            )
            headers, _ = encode(event)
            message, expect = Message(subject, data, headers), Expect(subject, last)
            try:
                with sending(subject, headers, self._meters, trace):
                    sequence = await self._bus.publish(message, expect=expect, msg_id=msg_id(event))
            except Conflict:
                await self._reload(subject)
            else:
                self._said.keep(subject, data, sequence)
                return True
        return False

    async def _reload(self, subject: str) -> None:
        stored = await self._bus.last(Stream.LEVELS, subject)
        self._said.drop(subject)
        if stored is not None:
            self._said.keep(subject, b"" if is_tombstone(stored) else stored.data, stored.sequence)

    async def forget(self, struct: type[msgspec.Struct], *names: str) -> None:
        """Delete the levels under these names (the first of the subject's, or all).

        A tombstone announces it; a newer level by somebody else stays.
        """
        subjects = self._said.under(declared(struct).under(*names))
        await asyncio.gather(*map(self._bury, subjects))

    async def _bury(self, subject: str) -> None:
        try:
            await self._bus.publish(tombstone(subject), expect=Expect(subject, self._said.get(subject)[1]))
        except Conflict:
            await self._reload(subject)
        else:
            self._said.drop(subject)
