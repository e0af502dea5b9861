"""Watches every cluster that has an API, the management cluster included."""

import asyncio
from collections.abc import Callable

import structlog

from events.errors import Denied
from events.kube.client import Kube
from schemas import cluster
from schemas.cluster import Hibernated, Placed, Provisioned, Ready, Released
from schemas.entity import State
from schemas.inventory import UNREADABLE, ClusterSeen, NodeSeen, StorageSeen
from schemas.subjects import Key
from services.clients.workload_clusters import WorkloadClusters
from services.inventory.read.labels import LabelPolicy, no_labels
from services.inventory.read.totals import watch_failed
from services.inventory.watch.cleanup import forget
from services.inventory.watch.outputs import ClusterPublisher, clear_gauges
from services.inventory.watch.watcher import NOBODY, OpenCluster, Watcher
from services.kubernetes.malformed import MALFORMED
from services.runtime.cancellation import raise_if_cancelled
from services.runtime.context import Context
from services.runtime.level_publisher import LevelPublisher, Outdated
from services.runtime.read_model import ReadModel, entities
from services.runtime.share import ShareChange, share_key
from services.runtime.workqueue import Failures

log = structlog.get_logger()

AGAIN = 1.0
"""Seconds until a cluster is watched again of which another replica has published: whose it is, is known by then."""
LONG = 60.0
"""Seconds after which a watch that fails counts as one that had worked: its back-off starts again."""


class FailureDomain:
    """Watches one cluster until cancelled; its failures show in its own level, and it is watched again by itself."""

    def __init__(
        self,
        key: Key,
        blank: ClusterSeen,
        publisher: ClusterPublisher,
        watcher: Callable[[asyncio.Event], Watcher],
        failures: Failures[Key],
    ) -> None:
        """`watcher` makes a watcher that sets the event once it has listed everything, or cannot."""
        self.settled = asyncio.Event()
        self._key = key
        self._blank = blank
        self._publisher = publisher
        self._watcher = watcher
        self._failures = failures

    async def run(self, open_: OpenCluster) -> None:
        """Watch; an error is published with the cluster's levels, and the watch begins again after a growing delay."""
        clock = asyncio.get_running_loop().time
        while True:
            began = clock()
            try:
                await self._watcher(self.settled).run(open_)
            except Exception as error:  # noqa: BLE001 - a fault of ours over one cluster must not stop the others
                raise_if_cancelled()
                if is_outdated(error):
                    log.info("cluster.watched_elsewhere", entity=self._key.path)
                    self._publisher.reload()
                    await asyncio.sleep(AGAIN)
                    continue
                if clock() - began > LONG:
                    self._failures.forget(self._key)
                wait = self._failures.record(self._key, error)
                await self._publish_failure(error)
                self.settled.set()
                await asyncio.sleep(wait)

    async def _publish_failure(self, error: Exception) -> None:
        """Publish that the levels of the cluster are stale, and why."""
        levels = [*self._publisher.current(NodeSeen), *self._publisher.current(StorageSeen)]
        seen = (self._publisher.last(ClusterSeen) or self._blank).but(known=False)
        try:
            await self._publisher.publish_all([(name, one.but(freshness="stale")) for name, one in levels])
            await self._publisher.publish(seen.but(freshness="stale", degraded=(watch_failed(error),)))
        except Exception as again:  # noqa: BLE001 - it is logged, and the cluster is watched again all the same
            self._failures.record(self._key, again)


def is_outdated(error: Exception) -> bool:
    """Whether a watch ended for nothing but that another replica published of the same cluster meanwhile."""
    if isinstance(error, ExceptionGroup):
        return error.split(Outdated)[1] is None
    return isinstance(error, Outdated)


MANAGEMENT = Key("cluster", NOBODY, "management")
"""The key of the management cluster; no namespace can have this name."""
WITH_AN_API = (Provisioned, Ready, Hibernated)


