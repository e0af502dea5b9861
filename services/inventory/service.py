"""The inventory service: watches every cluster while it exists, and publishes the market's offers."""

import asyncio

import structlog

from events.kube.client import Kube
from schemas.inventory import ClusterSeen, NodeSeen, StorageSeen
from services.clients.workload_clusters import WorkloadClusters
from services.inventory.market.loop import MarketLoop
from services.inventory.read.labels import LabelPolicy, no_labels
from services.inventory.responder import responder
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
        """`management`: watched as well, if given; `labels`: the labels that nodes of our clusters shall have."""
        self.ready = asyncio.Event()
        self._bus = context.bus
        self._market = market
        self._levels = LevelPublisher(context, NodeSeen, ClusterSeen, StorageSeen, retries=True)
        self._responder = responder((self._levels, market.levels), context.clock)
        self._clusters = Clusters(context, workloads, self._levels, management=management, labels=labels)
        self._cleanup = LevelCleanup(context, self._levels, self._clusters.listed)

    async def run(self) -> None:
        """Publish the market's offers, watch clusters as they come and go, and answer queries; for ever."""
        await self._levels.refresh()
        async with asyncio.TaskGroup() as group:
            group.create_task(self._levels.follow())
            group.create_task(self._market.run())
            await self._market.ready.wait()
            group.create_task(self._bus.answer(self._responder))
            group.create_task(self._clusters.run(self.ready))
            group.create_task(self._cleanup.run())
            await self.ready.wait()
            log.info("service.ready", service="inventory")
