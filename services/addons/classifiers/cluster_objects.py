"""Watches the objects of clusters that classifiers speak of, one by one and by name."""

import asyncio
from collections.abc import Callable, Iterable, Mapping
from contextlib import aclosing
from dataclasses import dataclass, field
from typing import NamedTuple

import structlog

from events.backoff import Backoff
from events.errors import Denied, Fault, NotFound
from events.kube.client import Changed, Kube, Listed, Lost, Object, Resource, Sight
from events.kube.discovery import find
from services.addons.observe.results import bounded
from services.addons.observe.watched import WatchProblem, unreachable
from services.addons.plan.target import ClusterName, KnownCluster
from services.clients.workload_clusters import WorkloadClusters

MOST = 2000
"""Watches of the process."""
STARTING = 16
"""Watches that list at the same time."""
LONGEST = 60.0
"""Seconds, at most, until a cluster is tried again, and until a kind that it did not serve is found."""
CROWDED = WatchProblem("TooManyWatches", f"classifiers have more than {MOST} objects in all clusters: name fewer")

log = structlog.get_logger()


class NamedObject(NamedTuple):
    """An object of a cluster."""

    api_version: str
    kind: str
    namespace: str
    """Empty: the first that has one of the name."""
    name: str


@dataclass
class _Followed:
    """One object of one incarnation of a cluster."""

    uid: str
    kubeconfig: str
    there: dict[str, Object] | None = None
    """By namespace, as it was seen last; None: it was not seen yet."""
    problem: WatchProblem | None = None
    task: asyncio.Task[None] | None = field(default=None, repr=False)


class ClusterObjects:
    """Every object that is followed; `changed` is called with a cluster of whose objects something new is known."""

    def __init__(
        self, workloads: WorkloadClusters, jitter: Callable[[], float], changed: Callable[[ClusterName], None]
    ) -> None:
        self._workloads = workloads
        self._jitter = jitter
        self._changed = changed
        self._of: dict[ClusterName, dict[NamedObject, _Followed]] = {}
        self._number = 0
        self._starting = asyncio.Semaphore(STARTING)

    def follow(self, cluster: ClusterName, own: KnownCluster | None, wanted: frozenset[NamedObject]) -> None:
        """From now on these of its objects; none, while it cannot be reached."""
        if own is None or own.ending or not own.kubeconfig:
            wanted = frozenset()
        running = self._of.setdefault(cluster, {})
        for each, followed in tuple(running.items()):
            is_same = own is not None and (followed.uid, followed.kubeconfig) == (own.uid, own.kubeconfig)
            has_room = followed.task is None and self._number < MOST
            if each not in wanted or not is_same or has_room:
                self._end(running.pop(each))
        for each in wanted - running.keys():
            assert own is not None  # noqa: S101 - nothing is wanted otherwise
            running[each] = self._begin(cluster, each, _Followed(own.uid, own.kubeconfig))
        if not running:
            del self._of[cluster]

    def find(self, cluster: ClusterName, wanted: Mapping[str, NamedObject]) -> dict[str, Object] | None:
        """Those of them that are there, by their variables; None: of one that is not known."""
        found: dict[str, Object] = {}
        for variable, each in wanted.items():
            followed = self._of.get(cluster, {}).get(each)
            if followed is None or followed.there is None:
                return None
            if followed.there:
                found[variable] = followed.there[min(followed.there)]
        return found

    def problem(self, cluster: ClusterName, wanted: Iterable[NamedObject]) -> WatchProblem | None:
        """Why one of them cannot be watched now."""
        known = (self._of.get(cluster, {}).get(each) for each in wanted)
        return next((each.problem for each in known if each is not None and each.problem is not None), None)

    def close(self) -> None:
        """End every watch."""
        every, self._of = self._of, {}
        for running in every.values():
            for followed in running.values():
                self._end(followed)

    def _begin(self, cluster: ClusterName, wanted: NamedObject, followed: _Followed) -> _Followed:
        if self._number >= MOST:
            followed.problem = CROWDED
            self._changed(cluster)
        else:
            self._number += 1
            followed.task = asyncio.create_task(self._run(cluster, wanted, followed))
        return followed

    def _end(self, followed: _Followed) -> None:
        if followed.task is not None:
            followed.task.cancel()
            self._number -= 1
            if self._number == MOST - 1:
                self._give_room()

    def _give_room(self) -> None:
        """Those that were beyond the limit are tried again."""
        for cluster, running in self._of.items():
            if any(each.task is None for each in running.values()):
                self._changed(cluster)

    async def _run(self, cluster: ClusterName, wanted: NamedObject, followed: _Followed) -> None:
        """Watch until cancelled."""
        backoff = Backoff(self._jitter, 1.0, LONGEST)
        while True:
            try:
                kube = await self._workloads.open(cluster[0], followed.kubeconfig)
                problem = await self._watch(cluster, wanted, followed, kube, backoff)
            except Fault as why:
                problem = unreachable(str(why), refused=isinstance(why, Denied))
            if problem is not None and problem != followed.problem and backoff.failures:  # not of one short break
                followed.problem = problem
                self._changed(cluster)
                log.warning("classifier.watch_failed", tenant=cluster[0], cluster=cluster[1], reason=problem.why)
            await asyncio.sleep(backoff.next_delay())

    async def _watch(
        self, cluster: ClusterName, wanted: NamedObject, followed: _Followed, kube: Kube, backoff: Backoff
    ) -> WatchProblem | None:
        """Watch until it is interrupted, and give why; None: the cluster serves no such kind."""
        async with self._starting:
            resource = await _resource(kube, wanted)
        if resource is None:
            self._note(cluster, followed, {})
            return None
        namespace = (wanted.namespace or None) if resource.namespaced else None
        async with aclosing(kube.watch(resource, namespace, fields=f"metadata.name={wanted.name}")) as sights:
            async with self._starting:
                sight = await anext(sights)
            while not isinstance(sight, Lost):
                backoff.failures = 0
                self._note(cluster, followed, _there(followed.there or {}, sight))
                sight = await anext(sights)
        return unreachable(sight.reason, refused=sight.refused)

    def _note(self, cluster: ClusterName, followed: _Followed, there: dict[str, Object]) -> None:
        if followed.there != there or followed.problem is not None:
            followed.there, followed.problem = there, None
            self._changed(cluster)


async def _resource(kube: Kube, wanted: NamedObject) -> Resource | None:
    try:
        return await find(kube, wanted.api_version, wanted.kind)
    except NotFound:
        return None


def _there(before: dict[str, Object], sight: Sight) -> dict[str, Object]:
    match sight:
        case Listed(items):
            return {_namespace(item): bounded(item).item for item in items}
        case Changed(item, gone):
            rest = {namespace: each for namespace, each in before.items() if namespace != _namespace(item)}
            return rest if gone else rest | {_namespace(item): bounded(item).item}
    return before


def _namespace(item: Object) -> str:
    return str(item["metadata"].get("namespace", ""))
