"""Inventory joins every founded cluster while it lives, and says what the market offers."""

import asyncio
from collections.abc import Callable, Iterable
from datetime import datetime

import structlog

from events.bus import Bus
from events.telemetry import Meters
from schemas import cluster
from schemas.cluster import Provisioned, Ready, Released
from schemas.entity import State
from schemas.inventory import ClusterSeen, NodeSeen, Offer, Offers
from schemas.subjects import Key
from services.catalog import regions
from services.inventory.watcher import Watcher
from services.levels import Levels
from services.view import View, entities
from services.workloads import Workloads

log = structlog.get_logger()


class Inventory:
    """The service."""

    def __init__(
        self,
        bus: Bus,
        workloads: Workloads,
        offers: Iterable[Offer],
        *,
        clock: Callable[[], datetime],
        meters: Meters,
    ) -> None:
        self.ready = asyncio.Event()
        self._workloads = workloads
        self._clock = clock
        self._offers = tuple(offers)
        self._levels = Levels(bus, clock, meters, NodeSeen, ClusterSeen, Offers)
        self._clusters: View[Key, State] = entities(bus, cluster.LIFECYCLE)
        self._watched: dict[Key, tuple[str, asyncio.Task[None]]] = {}
        self._changes: asyncio.Queue[Key] = asyncio.Queue()

    async def run(self) -> None:
        """Say the offers, then join and leave clusters as they come and go, for ever."""
        await self._levels.boot()
        for region in regions(self._offers):
            await self._levels.say(region, region.cloud, region.region)
        async with asyncio.TaskGroup() as group:
            group.create_task(self._clusters.run())
            await self._clusters.ready.wait()
            self._clusters.listen(lambda key, _: self._changes.put_nowait(key))
            for key, _ in self._clusters:
                self._changes.put_nowait(key)
            self.ready.set()
            log.info("service.ready", service="inventory", offers=len(self._offers))
            while True:
                await self._follow(await self._changes.get(), group)

    async def _follow(self, key: Key, group: asyncio.TaskGroup) -> None:
        """Watch the cluster if it has an API now, whichever attempt's; leave it otherwise."""
        state = self._clusters.get(key)
        secret = state.kubeconfig if isinstance(state, Provisioned | Ready) else ""
        mark = f"{secret}/{state.uid if state else ''}"
        watched = self._watched.get(key)
        if watched is not None and watched[0] != mark:
            await self._leave(key)
        if isinstance(state, Provisioned | Ready) and key not in self._watched:
            watcher = Watcher(key, state, self._levels, self._clock)
            self._watched[key] = (mark, group.create_task(watcher.run(self._workloads, secret)))
        if isinstance(state, Released):
            await self._forget(key)

    async def _leave(self, key: Key) -> None:
        _, task = self._watched.pop(key)
        task.cancel()
        await asyncio.wait((task,))

    async def _forget(self, key: Key) -> None:
        """The cluster is gone for good: what was said of it is purged."""
        await self._levels.forget(NodeSeen, key.tenant, key.name)
        await self._levels.forget(ClusterSeen, key.tenant, key.name)
