"""The observed state of one cluster; totals are recomputed where something changed."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from datetime import datetime
from itertools import chain
from typing import Any, TypeVar
from zlib import crc32

from events.kube.port import Changed, Listed, Object, Resource
from events.kube.resources import NODES, PODS, STORAGECLASSES
from schemas.inventory import REFUSED, ClusterSeen, NodeSeen, StorageSeen, Trouble
from services.inventory.read.node import NodeRead, PodRead, node_seen, read_node, read_pod, unreadable_node
from services.inventory.read.object_types import CAPACITIES, CLAIMS, SLICES, VOLUMES
from services.inventory.read.resource_slices import ClaimHolder, DevicePools, claim_holder, with_holders
from services.inventory.read.storage import (
    CapacityRead,
    StorageClassRead,
    VolumeRead,
    read_capacity,
    read_class,
    read_volume,
    storage_seen,
)
from services.inventory.read.totals import (
    NodeTotals,
    PodCounts,
    PodNeeds,
    cluster_seen,
    demand_of,
    node_totals,
    reachable_pools,
    sum_totals,
)
from services.inventory.watch.object_store import ObjectChange, ObjectStore, checked_reader

ObjectNews = Listed | Changed
T = TypeVar("T")
SHARDS = 64
"""The number of parts in which nodes are counted: a change costs one part and the sum of all, not every node."""


class ClusterContents:
    """The objects of one cluster, which `blank` names, and the levels computed from them."""

    def __init__(self, blank: ClusterSeen) -> None:
        self._blank = blank
        self._nodes: ObjectStore[NodeRead] = ObjectStore(checked_reader(NODES, read_node), unreadable_node)
        self._pods: ObjectStore[PodRead] = ObjectStore(checked_reader(PODS, read_pod))
        self._slices: ObjectStore[Object] = ObjectStore(checked_reader(SLICES, lambda item: item))
        self._claims: ObjectStore[ClaimHolder | None] = ObjectStore(checked_reader(CLAIMS, claim_holder))
        self._classes: ObjectStore[StorageClassRead] = ObjectStore(checked_reader(STORAGECLASSES, read_class))
        self._volumes: ObjectStore[VolumeRead] = ObjectStore(checked_reader(VOLUMES, read_volume))
        self._rooms: ObjectStore[CapacityRead] = ObjectStore(checked_reader(CAPACITIES, read_capacity))
        self._on: dict[str, dict[str, PodRead]] = {}
        self._live: dict[str, PodRead] = {}
        self._finished: dict[str, PodRead] = {}
        self._stuck: dict[str, PodRead] = {}
        self._reach: dict[PodNeeds, tuple[str, ...]] = {}
        self._claimants: frozenset[str] = frozenset()
        self._pools = DevicePools()
        self._dirty: set[str] = set()
        self._seen: dict[str, NodeSeen] = {}
        self._shards: dict[int, set[str]] = {}
        self._parts: dict[int, NodeTotals] = {}
        self._storage: dict[str, StorageSeen] | None = None
        self._left = False
        self._stores: Mapping[Resource, tuple[ObjectStore[Any], Callable[[list[ObjectChange[Any]]], None]]] = {
            NODES: (self._nodes, self._nodes_changed),
            PODS: (self._pods, self._pods_changed),
            SLICES: (self._slices, self._slices_changed),
            CLAIMS: (self._claims, self._claims_changed),
            STORAGECLASSES: (self._classes, self._storage_changed),
            VOLUMES: (self._volumes, self._storage_changed),
            CAPACITIES: (self._rooms, self._storage_changed),
        }

    def take(self, resource: Resource, sight: ObjectNews) -> bool:
        """Store a list or a change; False if it changes nothing."""
        store, changed = self._stores[resource]
        odd = (store.nameless, *store.unread)
        if isinstance(sight, Listed):
            changes = store.replace(sight.items, sight.resource_version, sight.nameless)
            self._storage = None  # a first list is news, even if it is empty
            self._left |= resource == NODES
        else:
            changes = store.change(sight.object, gone=sight.gone)
        changed(changes)
        return bool(changes) or odd != (store.nameless, *store.unread)

    def expects(self, resource: Resource) -> bool:
        """Whether a kind without objects may get some at any moment: claims, where devices can be claimed."""
        return resource == CLAIMS and any(True for _ in self._slices)

    def unread(self) -> dict[Resource, tuple[str, ...]]:
        """By kind, the objects that cannot be read and why; objects without a name are only counted."""
        found = {}
        for resource, (store, _) in self._stores.items():
            named = [f"{resource.kind} {'/'.join(filter(None, one.path))}: {one.why}" for one in store.unread]
            nameless = [f"a {resource.kind} without a name"] * store.nameless
            if named or nameless:
                found[resource] = (*sorted(named), *nameless)
        return found

    @property
    def complete(self) -> bool:
        """Whether nodes and pods were listed: before that nothing is known."""
        return self._nodes.listed and self._pods.listed

    def changed(self) -> dict[str, NodeSeen]:
        """The level of each node that may differ since the last call."""
        found = {}
        for name in sorted(self._dirty):
            node = self._nodes.named(name)
            shard = crc32(name.encode()) % SHARDS
            self._parts.pop(shard, None)
            if node is None:
                self._seen.pop(name, None)
                self._shards.get(shard, set()).discard(name)
            else:
                found[name] = self._seen[name] = self._node(node)
                self._shards.setdefault(shard, set()).add(name)
        self._dirty.clear()
        return found

    @property
    def nodes(self) -> Mapping[str, NodeSeen]:
        """The level of each node that exists, as of the last `changed`."""
        return self._seen

    def own_labels(self, name: str) -> tuple[str, Mapping[str, str]]:
        """A node's UID, and the labels of ours that it has."""
        node = self._nodes.named(name)
        return (node.uid, node.own_labels) if node else ("", {})

    def cluster(self, before: ClusterSeen | None, now: datetime) -> ClusterSeen:
        """The level of the cluster, as of the last `changed`."""
        for shard, names in self._shards.items():
            if shard not in self._parts:
                self._parts[shard] = node_totals(self._seen[name] for name in names)
        return cluster_seen(self._blank, sum_totals(self._parts.values()), self._count(), before, now)

    def refused(self, why: str) -> ClusterSeen:
        """The level of a cluster whose API server denies us access."""
        return self._blank.but(degraded=(Trouble(reason=REFUSED, message=why),))

    def left(self) -> bool:
        """Whether a node may have gone since the last call."""
        left, self._left = self._left, False
        return left

    def storage(self) -> dict[str, StorageSeen]:
        """The level of each storage class, the same object while nothing differs; empty before all of it was listed."""
        if self._storage is None:
            self._storage = self._storage_levels() if self._classes.listed and self._volumes.listed else {}
        return self._storage

    def _storage_levels(self) -> dict[str, StorageSeen]:
        volumes = _grouped((each.storage_class, each) for _, each in self._volumes)
        rooms = _grouped((each.storage_class, each) for _, each in self._rooms)
        return {
            one.name: storage_seen(self._blank.uid, one, volumes.get(one.name, ()), rooms.get(one.name, ()))
            for _, one in sorted(self._classes, key=lambda kept: kept[1].name)
        }

    def _node(self, node: NodeRead) -> NodeSeen:
        places = self._pools.on(node.name)
        devices = with_holders(places, self._holders()) if places else {}
        pods = self._on.get(node.name, {}).values()
        return node_seen(self._blank.uid, node, pods, devices.values(), self._pools.troubles(node.name))

    def _holders(self) -> Iterator[ClaimHolder]:
        return (each for _, each in self._claims if each is not None)

    def _count(self) -> PodCounts:
        """Pods counted by UID: a pod that requests accelerators and also has a claim is one pod."""
        others = [uid for uid in self._claimants if uid not in self._live and uid not in self._finished]
        beside = [pod.finished for uid in others if (pod := self._pods.get(uid)) is not None]
        waiting = [pod for pod in self._on.get("", {}).values() if pod.accelerators and not pod.finished]
        self._reach = self._reached({pod.needs for pod in waiting})
        stuck = self._stuck.values()
        return PodCounts(
            live=len(self._live) + beside.count(False),
            finished=len(self._finished) + beside.count(True),
            demand=demand_of((-(-pod.accelerators // 1000), pod.model, self._reach[pod.needs]) for pod in stuck),
            waiting=len(waiting),
            unread=sum(len(odd) for resource, odd in self.unread().items() if resource in (PODS, CLAIMS)),
            awaited=frozenset(chain.from_iterable(self._reach.values())),
        )

    def _reached(self, asked: set[PodNeeds]) -> dict[PodNeeds, tuple[str, ...]]:
        """The pools that pods with these needs could use; a result stays valid until the template of a node changes."""
        kinds = (
            [node.template for _, node in self._nodes if not node.control_plane] if asked - self._reach.keys() else []
        )
        return {one: self._reach[one] if one in self._reach else reachable_pools(one, kinds) for one in asked}

    def _nodes_changed(self, changes: list[ObjectChange[NodeRead]]) -> None:
        if any(before is None or now is None or before.template != now.template for before, now in changes):
            self._reach = {}
        self._dirty.update(node.name for node in chain.from_iterable(changes) if node is not None)
        self._left |= any(now is None for _, now in changes)

    def _pods_changed(self, changes: list[ObjectChange[PodRead]]) -> None:
        for before, now in changes:
            if before is not None:
                self._on.get(before.node, {}).pop(before.uid, None)
                self._live.pop(before.uid, None)
                self._finished.pop(before.uid, None)
                self._stuck.pop(before.uid, None)
                self._dirty.add(before.node)
            if now is not None:
                self._on.setdefault(now.node, {})[now.uid] = now
                self._dirty.add(now.node)
                if now.accelerators:
                    (self._finished if now.finished else self._live)[now.uid] = now
                    if now.stuck and not now.finished:
                        self._stuck[now.uid] = now

    def _slices_changed(self, changes: list[ObjectChange[Object]]) -> None:
        if changes:
            before = self._pools.nodes
            self._pools.take(item for _, item in self._slices)
            self._dirty |= before | self._pools.nodes

    def _claims_changed(self, changes: list[ObjectChange[ClaimHolder | None]]) -> None:
        if any(each is not None for turn in changes for each in turn):
            self._dirty |= self._pools.nodes
            self._claimants = frozenset(uid for each in self._holders() for uid in each.pods)

    def _storage_changed(self, changes: list[ObjectChange[Any]]) -> None:
        if changes:
            self._storage = None


def _grouped(pairs: Iterable[tuple[str, T]]) -> dict[str, list[T]]:
    found: dict[str, list[T]] = {}
    for name, each in pairs:
        found.setdefault(name, []).append(each)
    return found
