"""Levels are published when they differ from the last ones, by a bus whose calls retry until they succeed."""

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import aclosing
from hashlib import blake2b
from typing import TypeVar

import msgspec
import structlog

from events.backoff import Backoff
from events.bus import Bus, CaughtUp, Conflict, Expect, FeedItem, Message, Relisting, Stored, Unavailable
from events.cloudevents import CloudEvent, encode, msg_id
from events.errors import TryLater
from events.streams import is_tombstone, standing, tips, tombstone
from events.telemetry import NOWHERE, Trace, sending
from schemas.registry import Stream, declared
from schemas.subjects import names_of
from services.runtime.context import Context
from services.runtime.read_model import Newest

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


class SubjectIndex(Newest[str, bytes]):
    """The data of the newest messages by subject, found by wildcards as well."""

    def __init__(self) -> None:
        super().__init__()
        self._below: dict[str, dict[str, None]] = {}
        """The subjects below each one that is a token shorter."""

    def put(self, key: str, sequence: int, value: bytes) -> None:
        """Keep the data of a message that was published."""
        super().put(key, sequence, value)
        self._below.setdefault(_above(key), {})[key] = None

    def drop(self, key: str) -> None:
        """Drop a subject."""
        if key in self._values:
            below = self._below[_above(key)]
            del below[key]
            if not below:
                del self._below[_above(key)]
        super().drop(key)

    def under(self, subject_filter: str) -> tuple[str, ...]:
        """The subjects that match a filter with wildcards at its end; a single one is looked up directly."""
        if not subject_filter.endswith("*"):
            return (subject_filter,) if subject_filter in self._values else ()
        head = subject_filter.rstrip("*.")
        if subject_filter == f"{head}.*":
            return tuple(self._below.get(head, ()))
        return tuple(subject for subject in self._values if subject.startswith(f"{head}."))


def _above(subject: str) -> str:
    return subject.rpartition(".")[0]


V = TypeVar("V", bound=msgspec.Struct)


class Outdated(TryLater):
    """Another replica has published a newer level since this one last read it: look again, then decide again."""


class LevelPublisher:
    """Publishes levels of some kinds, and knows the last ones across restarts."""

    def __init__(self, context: Context, *kinds: type[msgspec.Struct], retries: bool = False) -> None:
        """With `retries`, calls are repeated until the bus answers; otherwise every call may raise `Unavailable`."""
        self._bus = RetryingBus(context.bus, context.jitter) if retries else context.bus
        self._clock = context.clock
        self._meters = context.meters
        self._filters = tuple(declared(kind).under() for kind in kinds)
        self._last = SubjectIndex()
        self._encoder = msgspec.json.Encoder()

    async def refresh(self) -> None:
        """Read the last levels: at the start, and again since others, or a crash of the bus, may have changed them."""
        before = self._last.snapshot()
        self._last.replace(await self._read(), before)

    async def follow(self) -> None:
        """Keep the levels that other replicas publish, until cancelled; to be called after `refresh`."""
        listed, before = self._last, self._last.snapshot()
        async with aclosing(self._bus.feed(Stream.LEVELS, *self._filters)) as feed:
            async for fed in feed:
                match fed:
                    case Relisting():
                        listed, before = SubjectIndex(), self._last.snapshot()
                    case CaughtUp() if listed is not self._last:
                        self._last.replace(listed, before)
                        listed = self._last
                    case Stored():
                        _receive(fed, listed)

    async def _read(self) -> SubjectIndex:
        read = SubjectIndex()
        for stored in standing(await tips(self._bus, Stream.LEVELS, *self._filters)):
            read.put(stored.subject, stored.sequence, stored.data)
        return read

    def last(self, struct: type[V], *names: str) -> V | None:
        """The last level under these names."""
        data = self._last.get(declared(struct).at(*names))
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
        subjects = self._last.under(declared(struct).under(*names))
        found = ((subject, self._last.get(subject)) for subject in subjects)
        return tuple(Stored(subject, data, sequence=self._last.sequence(subject)) for subject, data in found if data)

    async def publish(
        self, level: msgspec.Struct, *names: str, cause: str = "", trace: Trace = NOWHERE, force: bool = False
    ) -> bool:
        """Publish a level under its names; returns False if it equals the last one (unless `force`).

        `cause` is the id of the event that caused it, `trace` that event's trace. Raises Outdated, Unavailable.
        """
        declaration = declared(type(level))
        subject = declaration.at(*names)
        data = self._encoder.encode(level)
        while force or self._last.get(subject) != data:
            last = self._last.sequence(subject)
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
                if self._last.get(subject) not in (None, b"", data):
                    raise Outdated(f"another replica has published a newer {subject}") from None
            else:
                self._last.put(subject, sequence, data)
                return True
        return False

    async def _reload(self, subject: str) -> None:
        stored = await self._bus.last(Stream.LEVELS, subject)
        if stored is None:
            self._last.drop(subject)
        else:
            self._last.put(subject, stored.sequence, b"" if is_tombstone(stored) else stored.data)

    async def forget(self, struct: type[msgspec.Struct], *names: str) -> None:
        """Delete the levels under these names (the first of the subject's, or all).

        A tombstone announces it; a newer level by somebody else stays.
        """
        subjects = self._last.under(declared(struct).under(*names))
        await asyncio.gather(*map(self._bury, subjects))

    async def _bury(self, subject: str) -> None:
        try:
            await self._bus.publish(tombstone(subject), expect=Expect(subject, self._last.sequence(subject)))
        except Conflict:
            await self._reload(subject)
        else:
            self._last.drop(subject)


def _receive(stored: Stored, levels: SubjectIndex) -> None:
    """Keep a message that is newer than the one that is known."""
    if levels.sequence(stored.subject) >= stored.sequence:
        return
    if is_tombstone(stored):
        levels.drop(stored.subject)
    else:
        levels.put(stored.subject, stored.sequence, stored.data)
