"""The gateway service: Colonies, back ends' objects and requests, and the gauges of the whole fleet."""

import asyncio
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from datetime import datetime, timedelta
from functools import partial

import structlog
from msgspec import Struct

from events.bus import Unavailable
from events.errors import Fault
from events.kube.client import Changed, Kube, Listed, Lost, Object
from events.kube.resources import COLONIES
from schemas import cluster
from schemas.cluster import LIFECYCLE, ClusterState, Ready, Released
from schemas.entity import Lifecycle, State
from schemas.infra import InfraSeen
from schemas.placement import Lot
from schemas.registry import declared
from schemas.teardown import Cleaning, Draining, Gone
from schemas.wish import Wish
from services.clouds.port import Cloud
from services.colony.accounting import billed_attempt, so_far
from services.gateway.colony_controller import ColonyController
from services.gateway.infra_watch import InfraWatch
from services.gateway.intake import IntakeWorker
from services.gateway.kube_events.recorder import Recorder
from services.gateway.profile_expiry import ProfileExpiry
from services.gateway.read_models import Name, ReadModels
from services.gateway.status.previous import StatusCosts
from services.runtime.context import Context
from services.runtime.level_publisher import LevelPublisher
from services.runtime.workqueue import WorkQueue

WANTED = "alate.fleet.accelerators.wanted"
"""Accelerators that clusters which have not ended ask for, by model."""
READY = "alate.fleet.accelerators.ready"
"""Accelerators of clusters that are ready, by model."""
PRICE = "alate.fleet.usd_per_hour"
"""What all that is paid for costs in an hour, by cloud."""
COST = "alate.fleet.usd"
"""What the clusters that are known have cost so far, by their state; one that ended is known for some days."""
FleetLabels = tuple[tuple[str, str], ...]
LabelledAmounts = Iterator[tuple[tuple[str, ...], float]]
"""Values of labels, each with what is to be added."""


def fleet(states: Iterable[ClusterState], now: datetime) -> Mapping[str, dict[FleetLabels, float]]:
    """The series, by gauge."""
    known = tuple(states)
    return {
        WANTED: _sums(("accelerator",), _wanted(known)),
        READY: _sums(("accelerator",), _ready(known)),
        PRICE: _sums(("cloud", "spot"), _prices(known)),
        COST: _sums(("state",), _costs(known, now)),
    }


def _wanted(states: Iterable[ClusterState]) -> LabelledAmounts:
    for state in states:
        if not isinstance(state, Released):
            for pool in state.wish.need.pools:
                yield (pool.accelerator,), pool.nodes * pool.accelerators_per_node


def _ready(states: Iterable[ClusterState]) -> LabelledAmounts:
    for _, lot in _lots(state for state in states if isinstance(state, Ready)):
        yield (lot.accelerator,), lot.nodes * lot.accelerators_per_node


def _prices(states: Iterable[ClusterState]) -> LabelledAmounts:
    for cloud, lot in _lots(states):
        yield (cloud, "true" if lot.spot else "false"), lot.nodes * lot.price_per_hour


def _costs(states: Iterable[ClusterState], now: datetime) -> LabelledAmounts:
    for state in states:
        yield (declared(type(state)).event,), so_far(state, now)


def _lots(states: Iterable[ClusterState]) -> Iterator[tuple[str, Lot]]:
    """What is paid for, each with its cloud."""
    for state in states:
        attempt, _ = billed_attempt(state)
        if attempt:
            yield from ((attempt.placement.cloud, lot) for lot in attempt.placement.lots)


def _sums(names: tuple[str, ...], parts: LabelledAmounts) -> dict[FleetLabels, float]:
    found: dict[tuple[str, ...], float] = {}
    for values, part in parts:
        found[values] = found.get(values, 0.0) + part
    domain = ("domain", LIFECYCLE.domain)
    return {(domain, *zip(names, values, strict=True)): total for values, total in found.items()}


COUNT = "alate.entities"
"""Entities that have not ended, by state."""
OLDEST = "alate.state.oldest"
"""When the oldest entity of a state entered it: seconds since 1970."""
LEFT = "alate.teardown.left"
"""Ends of which something may be left, by the step that was given up; each is known for some days."""
STEPS = tuple(declared(step).phase for step in (Draining, Cleaning))
"""Those that can be given up."""
StateLabels = tuple[tuple[str, str], ...]


def ages(lifecycle: Lifecycle, states: Iterable[State]) -> Mapping[str, dict[StateLabels, float]]:
    """The series of one kind of entity, by gauge; of a state in which there is none, only the count."""
    known = list(states)
    found = [state for state in known if not isinstance(state, lifecycle.terminal)]
    live = [kind for kind in lifecycle.states if kind not in lifecycle.terminal]
    counts = {_labels(lifecycle, kind): float(sum(type(each) is kind for each in found)) for kind in live}
    oldest: dict[StateLabels, float] = {}
    for each in found:
        labels, since = _labels(lifecycle, type(each)), each.since.timestamp()
        oldest[labels] = min(since, oldest.get(labels, since))
    return {COUNT: counts, OLDEST: oldest, LEFT: _left(lifecycle, known)}


def _left(lifecycle: Lifecycle, states: Iterable[State]) -> dict[StateLabels, float]:
    if Gone not in lifecycle.states:
        return {}
    counts = Counter(each.step for state in states if isinstance(state, Gone) for each in state.skipped)
    return {(("domain", lifecycle.domain), ("step", step)): float(counts[step]) for step in STEPS}


def _labels(lifecycle: Lifecycle, kind: type[Struct]) -> StateLabels:
    return (("domain", lifecycle.domain), ("state", declared(kind).event))


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
        self._kube = kube
        self._levels = LevelPublisher(context, Wish, InfraSeen)
        self._meters = context.meters
        self._clock = context.clock
        self._models = ReadModels(context.bus, context.meters)
        self._recorder = Recorder(kube, self._models, context.clock)
        self._costs, self._cost_every = StatusCosts(cost_every), cost_every
        self._infra = [InfraWatch(cloud, self._levels, context.jitter) for cloud in clouds.values()]
        self._colonies = ColonyController(
            kube, self._levels, self._models, context.clock, backend,
            costs=self._costs, find_objects=self._find_objects, unseen=self._why_unknown,
        )  # fmt: skip
        self._intake = IntakeWorker(context, kube)
        self._expiry = ProfileExpiry(kube, context.clock, context.jitter)
        self._queue: WorkQueue[Name] = WorkQueue(self._reconcile, "colony", context.jitter, parallel=AT_ONCE)

    async def run(self) -> None:
        """Read what is stored, then watch and reconcile for ever."""
        await self._levels.refresh()
        try:
            async with self._queue.running(), asyncio.TaskGroup() as group:
                for view in self._models.views:
                    group.create_task(view.run())
                    await view.ready.wait()
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

    def _enqueue(self, name: Name) -> None:
        """Enqueue a Colony, if all Colonies were listed."""
        if self.ready.is_set():
            self._queue.add(name)

    def _enqueue_later(self, name: Name, times: int = 1) -> None:
        """Enqueue a Colony after a short delay, so that one reconciliation shows the changes that follow, too."""
        if self.ready.is_set():
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
        try:
            await self._colonies.reconcile(name)
        except (Fault, Unavailable) as why:
            log.warning("colony.put_off", tenant=name[0], name=name[1], reason=str(why))
            self._queue.add_rate_limited(name)
        else:
            self._queue.forget(name)