class Clusters:
    """The watchers, one per cluster."""

    def __init__(
        self,
        context: Context,
        workloads: WorkloadClusters,
        levels: LevelPublisher,
        *,
        management: Kube | None = None,
        labels: LabelPolicy = no_labels,
    ) -> None:
        self._context = context
        self._workloads = workloads
        self._levels = levels
        self._management = management
        self._labels = labels
        self._known: ReadModel[Key, State] = entities(context.bus, cluster.LIFECYCLE, context.meters)
        self._failures: Failures[Key] = Failures("cluster.watch", context.jitter, context.meters)
        self._watched: dict[Key, tuple[str, FailureDomain, asyncio.Task[None]]] = {}
        self._changes: asyncio.Queue[Key] = asyncio.Queue()

    @property
    def listed(self) -> asyncio.Event:
        """Set whenever all clusters were listed."""
        return self._known.listed

    async def run(self, ready: asyncio.Event) -> None:
        """Watch every cluster, for ever; `ready` is set once all that exist were listed, or could not be."""
        try:
            await self._run(ready)
        finally:
            await self._workloads.close()

    async def _run(self, ready: asyncio.Event) -> None:
        async with asyncio.TaskGroup() as group:
            group.create_task(self._known.run())
            await self._known.ready.wait()
            self._known.listen(lambda key, _: self._changes.put_nowait(key), self._changes.put_nowait)
            self._context.share.listen(self._move)
            for key in self._all():
                await self._try_reconcile(key, group)
            group.create_task(self._set_ready(ready))
            while True:
                await self._try_reconcile(await self._changes.get(), group)

    def _all(self) -> list[Key]:
        return [MANAGEMENT, *(key for key, _ in self._known)]

    def _move(self, _: ShareChange) -> None:
        for key in self._all():
            self._changes.put_nowait(key)

    async def _set_ready(self, ready: asyncio.Event) -> None:
        for _, domain, task in tuple(self._watched.values()):
            settled = asyncio.ensure_future(domain.settled.wait())
            await asyncio.wait((settled, task), return_when=asyncio.FIRST_COMPLETED)  # its watch may end meanwhile
            settled.cancel()
        ready.set()

    async def _try_reconcile(self, key: Key, group: asyncio.TaskGroup) -> None:
        """Reconcile one cluster; after an error again later, without delaying the others."""
        try:
            await self._reconcile(key, group)
        except Exception as error:  # noqa: BLE001 - logged and counted there
            later = self._failures.record(key, error)
            asyncio.get_running_loop().call_later(later, self._changes.put_nowait, key)

    async def _reconcile(self, key: Key, group: asyncio.TaskGroup) -> None:
        """Watch the cluster if it is ours and has an API now, whichever attempt's; stop watching it otherwise."""
        mine = self._context.share.mine(share_key(key.tenant, key.name))
        if not mine and key in self._watched:
            await self._stop_watching(key)
        if not mine or key == MANAGEMENT:
            if mine and self._management is not None and key not in self._watched:
                self._watch_management(self._management, group)
            return
        state = self._known.get(key)
        secret = state.kubeconfig if isinstance(state, WITH_AN_API) else ""
        incarnation = f"{secret}/{state.uid if state else ''}"
        watched = self._watched.get(key)
        if watched is not None and watched[0] != incarnation:
            await self._stop_watching(key)
        if isinstance(state, WITH_AN_API) and key not in self._watched:
            self._watch(key, incarnation, _blank(key, state), lambda: self._open(key.tenant, secret), group)
        if isinstance(state, Released):
            await self._forget(key)

    def _watch(
        self, key: Key, incarnation: str, blank: ClusterSeen, open_: OpenCluster, group: asyncio.TaskGroup
    ) -> None:
        publisher = ClusterPublisher(self._levels, key, self._context.clock)
        labels = no_labels if key == MANAGEMENT else self._labels

        def watcher(settled: asyncio.Event) -> Watcher:
            return Watcher(self._context, blank, publisher, labels=labels, settled=settled)

        domain = FailureDomain(key, blank, publisher, watcher, self._failures)
        self._watched[key] = (incarnation, domain, group.create_task(domain.run(open_)))

    async def _open(self, tenant: str, secret: str) -> Kube:
        """Connect by a kubeconfig Secret of whatever content. Raises what `WorkloadClusters.open` raises."""
        try:
            return await self._workloads.open(tenant, secret)
        except MALFORMED as error:
            why = f"Secret {tenant}/{secret} holds no kubeconfig that can be read: {type(error).__name__}"
            raise Denied(why, UNREADABLE) from error

    def _watch_management(self, kube: Kube, group: asyncio.TaskGroup) -> None:
        async def open_() -> Kube:
            return kube

        self._watch(MANAGEMENT, "", ClusterSeen(cluster=MANAGEMENT.name, uid=MANAGEMENT.name), open_, group)

    async def _stop_watching(self, key: Key) -> None:
        incarnation, _, task = self._watched.pop(key)
        task.cancel()
        await asyncio.wait((task,))
        clear_gauges(self._context.meters, key)
        await self._workloads.shut(key.tenant, incarnation.partition("/")[0])

    async def _forget(self, key: Key) -> None:
        """Delete the levels of a cluster that was released."""
        await forget(self._levels, key.tenant, key.name)


def _blank(key: Key, state: Placed) -> ClusterSeen:
    return ClusterSeen(cluster=key.name, uid=state.uid, attempt=state.attempt.number)
