"""The gateway service: Colonies, back ends' objects and requests."""

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
from services.gateway.infra_watch import InfraWatch
from services.gateway.intake import IntakeWorker
from services.gateway.kube_events.recorder import Recorder
from services.gateway.metrics.fleet import fleet
from services.gateway.metrics.state_ages import ages
from services.gateway.read_models import Name, ReadModels
from services.gateway.status.previous import StatusCosts
from services.runtime.context import Context
from services.runtime.level_publisher import LevelPublisher
from services.runtime.workqueue import WorkQueue

SOON = 0.01
"""Seconds from news that bring more news to the look at their Colony: an owner's answer takes half of that."""
LATEST = 2.0
"""Seconds they wait at the most: `SOON` for each cluster that is being founded, as answers take longer then."""
WORDS = 15
"""How many times as long words of a back end wait that nobody decides on: other news mostly comes with the next."""
AFTER_A_FAULT = 5.0
"""Seconds, at least, until a Colony is followed again after our own code failed over it."""
MEASURE = 15.0
"""Seconds between two looks at how old all that stands is: as often as is usually scraped."""
BETWEEN = 0.1
"""Seconds between two Colonies whose costs are brought up to date."""
AT_ONCE = 8
"""How many Colonies are followed at the same time: of very many, the first ones are done while the last ones wait."""

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
        self._kube = kube
        self._levels = LevelPublisher(context, Wish, InfraSeen)
        self._meters = context.meters
        self._clock = context.clock
        self._books = ReadModels(context.bus, context.meters)
        self._recorder = Recorder(kube, self._books, context.clock)
        self._costs, self._cost_every = StatusCosts(cost_every), cost_every
        self._infra = [InfraWatch(cloud, self._levels, context.jitter) for cloud in clouds.values()]
        self._colonies = ColonyController(
            kube, self._levels, self._books, context.clock, backend,
            costs=self._costs, find_objects=self._standing, unseen=self._unseen,
        )  # fmt: skip
        self._intake = IntakeWorker(context, kube)
        self._queue: WorkQueue[Name] = WorkQueue(self._reconcile, "colony", context.jitter, parallel=AT_ONCE)

    async def run(self) -> None:
        """Boot, then follow everything for ever."""
        await self._levels.refresh()
        try:
            async with self._queue.running(), asyncio.TaskGroup() as group:
                for view in self._books.views:
                    group.create_task(view.run())
                    await view.ready.wait()
                self._books.listen(self._touch, self._touch_later, partial(self._touch_later, times=WORDS))
                for infra in self._infra:
                    group.create_task(infra.run(self._kube))
                self._recorder.begin()
                group.create_task(self._recorder.run())
                for infra in self._infra:  # what stands is known before anything is asked for, or told not to be
                    await infra.looked.wait()
                    group.create_task(self._catch_up(infra))
                group.create_task(self._watch())
                group.create_task(self._intake.run())
                group.create_task(self._measure())
                group.create_task(self._bill())
                group.create_task(self._colonies.kubeconfigs.poll_secrets(self._touch))
        finally:
            self.ready.clear()

    def _standing(self, tenant: str, cluster: str) -> tuple[InfraSeen, ...]:
        return tuple(seen for infra in self._infra for seen in infra.standing(tenant, cluster))

    def _unseen(self, backend: str) -> str:
        return next((infra.unseen for infra in self._infra if infra.backend == backend), "")

    async def _catch_up(self, infra: InfraWatch) -> None:
        """Follow every Colony again once it is known what stands in a back end: some may have waited for that."""
        await infra.complete.wait()
        for name in tuple(self._colonies.objects):
            self._touch(name)

    async def _measure(self) -> None:
        """Tell how old what stands is, and what it costs, again and again: every replica the same, as each sees all."""
        while True:
            for lifecycle, view in self._books.lives:
                for gauge, series in ages(lifecycle, (state for _, state in view)).items():
                    self._meters.gauge(gauge, lifecycle.domain, series)
            for gauge, series in fleet(self._books.all_clusters(), self._clock()).items():
                self._meters.gauge(gauge, cluster.LIFECYCLE.domain, series)
            await asyncio.sleep(MEASURE)

    async def _bill(self) -> None:
        """Bring the cost of what runs up to date, one Colony after another: of very many, each less often."""
        while True:
            await asyncio.sleep(self._cost_every.total_seconds())
            for name in self._costs.due(self._clock()):
                if self._colonies.objects.get(name, {}).get("status", {}).get("pricePerHour"):
                    self._touch(name)
                    await asyncio.sleep(BETWEEN)

    def _touch(self, name: Name) -> None:
        """Reconcile a Colony soon; once every Colony was listed."""
        if self.ready.is_set():
            self._queue.add(name)

    def _touch_later(self, name: Name, times: int = 1) -> None:
        """Reconcile a Colony a little later, with what its owner makes of the news: with all that came meanwhile."""
        if self.ready.is_set():
            self._queue.add_after(name, times * min(SOON * max(1, self._books.starting), LATEST))

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
        """A complete list: every Colony is looked at, and every cluster whose Colony is not in it."""
        if not self.ready.is_set():
            self.ready.set()
            log.info("service.ready", colonies=len(items))
        self._colonies.objects.clear()
        for item in items:
            self._changed(item, gone=False)
        for name in self._books.unfinished_colonies():
            self._touch(name)

    def _changed(self, item: Object, *, gone: bool) -> None:
        name = (item["metadata"].get("namespace", ""), item["metadata"]["name"])
        if gone:
            self._colonies.objects.pop(name, None)
        elif not self._colonies.observe(item):
            return
        self._touch(name)

    async def _reconcile(self, name: Name) -> None:
        """Reconcile one Colony; one that cannot be now is put off, and the others go on."""
        try:
            await self._colonies.reconcile(name)
        except (Fault, Unavailable) as why:
            log.warning("colony.put_off", tenant=name[0], name=name[1], reason=str(why))
            self._queue.add_rate_limited(name)
        else:
            self._queue.forget(name)
