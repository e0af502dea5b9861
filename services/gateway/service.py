"""The gateway service: Colonies, back ends' objects and requests, and the gauges of the whole fleet."""

import asyncio
from collections.abc import Mapping
from datetime import timedelta
from functools import partial

import structlog

from events.bus import Unavailable
from events.errors import Fault
from events.kube.client import Changed, Kube, Listed, Lost, Object
from events.kube.resources import COLONIES
from schemas import cluster
from schemas.infra import InfraSeen
from schemas.wish import Wish
from services.clouds.port import Cloud
from services.gateway.colony_controller import ColonyController
from services.gateway.gauges import ages, fleet
from services.gateway.infra_watch import InfraWatch
from services.gateway.intake import IntakeWorker
from services.gateway.kube_events.recorder import Recorder
from services.gateway.profile_expiry import ProfileExpiry
from services.gateway.read_models import Name, ReadModels
from services.gateway.status.previous import StatusCosts
from services.runtime.context import Context
from services.runtime.level_publisher import LevelPublisher
from services.runtime.share import ShareChange, share_key
from services.runtime.workqueue import WorkQueue

SOON = 0.01
"""Seconds from a change to the reconciliation of its Colony, if more follows: its owner answers in half of that."""
LATEST = 2.0
"""Seconds that such a change waits at most: `SOON` for each cluster being created, as answers take longer then."""
PROGRESS = 15
"""How many times as long a progress message of a back end waits, as another change mostly follows it."""
MEASURE = 15.0
"""Seconds between two updates of the gauges: the usual scrape interval."""
BETWEEN = 0.1
"""Seconds between two Colonies whose costs are updated."""
AT_ONCE = 8
"""How many Colonies are reconciled at the same time."""

log = structlog.get_logger()


