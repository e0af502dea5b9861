"""The fleet table: a row for every cluster that is not released, and which rows changed after a version."""

import asyncio
from collections.abc import Callable, Iterator
from datetime import datetime

import msgspec

from events.bus import Bus
from events.telemetry import Meters
from schemas import addon, cluster, teardown
from schemas.cluster import ClusterState
from schemas.entity import State
from schemas.inventory import ClusterSeen
from schemas.registry import declared
from schemas.subjects import Key, names_of
from services.edge.page.rows import FleetRow, RowParts, row
from services.runtime.read_model import entities, levels

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
