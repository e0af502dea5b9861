"""Watches the objects of one kind in one cluster; a cluster that fails delays no other."""

import asyncio
from collections.abc import Callable
from contextlib import aclosing

import structlog

from events.backoff import Backoff
from events.errors import Denied, Fault, NotFound
from events.kube.client import Changed, Kube, Listed, Lost, Object, Resource, Sight
from events.kube.discovery import find
from services.addons.observe.judge import ObjectJudge
from services.addons.observe.results import version_of
from services.addons.observe.watched import ObjectWatch, SeenObject, WatchProblem, label_selector, unreachable
from services.clients.workload_clusters import WorkloadClusters

MOST_OBJECTS = 5000
"""Objects of one watch."""
STARTING = 16
"""Watches that list at the same time."""
LONGEST = 60.0
"""Seconds, at most, until a cluster is tried again."""
OnProblem = Callable[[ObjectWatch, WatchProblem | None], None]

log = structlog.get_logger()


class ObjectWatcher:
    """Runs watches, each in a task of its own."""

    def __init__(
        self, workloads: WorkloadClusters, judge: ObjectJudge, jitter: Callable[[], float], changed: OnProblem
    ) -> None:
        """`changed` is called with the problem of a watch when it has become another; None: it works."""
        self._workloads = workloads
        self._judge = judge
        self._jitter = jitter
        self._changed = changed
        self._starting = asyncio.Semaphore(STARTING)

    async def run(self, watch: ObjectWatch) -> None:
        """Watch until cancelled, or until it has a problem that is final."""
        backoff = Backoff(self._jitter, 1.0, LONGEST)
        while not (watch.problem and watch.problem.final):
            try:
                kube = await self._workloads.open(watch.name.tenant, watch.target.kubeconfig)
                problem = await self._watch(watch, kube, await self._resource(watch, kube), backoff)
            except UnknownKind as why:
                problem = WatchProblem("UnknownKind", str(why))
            except Fault as why:
                problem = unreachable(str(why), refused=isinstance(why, Denied))
            self._changed(watch, problem)
            await asyncio.sleep(backoff.next_delay())

    async def _resource(self, watch: ObjectWatch, kube: Kube) -> Resource:
        async with self._starting:
            try:
                return await find(kube, watch.spec.api_version, watch.spec.kind)
            except NotFound as why:
                raise UnknownKind(str(why)) from why

    async def _watch(self, watch: ObjectWatch, kube: Kube, resource: Resource, backoff: Backoff) -> WatchProblem:
        """Watch until it is interrupted; gives why."""
        labels = label_selector(watch.spec.selector)
        async with aclosing(kube.watch(resource, watch.spec.namespace, labels=labels)) as sights:
            async with self._starting:
                sight = await anext(sights)
            while not isinstance(sight, Lost):
                if (problem := self._see(watch, sight)) is not None:
                    return problem
                backoff.failures = 0
                sight = await anext(sights)
        return unreachable(sight.reason, refused=sight.refused)

    def _see(self, watch: ObjectWatch, sight: Sight) -> WatchProblem | None:
        """Pass on what changed; gives why the watch has to end."""
        match sight:
            case Listed(items) if len(items) <= MOST_OBJECTS:
                here = {item["metadata"]["uid"]: item for item in items}
                self._judge.missing(watch, set(here))
                for uid, item in here.items():
                    self._pass_on(watch, uid, item)
                self._changed(watch, None)
            case Changed(item, gone):
                self._pass_on(watch, item["metadata"]["uid"], item, gone=gone)
        known = len(sight.items) if isinstance(sight, Listed) else len(watch.versions)
        if known <= MOST_OBJECTS:
            return None
        why = f"it has more than {MOST_OBJECTS} of {watch.spec.kind}: name a namespace or labels"
        return WatchProblem("TooManyObjects", why, final=True)

    def _pass_on(self, watch: ObjectWatch, uid: str, item: Object, *, gone: bool = False) -> None:
        """An object that is listed again as it was is not evaluated again."""
        version = version_of(item)
        if not gone and watch.versions.get(uid) == version:
            return
        if gone:
            watch.versions.pop(uid, None)
        else:
            watch.versions[uid] = version
        self._judge.see(watch, uid, SeenObject(item, gone))


class UnknownKind(Exception):
    """The cluster serves no such kind, at least not now."""
