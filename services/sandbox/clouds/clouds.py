"""The simulated clouds at work: watch, take the next step of every cluster it is due for, sleep till the next."""

import asyncio
from collections.abc import Callable
from dataclasses import replace
from datetime import datetime

import msgspec
import structlog

from events.faults import Fault, TryLater
from events.kube import Changed, Kube, Listed, Object, Resource, Sight
from services.sandbox.clouds import faults
from services.sandbox.clouds.alarm import Alarm
from services.sandbox.clouds.brief import brief
from services.sandbox.clouds.cache import FAULTS, WATCHED, At, Cache, is_faults
from services.sandbox.clouds.changes import Change, Wait
from services.sandbox.clouds.hands import Hands
from services.sandbox.clouds.view import Laws
from services.sandbox.clouds.world import World

Clock = Callable[[], datetime]
PARALLEL = 64
"""Clusters that are worked on at once; one cluster is always worked on by one task."""
RETRY = 1.0
"""Seconds until a change that was refused, or that changed nothing, is tried again."""

_log = structlog.get_logger()


class Clouds:
    """All simulated controllers of one management cluster."""

    def __init__(self, kube: Kube, world: World, laws: Laws, clock: Clock) -> None:
        """`laws.faults` hold where the management cluster's own ConfigMap of faults is not there."""
        self._kube = kube
        self._laws = self._given = laws
        self._clock = clock
        self._alarm = Alarm(clock, self._touched)
        self._cache = Cache(self._touched)
        self._hands = Hands(kube, world, self._cache)
        self._unheard: set[Resource] = {*WATCHED, FAULTS}
        self._due: dict[At, None] = {}
        self._busy: set[At] = set()
        self._slots = asyncio.Semaphore(PARALLEL)
        self._tasks: asyncio.TaskGroup | None = None

    async def run(self) -> None:
        """For ever; cancel it whenever you like, another run takes up where it stood."""
        async with asyncio.TaskGroup() as group:
            self._tasks = group
            try:
                for resource in WATCHED:
                    self._tasks.create_task(self._follow(resource, self._saw))
                self._tasks.create_task(self._follow(FAULTS, self._heard_of_faults, faults.NAMESPACE))
                await self._alarm.run()
            finally:
                self._tasks = None  # a group that is ending takes no more tasks

    async def _follow(
        self, resource: Resource, saw: Callable[[Resource, Sight], None], namespace: str | None = None
    ) -> None:
        async for sight in self._kube.watch(resource, namespace):
            saw(resource, sight)
            if isinstance(sight, Listed):
                self._unheard.discard(resource)
                for key in tuple(self._due):
                    self._begin(key)

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
        except msgspec.MsgspecError as wrong:
            _log.warning("the faults asked for cannot be read, those before stay", reason=str(wrong))
            return
        self._laws = replace(self._laws, faults=wanted)
        self._cache.told(asked)

    def _touched(self, key: At) -> None:
        """Something changed for a cluster, or its time has come."""
        self._due[key] = None
        self._begin(key)

    def _begin(self, key: At) -> None:
        """Take up what is due; before every list is there, nobody can say what is missing."""
        if not self._unheard and self._tasks is not None and key not in self._busy:
            self._busy.add(key)
            self._tasks.create_task(self._tend(key))

    async def _tend(self, key: At) -> None:
        try:
            async with self._slots:
                while key in self._due:
                    del self._due[key]
                    await self._look(key)
        finally:
            self._busy.discard(key)

    async def _look(self, key: At) -> None:
        """One step; what it changed comes back as news and is looked at again."""
        wanted = brief(self._cache.view(key), self._clock(), self._laws)
        waits = [change.at for change in wanted if isinstance(change, Wait)]
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

    def _after(self, key: At, wanted: tuple[Change, ...], *, changed: bool) -> None:
        if changed:
            self._due[key] = None
            return
        _log.warning("a step changed nothing, it is taken again later", cluster=key, step=repr(wanted)[:500])
        self._alarm.after(RETRY, key)

    def _refused(self, key: At, fault: Fault) -> None:
        after = fault.after if isinstance(fault, TryLater) else RETRY
        _log.info("a step is taken again", cluster=key, reason=str(fault), after=after)
        self._alarm.after(max(after, 0.1), key)
