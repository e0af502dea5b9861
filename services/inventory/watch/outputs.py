"""What the watch of a cluster writes: its levels, its gauges, and labels of ours on its nodes."""

import asyncio
from collections.abc import Callable, Iterable, Iterator, Mapping
from datetime import datetime
from itertools import islice
from typing import TypeVar

import structlog

from events.errors import Denied, Fault, NotFound
from events.kube.client import Kube
from events.kube.resources import NODES
from events.telemetry import Meters
from schemas.inventory import ClusterSeen, Level, NodeSeen, StorageSeen, Trouble
from schemas.subjects import Key
from services.inventory.read.labels import MANAGER
from services.inventory.watch.cluster_state import ClusterContents
from services.runtime.level_publisher import LevelPublisher
from services.runtime.read_model import Newest

L = TypeVar("L", bound=Level)
AT_ONCE = 64
"""How many levels are published at the same time."""
PARTS = (NodeSeen, StorageSeen)
"""The kinds of level of which a cluster has many, by name."""


class ClusterPublisher:
    """Publishes the levels of one cluster, and knows the last ones, whichever process published them."""

    def __init__(self, levels: LevelPublisher, key: Key, clock: Callable[[], datetime]) -> None:
        self.key = key
        self._levels = levels
        self._names = (key.tenant, key.name)
        self._source = f"kubernetes/{key.tenant}/{key.name}"
        self._clock = clock
        self._last: Newest[tuple[type[Level], str], Level] = Newest()
        self.reload()

    def reload(self) -> None:
        """Take the last levels again, as another replica may have published newer ones."""
        self._last = Newest()
        for kind in PARTS:
            for names, level in self._levels.named(kind, *self._names):
                self._keep(names[-1], level)
        whole = self._levels.last(ClusterSeen, *self._names)
        if whole is not None:
            self._keep("", whole)

    def _keep(self, name: str, level: Level) -> None:
        self._last.put((type(level), name), level.revision, level)

    def last(self, kind: type[L], name: str = "") -> L | None:
        """The last level."""
        found = self._last.get((kind, name))
        return found if isinstance(found, kind) else None

    def current(self, kind: type[L]) -> Iterator[tuple[str, L]]:
        """The last levels of one kind that are not gone, by name."""
        for (_, name), level in self._last:
            if isinstance(level, kind) and level.freshness != "gone":
                yield name, level

    async def publish(self, level: Level, name: str = "") -> bool:
        """Publish one level if it differs, times and revision aside."""
        last = self._last.get((type(level), name))
        level = level.but(source=self._source)
        if last is not None:
            since = last.fresh_since if last.freshness == level.freshness else None
            level = level.but(observed_at=last.observed_at, revision=last.revision, fresh_since=since)
            if level == last:
                return False
        now = self._clock()
        level = level.but(observed_at=now, revision=level.revision + 1, fresh_since=level.fresh_since or now)
        await self._levels.publish(level, *self._names, *((name,) if name else ()))
        self._keep(name, level)
        return True

    async def publish_all(self, levels: Iterable[tuple[str, Level]]) -> None:
        """Publish many, some at a time."""
        waiting = iter(levels)
        while batch := tuple(islice(waiting, AT_ONCE)):
            if len(batch) == 1:  # the usual change: no task to make
                await self.publish(batch[0][1], batch[0][0])
                continue
            await asyncio.gather(*(self.publish(level, name) for name, level in batch))


PACE = 1.0
"""Seconds between two rounds, so that another writer of the same labels cannot make us write without end."""
REFUSED = 300.0
"""Seconds until a refused write is repeated."""
GONE = ("Conflict", "Invalid")
"""Reasons of an API server that refuses a write to the uid of a node that is gone."""

log = structlog.get_logger()


