"""Watches the metadata of what add-ons have on their clusters, and says which add-on's object was changed."""

import asyncio
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import aclosing, contextmanager
from dataclasses import dataclass, field
from typing import NamedTuple

import structlog

from events.kube.client import Changed, Kube, Listed, Lost, Object, Resource, Sight
from events.kube.resources import CRDS
from services.addons.owned_objects import LABEL

ClusterKey = tuple[str, str]
"""Tenant, cluster."""
OnChange = Callable[[str, str, str], None]
"""Takes the tenant, the cluster and the full name of the add-on."""
ObjectPlace = tuple[str, str]
"""Namespace, empty if there is none, and name."""
_Key = tuple[Resource, str]
"""A kind, and the selector of what is watched of it."""

OURS = LABEL
"""Selects what alate itself wrote."""
HELMS = "app.kubernetes.io/managed-by=Helm"
"""Selects what Helm wrote: its objects carry no label of an add-on, and are known by kind, namespace and name."""
ALL = ""
"""Selects everything: what a chart has in its folder ``crds`` has no label at all."""
UNWATCHED = frozenset({"Event", "Lease", "Endpoints", "EndpointSlice"})
"""Kinds that controllers write all the time."""
QUIET = 1.0
"""Seconds between two calls for one add-on: a rollout changes an object ten times."""
STARTING = 8
"""Watches that list at the same time; a restart starts thousands, and what is applied meanwhile goes first."""
MOST = 8000
"""Watches of one process: 8 kinds of 1,000 clusters, at 55 KiB each (measured over TLS, the most of it in OpenSSL).
Add-ons whose kinds are beyond it are looked at by their own checks alone."""
UNKNOWN = ""
"""The version of an object that was not seen yet."""

log = structlog.get_logger()


class Watched(NamedTuple):
    """One object of an add-on, as it was written."""

    resource: Resource
    namespace: str
    name: str
    version: str = UNKNOWN
    """Its resourceVersion after our write; unknown, where the first look counts as it."""


def watched(resource: Resource, written: Object) -> Watched:
    """An object as the API server gave it after a write."""
    meta = written["metadata"]
    return Watched(resource, meta.get("namespace", ""), meta["name"], str(meta.get("resourceVersion", UNKNOWN)))


@dataclass
class _Known:
    """The last version of an object, and whose it is."""

    version: str
    """Of its deletion, if it is not there."""
    addons: tuple[str, ...] = ()
    there: bool = True

    def wrote(self, version: str) -> bool:
        """We wrote it; gives whether somebody else did so afterwards."""
        if version in (UNKNOWN, self.version):
            return False
        if self.version != UNKNOWN and _newer(self.version, version):
            return True
        self.version, self.there = version, True
        return False


@dataclass
class _Kind:
    """One kind of one cluster: what is known of its objects, and the task that watches them."""

    objects: dict[ObjectPlace, _Known] = field(default_factory=dict)
    task: asyncio.Task[None] | None = None

    def put(self, addon: str, versions: Mapping[ObjectPlace, str]) -> bool:
        """These are the objects that the add-on has of this kind; gives whether any was changed after our write."""
        changed = False
        for place, version in versions.items():
            known = self.objects.setdefault(place, _Known(version))
            changed |= known.wrote(version)
            if addon not in known.addons:
                known.addons = (*known.addons, addon)
        for place, known in tuple(self.objects.items()):
            if place not in versions and addon in known.addons:
                known.addons = tuple(other for other in known.addons if other != addon)
                if not known.addons:
                    del self.objects[place]
        return changed


@dataclass
class _Cluster:
    """The way into a cluster, and the kinds that are watched there."""

    kube: Kube
    kinds: dict[_Key, _Kind] = field(default_factory=dict)


