"""The entity store: the last state of every entity of one domain, and the retention that purges ended ones."""

import asyncio
from collections.abc import Iterator
from datetime import datetime, timedelta

import msgspec
import structlog

from events.bus import Clock, Expect, Message, Stored, Timer, Unavailable
from events.cloudevents import CloudEvent, encode, msg_id
from events.streams import tips
from events.telemetry import NOWHERE, Trace, extract, sending
from schemas.entity import EPOCH, Lifecycle, State
from schemas.registry import Stream, declared
from schemas.subjects import Key, key_of
from services.runtime.context import Context
from services.runtime.read_model import Decoders, Newest, Undecodable, skip

log = structlog.get_logger()

SCHEDULED_AT = "Nats-Schedule"
TICK = timedelta(microseconds=1)


class EntityRecord(msgspec.Struct, frozen=True):
    """An entity's last state and its sequence, which the next compare-and-swap expects."""

    state: State | None = None
    sequence: int = 0
    trace: Trace = NOWHERE
    """The trace of the entity's whole life, from its first cause."""


NOTHING = EntityRecord()


class EntityStore:
    """Reads states from the bus, and writes them with compare-and-swap."""

    def __init__(self, context: Context, lifecycle: Lifecycle) -> None:
        self._bus = context.bus
        self._domain = lifecycle.domain
        self._terminal = lifecycle.terminal
        self._clock = context.clock
        self._meters = context.meters
        self._decoders = Decoders(map(declared, lifecycle.states))
        self._encoder = msgspec.json.Encoder()
        self._types = {s: declared(s).type for s in lifecycle.states}
        self._records: Newest[Key, EntityRecord] = Newest()
        self._timers: dict[Key, datetime] = {}
        self._bus_time = EPOCH

    def __iter__(self) -> Iterator[tuple[Key, EntityRecord]]:
        return iter(self._records)

    def __len__(self) -> int:
        return len(self._records)

    async def boot(self) -> None:
        """Read every entity's last state and every timer, or again what is newer than known; writes nothing."""
        newest: Newest[Key, Stored] = Newest()
        filters = (f"{self._domain}.*.*.*", f"timer.{self._domain}.*.*")
        for stored in await tips(self._bus, Stream.EVENTS, *filters):
            self._note(stored, newest)
        for key, stored in newest:
            if stored.sequence <= self.entry(key).sequence:
                continue
            try:
                self._read(key, stored)
            except Undecodable as wrong:  # the other entities do not wait for this one
                skip(wrong, self._meters)

    def _note(self, stored: Stored, newest: Newest[Key, Stored]) -> None:
        key = key_of(stored.subject)
        if stored.subject.startswith("timer."):
            self._timers[key] = datetime.fromisoformat(stored.headers[SCHEDULED_AT].removeprefix("@at "))
        else:
            newest.add(key, stored.sequence, stored)

    def _read(self, key: Key, stored: Stored) -> None:
        """Keep a stored state. Raises Undecodable."""
        record = self._decoders.read(stored, lambda s: EntityRecord(s, stored.sequence, extract(stored.headers)))
        self._records.put(key, stored.sequence, record)

    def entry(self, key: Key) -> EntityRecord:
        """The record of an entity; `NOTHING` if it does not exist."""
        return self._records.get(key) or NOTHING

    async def reload(self, key: Key) -> bool:
        """Read one entity again; returns whether another replica wrote it. Raises Undecodable."""
        known = self.entry(key).sequence
        stored = await self._bus.last(Stream.EVENTS, key.history)
        if stored is None:
            self._records.drop(key)
        else:
            self._read(key, stored)
        return self.entry(key).sequence != known

    async def write(self, key: Key, new: State, *, cause: str, cancels_timer: bool) -> State:
        """Publish the next state: event, state and lock in one message. Raises Conflict, Unavailable."""
        old = self.entry(key)
        state = self._stamped(old.state, new)
        kind = self._types[type(state)]
        event = CloudEvent(
            # With domain and name: all entities of a Colony share the uid, and causes are named by id alone.
            id=f"{key.domain}.{key.name}.{state.uid}.{state.revision}",
            source=f"/alate/{key.domain}/{key.tenant}/{key.name}",
            type=kind,
            subject=f"{key.tenant}/{key.name}",
            time=state.since,
            extensions=_lineage(state, cause),
            data=self._encoder.encode(state),
        )
        headers, data = encode(event)
        subject = key.state(kind.rsplit(".", 1)[1])
        own = NOWHERE if isinstance(old.state, self._terminal) else old.trace
        with sending(subject, headers, self._meters, own):
            sequence = await self._bus.publish(
                Message(subject, data, headers),
                expect=Expect(key.history, old.sequence),
                cancels=key.timer if cancels_timer else None,
                msg_id=msg_id(event),
            )
        self._records.put(key, sequence, EntityRecord(state, sequence, extract(headers)))
        if cancels_timer:
            self._timers.pop(key, None)
        return state

    def _stamped(self, old: State | None, new: State) -> State:
        revision = old.revision + 1 if old is not None and old.uid == new.uid else 1
        # Never at the same time as the one before, nor earlier: by `since`, others tell a late echo from news.
        since = max(self._clock(), old.since + TICK) if old is not None else self._clock()
        return new.but(revision=revision, since=since)

    async def arm(self, key: Key, at: datetime) -> bool:
        """Set the entity's timer, unless it is set to that time already.

        Returns False if the time has passed by the bus's clock, which is ahead then: the timer would fire at once.
        """
        if at <= self._bus_time:
            return False
        if self._timers.get(key) != at:
            await self._bus.wake(Timer(key.timer, key.due, at))
            self._timers[key] = at
        return True

    def fired(self, key: Key) -> None:
        """Note that the entity's timer has fired."""
        self._timers.pop(key, None)

    def note_time(self, time: datetime) -> None:
        """Note the bus's clock from the time of a message."""
        self._bus_time = max(self._bus_time, time)

    async def forget(self, key: Key) -> None:
        """Purge an entity's whole history."""
        await self._bus.purge(Stream.EVENTS, key.history)
        self._records.drop(key)


def _lineage(state: State, cause: str) -> dict[str, str]:
    lineage = {"correlationid": state.correlation or state.uid}
    if cause:
        lineage["causationid"] = cause
    return lineage


SWEEP = 3600.0
"""Seconds between two checks for histories that can be purged."""


class Retention:
    """Purges entities of one store that ended some time ago."""

    def __init__(self, store: EntityStore, lifecycle: Lifecycle, clock: Clock, lasts: timedelta) -> None:
        self._store = store
        self._ends = lifecycle.terminal
        self._clock = clock
        self._lasts = lasts

    async def run(self) -> None:
        """Check periodically, until cancelled."""
        while True:
            for key, _ in self._store:
                if self._is_old(key):
                    await self._forget(key)
            await asyncio.sleep(SWEEP)

    async def _forget(self, key: Key) -> None:
        """Purge one history, unless another replica has continued it."""
        try:
            await self._store.reload(key)
            if self._is_old(key):
                await self._store.forget(key)
        except Unavailable as away:
            log.warning("bus.unavailable", entity=key.path, reason=str(away))

    def _is_old(self, key: Key) -> bool:
        state = self._store.entry(key).state
        if state is None or not isinstance(state, self._ends) or state.needed:
            return False
        return self._clock() - state.since > self._lasts
