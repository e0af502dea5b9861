"""Keeps a watch for each entry of a Trigger's objects in each cluster that it selects, within limits."""

import asyncio
from collections import Counter
from collections.abc import Iterator
from typing import NamedTuple

import structlog

from events.errors import Fault
from events.kube.client import Kube
from events.kube.resources import TRIGGERS
from services.addons.observe.judge import ObjectJudge
from services.addons.observe.status import COSTLY, condition, is_off, state_of, watching
from services.addons.observe.trigger_store import TriggerStore, WatchingTrigger
from services.addons.observe.watched import ObjectWatch, WatchName, WatchOwner, WatchProblem
from services.addons.observe.watcher import ObjectWatcher
from services.addons.plan.controller import PlanController
from services.addons.plan.target import ClusterName, KnownCluster
from services.clients.workload_clusters import WorkloadClusters
from services.expressions.evaluation import EvaluationFailure
from services.expressions.evaluators import Evaluators
from services.expressions.selectors import matches
from services.runtime.context import Context
from services.runtime.workqueue import WorkQueue

MANAGER = "alate-addons-watches"
MOST_OF_TENANT, MOST = 100, 2000
"""Watches: of the Triggers of one namespace, and of the process."""
CROWDED = "TooManyWatches"
SOON, LATER = 0.5, 30.0
"""Seconds until a change is followed, as more mostly follow, and until a status is written again after a fault."""

log = structlog.get_logger()


class ObserverPorts(NamedTuple):
    """What the watches meet the world through."""

    management: Kube
    workloads: WorkloadClusters
    evaluators: Evaluators


