"""Runs the controllers inside workload clusters, with one watch for all of them."""

import asyncio
from collections.abc import Callable, Iterable, Sequence
from datetime import datetime

import structlog

from events.errors import Denied, Fault, NotFound
from events.kube.client import Kube, Listed, Object, Resource
from events.kube.resources import NODES
from services.runtime.workqueue import WorkQueue
from services.sandbox.clouds.engine.alarm import Alarm
from services.sandbox.clouds.model.actions import Action, Create, Delete, PatchObject, PatchStatus, WaitUntil
from services.sandbox.clouds.model.annotations import MANAGER
from services.sandbox.clouds.model.world import World
from services.sandbox.clouds.workloads.step import stepped
from services.sandbox.clouds.workloads.view import SEEN, Inside

Holds = Callable[[str, Resource], bool]
"""Whether there is any object of a kind at a place."""

_log = structlog.get_logger()


class WorkloadSimulation:
    """Everything that runs inside founded clusters. Tell it of changes with `changed`."""

    def __init__(self, world: World, holds: Holds, clock: Callable[[], datetime], run_seconds: float) -> None:
        """`run_seconds`: how long a Job's pod runs that does not say so itself."""
        self._world = world
        self._holds = holds
        self._clock = clock
        self._run_seconds = run_seconds
        self._queue: WorkQueue[str] = WorkQueue(self._look, "inside.step")
        self._odd: dict[str, tuple[str, ...]] = {}
        """What cannot be read of each place where there is such."""
        self._alarm: Alarm[str] = Alarm(clock, self._queue.add)

    def changed(self, place: str, group: str, plural: str) -> None:
        """An object of that kind has changed at that place."""
        if (group, plural) in _KINDS:
            self._queue.add(place)

    async def run(self, places: Iterable[str]) -> None:
        """For ever, beginning with a look at the places there are."""
        for place in places:
            self._queue.add(place)
        async with self._queue.running():
            await self._alarm.run()

    async def _look(self, place: str) -> None:
        there = [resource for resource in SEEN if self._holds(place, resource)]
        if not {NODES}.issuperset(there):  # nodes alone are nobody's work
            await self._step(place, there)

    async def _step(self, place: str, there: Sequence[Resource]) -> None:
        kube = self._world.kube(place)
        try:
            wanted, odd = stepped(await see(kube, there, self._run_seconds), self._clock())
            self._tell(place, odd)
            for change in wanted:
                await _do(kube, change)
        except NotFound:
            return  # the cluster is gone
        except Fault as fault:
            after = self._alarm.again(fault, place)
            _log.info("sandbox.workloads.step_retried", cluster=place, reason=str(fault), after=after)
            return
        waits = [change.at for change in wanted if isinstance(change, WaitUntil)]
        if waits:
            self._alarm.at(min(waits), place)

    def _tell(self, place: str, odd: tuple[str, ...]) -> None:
        """Once of what cannot be read: it waits until it is mended."""
        if odd != self._odd.pop(place, ()):
            _log.warning("sandbox.workloads.unreadable", cluster=place, objects=odd)
        if odd:
            self._odd[place] = odd


async def see(kube: Kube, there: Sequence[Resource], run_seconds: float) -> Inside:
    """A cluster as it is now, in which there is something of these kinds. Raises NotFound if it is none, TryLater."""
    lists: list[Listed] = await asyncio.gather(*(kube.list(resource) for resource in there))
    return Inside(dict(zip(there, (each.items for each in lists), strict=True)), run_seconds)


async def _do(kube: Kube, change: Action) -> None:
    """Somebody who was faster changes what is to be done: their change is looked at next."""
    try:
        match change:
            case Create(resource, of):
                await kube.create(resource, of, manager=MANAGER)
            case PatchStatus(resource, of, status):
                await _patch(kube, resource, of, {"status": status}, "status")
            case PatchObject(resource, of, patch):
                await _patch(kube, resource, of, patch, None)
            case Delete(resource, of, grace):
                meta = of["metadata"]
                await kube.delete(resource, meta["name"], meta.get("namespace"), uid=meta["uid"], grace=grace)
            case WaitUntil():
                return
            case _:
                raise TypeError(f"{change!r} is nothing that is done inside a cluster")
    except NotFound:
        _log.debug("sandbox.workloads.object_gone", change=type(change).__name__)
    except Denied as denied:
        if denied.reason not in ("Conflict", "AlreadyExists"):
            raise


async def _patch(kube: Kube, resource: Resource, of: Object, patch: Object, sub: str | None) -> None:
    meta = of["metadata"]
    version = {"resourceVersion": meta["resourceVersion"]}
    whole = patch | {"metadata": {**patch.get("metadata", {}), **version}}
    await kube.patch(resource, meta["name"], meta.get("namespace"), whole, subresource=sub, manager=MANAGER)


_KINDS = {(resource.group, resource.plural) for resource in SEEN}
