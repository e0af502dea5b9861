"""Runs the simulated clouds: watches, takes the next step of each cluster that is due, then waits for the next."""

import asyncio
from collections.abc import Callable
from dataclasses import replace
from datetime import datetime

import msgspec
import structlog

from events.errors import Fault
from events.kube.client import Changed, Kube, Listed, Object, Resource, Sight
from services.runtime.workqueue import WorkQueue
from services.sandbox.clouds.engine.alarm import RETRY, Alarm
from services.sandbox.clouds.engine.cache import FAULTS, WATCHED, At, Cache, is_faults
from services.sandbox.clouds.engine.executor import Executor
from services.sandbox.clouds.engine.fast_forward import fast_forward
from services.sandbox.clouds.model import faults
from services.sandbox.clouds.model.actions import Action, WaitUntil
from services.sandbox.clouds.model.snapshot import SimulationRules
from services.sandbox.clouds.model.world import World

SimulationClock = Callable[[], datetime]

_log = structlog.get_logger()


class Clouds:
    """All simulated controllers of one management cluster."""

    def __init__(self, kube: Kube, world: World, rules: SimulationRules, clock: SimulationClock) -> None:
        """`rules.faults` hold where the management cluster's own ConfigMap of faults is not there."""
        self._kube = kube
        self._laws = self._given = rules
        self._clock = clock
        self._queue: WorkQueue[At] = WorkQueue(self._look, "clouds.step")
        self._alarm = Alarm(clock, self._queue.add)
        self._cache = Cache(self._queue.add)
        self._hands = Executor(kube, world, self._cache)
        self._unheard: set[Resource] = {*WATCHED, FAULTS}
        self._heard = asyncio.Event()

    async def run(self) -> None:
        """Run until cancelled; the next run continues."""
        async with asyncio.TaskGroup() as group:
            for resource in WATCHED:
                group.create_task(self._follow(resource, self._saw))
            group.create_task(self._follow(FAULTS, self._heard_of_faults, faults.NAMESPACE))
            await self._heard.wait()  # before every list is there, nobody can say what is missing
            async with self._queue.running():
                await self._alarm.run()

    async def _follow(
        self, resource: Resource, saw: Callable[[Resource, Sight], None], namespace: str | None = None
    ) -> None:
        async for sight in self._kube.watch(resource, namespace):
            saw(resource, sight)
            if isinstance(sight, Listed):
                self._unheard.discard(resource)
                if not self._unheard:
                    self._heard.set()

    def _saw(self, resource: Resource, sight: Sight) -> None:
        match sight:
            case Listed():
                self._cache.listed(resource, sight)
            case Changed(of, gone=True):
                self._cache.gone(resource, of)
            case Changed(of):
                self._cache.seen(resource, of)

    def _heard_of_faults(self, resource: Resource, sight: Sight) -> None:
        del resource
        match sight:
            case Listed(items):
                self._obey(next(filter(is_faults, items), None))
            case Changed(of, gone=gone) if is_faults(of):
                self._obey(None if gone else of)

    def _obey(self, asked: Object | None) -> None:
        try:
            wanted = faults.read(asked) if asked else self._given.faults
        except (msgspec.MsgspecError, ValueError, RecursionError) as wrong:
            _log.warning("sandbox.faults.invalid", reason=str(wrong))
            return
        self._laws = replace(self._laws, faults=wanted)
        self._cache.faults_config(asked)

    async def _look(self, key: At) -> None:
        """Take one step; its changes come back through the watch."""
        wanted = fast_forward(self._cache.view(key), self._clock(), self._laws)
        waits = [change.at for change in wanted if isinstance(change, WaitUntil)]
        if len(waits) == len(wanted):
            if waits:
                self._alarm.at(min(waits), key)
            return
        try:
            changed = [await self._hands.do(change) for change in wanted]
        except Fault as fault:
            self._refused(key, fault)
            return
        self._after(key, wanted, changed=any(changed))

    def _after(self, key: At, wanted: tuple[Action, ...], *, changed: bool) -> None:
        if changed:
            self._queue.add(key)
            return
        _log.warning("sandbox.step.without_effect", cluster=key, step=repr(wanted)[:500])
        self._alarm.after(RETRY, key)

    def _refused(self, key: At, fault: Fault) -> None:
        after = self._alarm.again(fault, key)
        _log.info("sandbox.step.retried", cluster=key, reason=str(fault), after=after)
