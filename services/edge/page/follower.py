"""All streams are read once, for all open pages, and only while a page is open."""

import asyncio
from collections.abc import Callable, Iterator
from contextlib import aclosing, suppress
from datetime import datetime, timedelta

import msgspec

from events.bus import Bus, CaughtUp, Stored
from events.telemetry import Meters
from schemas import addon, cluster, teardown
from schemas.cluster import ClusterState
from schemas.entity import State
from schemas.inventory import ClusterSeen
from schemas.registry import declared
from schemas.subjects import Key, names_of
from services.edge.page.rates import Rates
from services.edge.page.replay_buffer import BufferedMessage, ReplayBuffer
from services.edge.page.rows import FleetRow, RowParts, row
from services.edge.page.summary import summarize
from services.eventlog.filters import STREAMS, is_event
from services.runtime.context import Context
from services.runtime.level_publisher import retry_forever
from services.runtime.read_model import entities, levels

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


ClusterId = tuple[str, str]
"""Tenant and cluster."""
REMEMBERED = 10_000
"""Forgotten clusters that pages can still be told of."""


class Changes(msgspec.Struct, frozen=True, omit_defaults=True):
    """What a page has to change in its table."""

    rows: tuple[FleetRow, ...] = ()
    gone: tuple[ClusterId, ...] = ()
    whole: bool = False
    """Whether these are all rows: others that the page has are dropped."""


class Fleet:
    """Keeps the rows from what the other services publish."""

    def __init__(self, bus: Bus, meters: Meters, changed: Callable[[], object] = lambda: None) -> None:
        """`changed` is called at every change of a row."""
        self.ready = asyncio.Event()
        """Set once everything stored at the start is read."""
        self.version = 1
        """One more at every change."""
        self._changed = changed
        self._clusters = entities(bus, cluster.LIFECYCLE, meters)
        self._teardowns = entities(bus, teardown.LIFECYCLE, meters)
        self._addons = entities(bus, addon.LIFECYCLE, meters)
        self._seen = levels(bus, ClusterSeen, meters)
        self._created: dict[ClusterId, tuple[str, datetime]] = {}
        """The incarnation of each cluster, and the time of its first known state."""
        self._addons_of: dict[ClusterId, dict[Key, None]] = {}
        self._versions: dict[ClusterId, int] = {}
        """When each row changed last, in that order."""
        self._forgotten: dict[ClusterId, int] = {}
        """The same of clusters that the stream forgot lately."""
        self._rows: dict[ClusterId, FleetRow | None] = {}
        """Rows that were computed since they changed last."""
        self._clusters.listen(self._take, self._forget)
        self._teardowns.listen(lambda key, _: self._touch(_name(key)), lambda key: self._touch(_name(key)))
        self._addons.listen(self._take_addon, self._drop_addon)
        self._seen.listen(lambda at, _: self._touch(_seen_name(at)), lambda at: self._touch(_seen_name(at)))

    async def run(self) -> None:
        """Follow the streams until cancelled."""
        views = (self._seen, self._addons, self._teardowns, self._clusters)
        async with asyncio.TaskGroup() as group:
            for view in views:
                group.create_task(view.run())
            for view in views:
                await view.ready.wait()
            self.ready.set()
            self._changed()

    def since(self, version: int) -> Changes:
        """What changed after a version; 0: everything."""
        if not version:
            return Changes(tuple(each for name in self._versions if (each := self.row(*name))), whole=True)
        names = (*_after(version, self._versions), *_after(version, self._forgotten))
        rows = {name: self.row(*name) for name in names}
        return Changes(
            tuple(each for each in rows.values() if each),
            tuple(name for name, each in rows.items() if each is None),
        )

    def row(self, tenant: str, name: str) -> FleetRow | None:
        """A cluster's row; None if there is no such cluster, or it is released."""
        key = (tenant, name)
        if key not in self._rows:
            self._rows[key] = self._compute(key)
        return self._rows[key]

    def _compute(self, name: ClusterId) -> FleetRow | None:
        state = self._clusters.get(Key("cluster", *name))
        if not isinstance(state, ClusterState):
            return None
        own = [self._addons.get(key) for key in self._addons_of.get(name, ())]
        ends = self._teardowns.get(Key("teardown", *name))
        seen = self._seen.get(declared(ClusterSeen).at(*name))
        return row(
            RowParts(
                state,
                self._created[name][1],
                ends if isinstance(ends, teardown.TeardownState) and ends.uid == state.uid else None,
                tuple(each for each in own if isinstance(each, addon.AddonState) and each.uid == state.uid),
                seen if seen and seen.uid == state.uid else None,
            )
        )

    def _take(self, key: Key, state: State) -> None:
        name = _name(key)
        if self._created.get(name, ("",))[0] != state.uid:
            self._created[name] = (state.uid, state.since)
        self._touch(name)

    def _take_addon(self, key: Key, _: State) -> None:
        name = _name(key)
        self._addons_of.setdefault(name, {})[key] = None
        self._touch(name)

    def _drop_addon(self, key: Key) -> None:
        name = _name(key)
        self._addons_of.get(name, {}).pop(key, None)
        self._touch(name)

    def _touch(self, name: ClusterId) -> None:
        """Note that a row changed; what belongs to a cluster that is not known yet is read once that is."""
        if name not in self._created:
            return
        self.version += 1
        self._versions.pop(name, None)
        self._forgotten.pop(name, None)
        self._versions[name] = self.version
        self._rows.pop(name, None)
        self._changed()

    def _forget(self, key: Key) -> None:
        name = _name(key)
        self._touch(name)
        for table in (self._versions, self._created, self._rows):
            table.pop(name, None)
        self._forgotten[name] = self.version
        if len(self._forgotten) > REMEMBERED:
            del self._forgotten[next(iter(self._forgotten))]


def _after(version: int, versions: dict[ClusterId, int]) -> Iterator[ClusterId]:
    for name, changed in reversed(versions.items()):
        if changed <= version:
            return
        yield name


def _name(key: Key) -> ClusterId:
    """The cluster that an entity belongs to."""
    return key.tenant, key.name.partition(".")[0]


def _seen_name(subject: str) -> ClusterId:
    _, _, tenant, name = names_of(subject)
    return tenant, name