class ObjectObserver:
    """All watches of objects; owned by the add-on service, which knows every cluster and opens it."""

    def __init__(self, context: Context, ports: ObserverPorts, plans: PlanController) -> None:
        self._clock = context.clock
        self._management = ports.management
        self._plans = plans
        self._triggers = TriggerStore(ports.management, self._on_trigger)
        self._judge = ObjectJudge(context, ports.evaluators, self._on_problem)
        self._watcher = ObjectWatcher(ports.workloads, self._judge, context.jitter, self._on_problem)
        self._watches: dict[WatchOwner, dict[WatchName, ObjectWatch]] = {}
        self._of_tenant: Counter[str] = Counter()
        self._problems: dict[WatchOwner, tuple[WatchProblem, ...]] = {}
        self._generations: dict[WatchOwner, int] = {}
        self._queue: WorkQueue[WatchOwner] = WorkQueue(self._reconcile, "trigger_objects", context.jitter)
        self._statuses: WorkQueue[WatchOwner] = WorkQueue(self._write_status, "trigger_status", context.jitter)
        self._follows_clusters = False

    @property
    def number(self) -> int:
        """How many watches there are."""
        return self._of_tenant.total()

    async def run(self) -> None:
        """Watch until cancelled; nothing is watched before every Trigger and cluster is known."""
        async with asyncio.TaskGroup() as group:
            group.create_task(self._triggers.run())
            await self._triggers.listed.wait()
            await self._plans.ready.wait()
            await self._judge.load()
            for name in {*self._triggers, *(each.owner for each in self._judge.known())}:
                self._queue.add(name)
            try:
                async with self._queue.running(), self._statuses.running(), self._judge.running():
                    await asyncio.Event().wait()
            finally:
                for watch in self._all():
                    watch.end()

    def _all(self) -> Iterator[ObjectWatch]:
        return (watch for known in self._watches.values() for watch in known.values())

    def _on_trigger(self, name: WatchOwner) -> None:
        if not self._follows_clusters:  # without such a Trigger no change of a cluster costs anything
            self._plans.listen_to_clusters(self._on_cluster)
            self._follows_clusters = True
        self._queue.add(name)

    def _on_cluster(self, name: ClusterName) -> None:
        for trigger in self._triggers:
            if trigger[0] == name[0]:
                self._queue.add_after(trigger, SOON)

    def _on_problem(self, watch: ObjectWatch, problem: WatchProblem | None) -> None:
        if watch.problem != problem and not (watch.problem and watch.problem.final):
            watch.problem = problem
            self._statuses.add_after(watch.name.owner, SOON)
            if problem is not None:
                log.warning("trigger.watch_failed", tenant=watch.name.tenant, trigger=watch.name.trigger,
                            cluster=watch.name.cluster, reason=problem.why)  # fmt: skip
                if problem.final:
                    watch.end()
                if problem.reason == COSTLY:
                    self._end_others(watch, problem)

    def _end_others(self, costly: ObjectWatch, problem: WatchProblem) -> None:
        for watch in self._watches.get(costly.name.owner, {}).values():
            if watch is not costly:
                watch.problem = problem
                watch.end()

    async def _reconcile(self, name: WatchOwner) -> None:
        trigger, running = self._triggers.get(name), self._watches.setdefault(name, {})
        if trigger is None or self._generations.get(name) != trigger.generation:
            self._restart(name, trigger)
        if trigger is None:
            self._watches.pop(name)
        elif is_off(trigger.item):  # what was published stays
            return
        wanted = self._wanted(name, trigger) if trigger else {}
        for each in [old for old, watch in running.items() if not _is_same(watch, wanted.get(old))]:
            self._stop(running.pop(each))
            self._give_room()
        entries = {each.name for each in trigger.objects} if trigger else set()
        for each in [one for one in self._judge.known() if one.owner == name and one not in wanted]:
            await (self._judge.end(each) if each.watch in entries else self._judge.forget(each))
        self._start(name, running, wanted)
        self._statuses.add_after(name, SOON)

    def _restart(self, name: WatchOwner, trigger: WatchingTrigger | None) -> None:
        """The spec is another: conditions are evaluated anew, and what was published stays known."""
        for watch in self._watches[name].values():
            self._stop(watch)
            self._give_room()
        self._watches[name].clear()
        if trigger is None:
            self._generations.pop(name, None)
            self._problems.pop(name, None)
        else:
            self._generations[name] = trigger.generation

    def _wanted(self, name: WatchOwner, trigger: WatchingTrigger) -> dict[WatchName, ObjectWatch]:
        wanted: dict[WatchName, ObjectWatch] = {}
        problems: list[WatchProblem] = []
        targets = [
            each for one in self._plans.clusters(name[0]) if (each := self._plans.target(one)) and _is_open(each)
        ]
        for place, spec in enumerate(trigger.objects):
            where = f"spec.objects[{place}]"
            for target in targets:
                selected = matches(spec.clusters, target.facts, f"{where}.clusters")
                if isinstance(selected, EvaluationFailure):
                    problems.append(WatchProblem(selected.reason, selected.why))
                elif selected:
                    watch = WatchName(name[0], target.name, name[1], spec.name)
                    wanted[watch] = ObjectWatch(watch, spec, f"{where}.when", target)
        self._problems[name] = tuple(problems)
        return wanted

    def _start(
        self, name: WatchOwner, running: dict[WatchName, ObjectWatch], wanted: dict[WatchName, ObjectWatch]
    ) -> None:
        refused = 0
        for key in [each for each in wanted if each not in running]:
            if self._of_tenant[name[0]] >= MOST_OF_TENANT or self.number >= MOST:
                refused += 1
                continue
            watch = running[key] = wanted[key]
            self._of_tenant[name[0]] += 1
            self._judge.begin(watch)
            watch.task = asyncio.create_task(self._watcher.run(watch))
        if refused:
            most = f"a namespace has at most {MOST_OF_TENANT}, and alate {MOST}"
            why = f"{refused} of {len(wanted)} watches are too many: {most}"
            self._problems[name] = (WatchProblem(CROWDED, why),)

    def _give_room(self) -> None:
        """Those that were beyond a limit are tried again."""
        for name, problems in self._problems.items():
            if any(each.reason == CROWDED for each in problems):
                self._queue.add_after(name, SOON)

    def _stop(self, watch: ObjectWatch) -> None:
        watch.end()
        self._of_tenant[watch.name.tenant] -= 1

    async def _write_status(self, name: WatchOwner) -> None:
        if (trigger := self._triggers.get(name)) is None or is_off(trigger.item):
            return
        state = state_of(tuple(self._watches.get(name, {}).values()), self._problems.get(name, ()))
        computed = condition(trigger.item, state, self._clock()) if trigger.objects else {}
        if computed.get("conditions", [{}]) == [watching(trigger.item)]:
            return
        document = {"metadata": {"name": name[1], "namespace": name[0]}, "status": computed}
        try:
            await self._management.apply(TRIGGERS, document, manager=MANAGER, subresource="status")
        except Fault as why:
            log.warning("trigger.status_unwritten", tenant=name[0], name=name[1], reason=str(why))
            self._statuses.add_after(name, LATER)


def _is_same(watch: ObjectWatch, wanted: ObjectWatch | None) -> bool:
    """Whether it is still wanted, and in the same incarnation of the cluster."""
    if wanted is None:
        return False
    return (watch.target.uid, watch.target.kubeconfig) == (wanted.target.uid, wanted.target.kubeconfig)


def _is_open(target: KnownCluster) -> bool:
    """Whether its objects can be watched."""
    return bool(target.kubeconfig) and not (target.lost or target.ending)