class Labeller:
    """Labels the nodes of one cluster: `want` says which labels they shall have, `run` writes them."""

    def __init__(self, key: Key, on_trouble: Callable[[], None]) -> None:
        """`on_trouble` is called when `trouble` changes."""
        self.trouble: Trouble | None = None
        """Why nodes cannot be labelled."""
        self._key = key
        self._on_trouble = on_trouble
        self._wanted: dict[str, tuple[str, Mapping[str, str]]] = {}
        self._news = asyncio.Event()

    def want(self, node: str, uid: str, labels: Mapping[str, str], present: Mapping[str, str]) -> None:
        """Have the node labelled with these and no other labels of ours; `present` are those that it has."""
        if labels == present or not uid:  # without a uid, a write could create a node again that has just gone
            self._wanted.pop(node, None)
        elif self._wanted.get(node) != (uid, labels):
            self._wanted[node] = (uid, labels)
            self._news.set()

    async def run(self, kube: Kube) -> None:
        """Write the wanted labels, for ever; a failed write is repeated as long as it is wanted."""
        while True:
            await self._news.wait()
            self._news.clear()
            failed = [
                fault
                for node in tuple(self._wanted)
                if node in self._wanted and (fault := await self._write(kube, node)) is not None
            ]
            refused = next((fault for fault in failed if isinstance(fault, Denied)), None)
            self._report(refused)
            if failed:
                self._news.set()
            await asyncio.sleep(REFUSED if refused else PACE)

    async def _write(self, kube: Kube, node: str) -> Fault | None:
        """Write one node's labels; returns the fault for which the write has to be repeated."""
        wanted = uid, labels = self._wanted[node]
        try:
            # With the uid: a node that went meanwhile is not created again by its labels.
            await kube.apply(NODES, {"metadata": {"name": node, "uid": uid, "labels": dict(labels)}}, manager=MANAGER)
        except NotFound:
            pass
        except Denied as denied:
            if denied.reason not in GONE:
                return denied
        except Fault as fault:
            return fault
        else:
            log.info("node.labelled", entity=self._key.path, node=node, labels=dict(labels))
        if self._wanted.get(node) == wanted:
            del self._wanted[node]
        return None

    def _report(self, refused: Denied | None) -> None:
        text = f"nodes cannot be labelled: {refused.message}" if refused else ""
        trouble = Trouble(reason="Unlabelled", message=text) if refused else None
        if trouble != self.trouble:
            self.trouble = trouble
            self._on_trouble()


ALLOCATABLE = "alate.inventory.allocatable"
"""Accelerators that pods can be given, by cluster, model and freshness."""
ALLOCATED = "alate.inventory.allocated"
"""Those of them that pods have."""
AVAILABLE = "alate.inventory.available"
"""Those of them that a pod could have now."""
AMOUNTS = {ALLOCATABLE: "allocatable", ALLOCATED: "allocated", AVAILABLE: "available"}
DEVICES = "alate.inventory.devices"
"""The number of devices, by health."""
InventoryLabels = tuple[tuple[str, str], ...]


def gauges(cluster: str, whole: ClusterSeen, nodes: Iterable[NodeSeen]) -> Mapping[str, dict[InventoryLabels, float]]:
    """The series of one cluster (``tenant/name``), by gauge; in whole accelerators."""
    fresh = "known" if whole.known else "stale"
    found: dict[str, dict[InventoryLabels, float]] = {gauge: {} for gauge in AMOUNTS}
    for model, amounts in whole.models.items():
        labels = (("cluster", cluster), ("model", model), ("freshness", fresh))
        for gauge, amount in AMOUNTS.items():
            found[gauge][labels] = getattr(amounts, amount) / 1000
    devices: dict[InventoryLabels, float] = {}
    for node in nodes:
        for device in node.devices:
            each: InventoryLabels = (
                ("cluster", cluster),
                ("model", device.model),
                ("health", device.health),
                ("freshness", fresh),
            )
            devices[each] = devices.get(each, 0) + 1
    return found | {DEVICES: devices}


def clear_gauges(meters: Meters, key: Key) -> None:
    """Drop the series of a cluster that this replica watches no longer."""
    for name in (*AMOUNTS, DEVICES):
        meters.gauge(name, key.path, {})


MEASURE = 1.0
"""Seconds until a change shows in the gauges."""


class GaugeUpdates:
    """Computes the gauges of one cluster from the levels that were published last."""

    def __init__(self, contents: ClusterContents, publisher: ClusterPublisher, meters: Meters) -> None:
        self._key = publisher.key
        self._contents = contents
        self._publisher = publisher
        self._meters = meters
        self._due: asyncio.TimerHandle | None = None

    def schedule(self) -> None:
        """Have the gauges computed in a moment."""
        if self._due is None:
            self._due = asyncio.get_running_loop().call_later(MEASURE, self._count)

    def close(self) -> None:
        """Cancel the timer."""
        if self._due is not None:
            self._due.cancel()

    def _count(self) -> None:
        self._due = None
        last = self._publisher.last(ClusterSeen)
        if last is not None:
            for name, series in gauges(self._key.path, last, self._contents.nodes.values()).items():
                self._meters.gauge(name, self._key.path, series)