class ObjectWatches:
    """One watch per cluster and kind, however many add-ons have objects of it; `close` it at the end."""

    def __init__(self, changed: OnChange = lambda *_: None, most: int = MOST) -> None:
        """`changed` is called for an object that is not as we wrote it, at most once per `QUIET` for an add-on."""
        self._changed = changed
        self._most = most
        self._clusters: dict[ClusterKey, _Cluster] = {}
        self._told: dict[tuple[ClusterKey, str], float] = {}
        self._late: dict[tuple[ClusterKey, str], asyncio.TimerHandle] = {}
        self._writing: set[tuple[ClusterKey, str]] = set()
        self._starting = asyncio.Semaphore(STARTING)
        self._running: set[asyncio.Task[None]] = set()

    def listen(self, changed: OnChange) -> None:
        """From now on call this one."""
        self._changed = changed

    @property
    def number(self) -> int:
        """How many watches there are."""
        return len(self._running)

    def follow(
        self, cluster: ClusterKey, kube: Kube, addon: str, objects: Iterable[Watched], *, helm: bool = False
    ) -> None:
        """From now on these are the objects of the add-on; call it after every apply, and after a restart.

        With another `kube` than before the cluster's watches begin again there.
        """
        known = self._clusters.get(cluster)
        if known is None:
            known = self._clusters[cluster] = _Cluster(kube)
        elif known.kube is not kube:
            known.kube = kube
            for kind in known.kinds.values():
                self._end(kind)
        new: dict[_Key, dict[ObjectPlace, str]] = {}
        for each in objects:
            if each.resource.kind not in UNWATCHED:
                labels = (ALL if each.resource == CRDS else HELMS) if helm else OURS
                kept = new.setdefault((each.resource, labels), {})
                kept[each.namespace if each.resource.namespaced else "", each.name] = each.version
        changed = [known.kinds.setdefault(key, _Kind()).put(addon, new.get(key, {})) for key in {*new, *known.kinds}]
        self._settle(cluster, known)
        if any(changed):
            self._writing.discard((cluster, addon))
            self._tell(cluster, addon)

    def follows(self, cluster: ClusterKey, addon: str) -> bool:
        """Whether any object of the add-on is followed."""
        known = self._clusters.get(cluster)
        kinds = known.kinds.values() if known else ()
        return any(addon in one.addons for kind in kinds for one in kind.objects.values())

    @contextmanager
    def writing(self, cluster: ClusterKey, addon: str) -> Iterator[None]:
        """Tell nothing of an add-on while its objects are written; `follow` then finds what is newer."""
        key = (cluster, addon)
        self._writing.add(key)
        try:
            yield
        finally:
            self._writing.discard(key)

    def drop(self, cluster: ClusterKey, addon: str) -> None:
        """The add-on has nothing on the cluster any more."""
        self._told.pop((cluster, addon), None)
        if late := self._late.pop((cluster, addon), None):
            late.cancel()
        if known := self._clusters.get(cluster):
            for kind in known.kinds.values():
                kind.put(addon, {})
            self._settle(cluster, known)

    def gone(self, cluster: ClusterKey) -> None:
        """The cluster is gone: its watches end."""
        known = self._clusters.pop(cluster, None)
        for kind in known.kinds.values() if known else ():
            self._end(kind)
        for key in [each for each in self._late if each[0] == cluster]:
            self._late.pop(key).cancel()
        for key in [each for each in self._told if each[0] == cluster]:
            del self._told[key]

    async def close(self) -> None:
        """End every watch."""
        for cluster in tuple(self._clusters):
            self.gone(cluster)
        await asyncio.gather(*self._running, return_exceptions=True)

    def _settle(self, cluster: ClusterKey, known: _Cluster) -> None:
        """Start the watches that are wanted, and end those that are not."""
        for key, kind in tuple(known.kinds.items()):
            if not kind.objects:
                del known.kinds[key]
                self._end(kind)
            elif kind.task is None and len(self._running) < self._most:
                kind.task = asyncio.create_task(self._watch(cluster, known.kube, key, kind))
                self._running.add(kind.task)
                kind.task.add_done_callback(self._running.discard)
        if not known.kinds:
            self._clusters.pop(cluster, None)

    def _end(self, kind: _Kind) -> None:
        if kind.task is not None:
            kind.task.cancel()
            kind.task = None

    async def _watch(self, cluster: ClusterKey, kube: Kube, key: _Key, kind: _Kind) -> None:
        """Until it is cancelled, or the API server refuses: then the add-ons' own checks have to do."""
        resource, labels = key
        async with aclosing(kube.watch(resource, labels=labels, metadata=True)) as sights:
            async with self._starting:
                sight = await anext(sights)
            while not (isinstance(sight, Lost) and sight.refused):
                self._see(cluster, kind, sight)
                sight = await anext(sights)
        kind.task = None
        tenant, name = cluster
        log.warning("addons.watch_refused", tenant=tenant, cluster=name, kind=resource.kind, reason=sight.reason)

    def _see(self, cluster: ClusterKey, kind: _Kind, sight: Sight) -> None:
        if isinstance(sight, Listed):
            versions = {_place(each): _version(each) for each in sight.items}
            for place, known in kind.objects.items():
                self._note(cluster, known, versions.get(place, sight.resource_version), there=place in versions)
        elif isinstance(sight, Changed) and (one := kind.objects.get(_place(sight.object))):
            self._note(cluster, one, _version(sight.object), there=not sight.gone)

    def _note(self, cluster: ClusterKey, known: _Known, version: str, *, there: bool) -> None:
        is_first = there and known.version == UNKNOWN
        if not _newer(version, known.version) or not (there or known.there):
            return
        known.version, known.there = version, there
        for addon in () if is_first else known.addons:
            self._tell(cluster, addon)

    def _tell(self, cluster: ClusterKey, addon: str) -> None:
        """At once, or as soon as it may be told again."""
        key, loop = (cluster, addon), asyncio.get_running_loop()
        if key in self._late or key in self._writing:
            return
        wait = self._told.get(key, -QUIET) + QUIET - loop.time()
        if wait > 0:
            self._late[key] = loop.call_later(wait, self._tell_late, key)
        else:
            self._told[key] = loop.time()
            self._changed(*cluster, addon)

    def _tell_late(self, key: tuple[ClusterKey, str]) -> None:
        del self._late[key]
        self._tell(*key)


def _place(seen: Object) -> ObjectPlace:
    meta = seen["metadata"]
    return meta.get("namespace", ""), meta["name"]


def _version(seen: Object) -> str:
    return str(seen["metadata"].get("resourceVersion", UNKNOWN))


def _newer(version: str, than: str) -> bool:
    """Whether a version came after another; what a watch says late is older than what an apply answered."""
    if version.isdecimal() and than.isdecimal():
        return int(version) > int(than)
    return version != than
