"""Every cluster that is not gone, in one row each: kept from the states, as pages begin from it."""

import asyncio
from contextlib import aclosing

import msgspec

from events.bus import Anew, Bus, CaughtUp, Stored
from events.tombstone import is_tombstone
from schemas.registry import Stream
from schemas.subjects import names_of
from services.edge.page.brief import Change, change
from services.eventlog.filters import about
from services.eventlog.record import Said

SEEN = "inventory.cluster.*.*"
STATES = ("cluster.*.*.*", "teardown.*.*.*", "addon.*.*.*")
Name = tuple[str, str]
"""Tenant and cluster."""
ENDS = frozenset({"released"})
"""States after which there is no cluster."""


class Snapshot(msgspec.Struct, frozen=True):
    """The fleet at a moment."""

    sequence: int
    """Of the last message it knows: what was said up to it changes nothing any more."""
    clusters: tuple[Change, ...]


class Fleet:
    """The rows."""

    def __init__(self, bus: Bus) -> None:
        self.ready = asyncio.Event()
        """Set once everything that was kept at the start is known."""
        self._bus = bus
        self._rows: dict[Name, Change] = {}
        self._silent: set[Name] = set()
        """Clusters whose API is not heard, also of those that are not known yet."""
        self._sequence = 0
        self._before: Snapshot | None = None
        """What all of it was, while it is listed anew."""

    async def run(self) -> None:
        """Follow what is seen of the clusters and their states until cancelled."""
        seen = asyncio.Event()
        async with asyncio.TaskGroup() as group:
            group.create_task(self._look(seen))
            await seen.wait()
            group.create_task(self._follow())

    async def _follow(self) -> None:
        async with aclosing(self._bus.feed(Stream.EVENTS, *STATES)) as feed:
            async for fed in feed:
                match fed:
                    case Anew():
                        self._before = self._before or self.snapshot()
                        self._rows, self._sequence = {}, 0
                    case CaughtUp():
                        self._before = None
                        self.ready.set()
                    case Stored():
                        self.take(fed)

    async def _look(self, ready: asyncio.Event) -> None:
        unlisted: set[Name] = set()  # the silent ones that a listing has not come to yet
        async with aclosing(self._bus.feed(Stream.LEVELS, SEEN)) as feed:
            async for fed in feed:
                match fed:
                    case Anew():
                        unlisted = set(self._silent)
                    case CaughtUp():
                        while unlisted:
                            self._hear(Change(*unlisted.pop(), heard=True))
                        ready.set()
                    case Stored():
                        unlisted.discard(self.look(fed))

    def look(self, stored: Stored) -> Name:
        """Take in whether a cluster's API is heard, and give its name; heard again it changes nothing."""
        domain, event, tenant, name = names_of(stored.subject)
        gone = Change(tenant, name, heard=True) if is_tombstone(stored) else None
        told = gone or change(domain, event, tenant, name, stored.data)
        if told is not None:
            self._hear(told)
        return tenant, name

    def _hear(self, told: Change) -> None:
        """What nobody listens to any more is not silent either."""
        (self._silent.discard if told.heard else self._silent.add)((told.tenant, told.name))
        self._keep(told)

    def take(self, stored: Stored) -> None:
        """Take one state in; heard again it changes nothing."""
        if stored.sequence <= self._sequence:
            return
        self._sequence = stored.sequence
        domain, event = stored.subject.split(".")[:2]
        told = change(domain, event, *about(Said(Stream.EVENTS, stored)), stored.data)
        if told is not None:
            self._keep(told)

    def _keep(self, told: Change) -> None:
        key = (told.tenant, told.name)
        if told.state in ENDS:
            self._rows.pop(key, None)
        elif told.state or key in self._rows:
            row = merged(self._rows.get(key), told)
            self._rows[key] = msgspec.structs.replace(row, heard=False if key in self._silent else None)

    def snapshot(self) -> Snapshot:
        """All of it now."""
        return self._before or Snapshot(self._sequence, tuple(self._rows.values()))


def merged(before: Change | None, told: Change) -> Change:
    """A cluster's row after a change: its own states say all but how it ends and what its add-ons lack."""
    if before is None:
        return told
    if told.heard is not None:
        return before
    if told.addons:
        lacks = {addon: wrong for addon, wrong in (before.addons | told.addons).items() if wrong}
        return msgspec.structs.replace(before, addons=lacks)
    ends = told if told.ends else before
    return msgspec.structs.replace(
        told if told.state else before,
        ends=ends.ends, blocked=ends.blocked, idle_since=ends.idle_since, addons=before.addons,
    )  # fmt: skip
