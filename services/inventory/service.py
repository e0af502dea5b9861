"""The inventory service: watches every cluster while it exists, and publishes the market's offers."""

import asyncio

import structlog

from events.kube.client import Kube
from schemas.inventory import ClusterSeen, NodeSeen, StorageSeen
from services.clients.workload_clusters import WorkloadClusters
from services.inventory.market.loop import MarketLoop
from services.inventory.read.labels import LabelPolicy, no_labels
from services.inventory.responder import desk
from services.inventory.watch.cleanup import LevelCleanup
from services.inventory.watch.clusters import Clusters
from services.runtime.context import Context
from services.runtime.level_publisher import LevelPublisher

log = structlog.get_logger()


class Inventory:
    """The service."""

    def __init__(
        self,
        context: Context,
        workloads: WorkloadClusters,
        market: MarketLoop,
        *,
        management: Kube | None = None,
        labels: LabelPolicy = no_labels,
    ) -> None:
        """`management`: watched as well, if given; `labels`: what the nodes of founded clusters shall bear."""
        self.ready = asyncio.Event()
        self._bus = context.bus
        self._market = market
        self._levels = LevelPublisher(context, NodeSeen, ClusterSeen, StorageSeen, retries=True)
        self._desk = desk((self._levels, market.levels), context.clock)
        self._clusters = Clusters(context, workloads, self._levels, management=management, labels=labels)
        self._sweep = LevelCleanup(context.bus, self._levels, self._clusters.listed, context.jitter)

    async def run(self) -> None:
        """Say what the market offers, join and leave clusters as they come and go, answer questions; for ever."""
        await self._levels.refresh()
        async with asyncio.TaskGroup() as group:
            group.create_task(self._market.run())
            await self._market.ready.wait()
            group.create_task(self._bus.answer(self._desk))
            group.create_task(self._clusters.run(self.ready))
            group.create_task(self._sweep.run())
            await self.ready.wait()
            log.info("service.ready", service="inventory")