class Gateway:
    """The service."""

    def __init__(
        self,
        context: Context,
        kube: Kube,
        clouds: Mapping[str, Cloud],
        *,
        backend: str,
        cost_every: timedelta,
    ) -> None:
        self.ready = asyncio.Event()
        self._share = context.share
        self._kube = kube
        self._levels = LevelPublisher(context, Wish, InfraSeen)
        self._meters = context.meters
        self._clock = context.clock
        self._models = ReadModels(context.bus, context.meters)
        self._recorder = Recorder(kube, self._models, context)
        self._costs, self._cost_every = StatusCosts(cost_every), cost_every
        self._infra = [InfraWatch(cloud, self._levels, context) for cloud in clouds.values()]
        self._colonies = ColonyController(
            kube, self._levels, self._models, context.clock, backend,
            costs=self._costs, find_objects=self._find_objects, unseen=self._why_unknown,
        )  # fmt: skip
        self._intake = IntakeWorker(context, kube)
        self._expiry = ProfileExpiry(kube, context)
        self._queue: WorkQueue[Name] = WorkQueue(self._reconcile, "colony", context.jitter, parallel=AT_ONCE)

    async def run(self) -> None:
        """Read what is stored, then watch and reconcile for ever."""
        await self._levels.refresh()
        try:
            async with self._queue.running(), asyncio.TaskGroup() as group:
                for view in self._models.views:
                    group.create_task(view.run())
                    await view.ready.wait()
                group.create_task(self._levels.follow())
                self._share.listen(self._move)
                self._models.listen(self._enqueue, self._enqueue_later, partial(self._enqueue_later, times=PROGRESS))
                for infra in self._infra:
                    group.create_task(infra.run(self._kube))
                self._recorder.begin()
                group.create_task(self._recorder.run())
                for infra in self._infra:  # objects are known, or known to be unknown, before any wish
                    await infra.attempted.wait()
                    group.create_task(self._catch_up(infra))
                group.create_task(self._watch())
                group.create_task(self._intake.run())
                group.create_task(self._expiry.run())
                group.create_task(self._measure())
                group.create_task(self._bill())
                group.create_task(self._colonies.kubeconfigs.poll_secrets(self._enqueue))
        finally:
            self.ready.clear()

    def _find_objects(self, tenant: str, cluster: str) -> tuple[InfraSeen, ...]:
        return tuple(seen for infra in self._infra for seen in infra.objects_of(tenant, cluster))

    def _why_unknown(self, backend: str) -> str:
        return next((infra.why_unknown for infra in self._infra if infra.backend == backend), "")

    async def _catch_up(self, infra: InfraWatch) -> None:
        """Reconcile every Colony once the objects of a back end are known, as some may have waited for that."""
        await infra.complete.wait()
        for name in tuple(self._colonies.objects):
            self._enqueue(name)

    async def _measure(self) -> None:
        """Update the gauges of states, ages and costs, for ever; every replica publishes the same, as each sees all."""
        while True:
            for lifecycle, view in self._models.lives:
                for gauge, series in ages(lifecycle, (state for _, state in view)).items():
                    self._meters.gauge(gauge, lifecycle.domain, series)
            for gauge, series in fleet(self._models.all_clusters(), self._clock()).items():
                self._meters.gauge(gauge, cluster.LIFECYCLE.domain, series)
            await asyncio.sleep(MEASURE)

    async def _bill(self) -> None:
        """Update the cost in the statuses of running Colonies one after another, for ever."""
        while True:
            await asyncio.sleep(self._cost_every.total_seconds())
            for name in self._costs.due(self._clock()):
                if self._colonies.objects.get(name, {}).get("status", {}).get("pricePerHour"):
                    self._enqueue(name)
                    await asyncio.sleep(BETWEEN)

    def _move(self, change: ShareChange) -> None:
        """Enqueue the Colonies that came into the share, and forget what is known of those that left it."""
        for name in {*self._colonies.objects, *self._models.unfinished_colonies()}:
            if change.gained(share_key(*name)):
                self._enqueue(name)
            elif not self._mine(name):
                self._colonies.forget(name)

    def _mine(self, name: Name) -> bool:
        return self._share.mine(share_key(*name))

    def _enqueue(self, name: Name) -> None:
        """Enqueue a Colony of the share, if all Colonies were listed."""
        if self.ready.is_set() and self._mine(name):
            self._queue.add(name)

    def _enqueue_later(self, name: Name, times: int = 1) -> None:
        """Enqueue a Colony after a short delay, so that one reconciliation shows the changes that follow, too."""
        if self.ready.is_set() and self._mine(name):
            self._queue.add_after(name, times * min(SOON * max(1, self._models.starting), LATEST))

    async def _watch(self) -> None:
        async for sight in self._kube.watch(COLONIES):
            match sight:
                case Listed(items):
                    self._listed(items)
                case Changed(item, gone):
                    self._changed(item, gone=gone)
                case Lost(reason):
                    log.warning("kubernetes.watch_lost", reason=reason)

    def _listed(self, items: tuple[Object, ...]) -> None:
        """Enqueue every Colony of a complete list, and those that are not in it but have unfinished clusters."""
        if not self.ready.is_set():
            self.ready.set()
            log.info("service.ready", colonies=len(items))
        self._colonies.objects.clear()
        for item in items:
            self._changed(item, gone=False)
        for name in self._models.unfinished_colonies():
            self._enqueue(name)

    def _changed(self, item: Object, *, gone: bool) -> None:
        name = (item["metadata"].get("namespace", ""), item["metadata"]["name"])
        if gone:
            self._colonies.objects.pop(name, None)
        elif not self._colonies.observe(item):
            return
        self._enqueue(name)

    async def _reconcile(self, name: Name) -> None:
        """Reconcile one Colony; after a failure again later, without delaying the others."""
        if not self._mine(name):  # it left the share while it waited
            return
        try:
            await self._colonies.reconcile(name)
        except (Fault, Unavailable) as why:
            log.warning("colony.put_off", tenant=name[0], name=name[1], reason=str(why))
            self._queue.add_rate_limited(name)
        else:
            self._queue.forget(name)
