"""The whole inventory service over clusters of several tenants, of which some may say anything."""

import asyncio
import base64
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta

import msgspec

from events.memory.bus import MemoryBus
from events.telemetry import Meters
from schemas import cluster
from schemas.cluster import Provisioned
from schemas.inventory import ClusterSeen, NodeSeen, Offers
from schemas.placement import Attempt, Placement
from schemas.registry import declared
from schemas.subjects import Key
from schemas.wish import Limits, Need, Wish
from services.clients.catalog_sources import CatalogSource
from services.clients.workload_clusters import WorkloadClusters
from services.inventory.market.loop import MarketLoop
from services.inventory.service import Inventory
from services.runtime.entity_store import EntityStore
from tests.context import context
from tests.foreign import Foreign, at_work
from tests.samples import LOT

T0 = datetime(2026, 1, 1, tzinfo=UTC)
PLACEMENT = Placement(cloud="aws", region="r", lots=(LOT,))


def clock() -> datetime:
    return T0 + timedelta(seconds=asyncio.get_running_loop().time())


@dataclass
class Fleet:
    """Clusters by tenant, each with its own API server; the service counts them."""

    servers: dict[str, Foreign]
    bus: MemoryBus = field(default_factory=MemoryBus)
    meters: Meters = field(default_factory=Meters)
    management: Foreign = field(default_factory=lambda: Foreign(secrets=[], nodes=[], pods=[]))
    sources: tuple[CatalogSource, ...] = ()
    task: asyncio.Task[None] | None = None

    async def opened(self, kubeconfig: str):
        return self.servers[kubeconfig].kube()

    async def found(self, tenant: str, kubeconfig: bytes | None = None) -> None:
        """A cluster of the tenant's: its API answers."""
        data = base64.b64encode(kubeconfig or tenant.encode()).decode()
        meta = {"name": f"{tenant}-kc", "namespace": tenant, "resourceVersion": "1"}
        self.management.kinds["secrets"].append({"metadata": meta, "data": {"value": data}})
        wish = Wish(
            tenant=tenant, colony="train", cluster="a", uid="c1", generation=1, need=Need(pools=()), limits=Limits()
        )
        state = Provisioned(
            uid="c1.1",
            wish=wish,
            attempt=Attempt(number=1, placement=PLACEMENT),
            billed_since=T0,
            deadline=T0 + timedelta(hours=1),
            kubeconfig=f"{tenant}-kc",
        )
        store = EntityStore(context(self.bus, clock), cluster.LIFECYCLE)
        await store.write(Key("cluster", tenant, "train-a"), state, cause="", cancels_timer=False)

    async def seen(self, tenant: str) -> ClusterSeen | None:
        stored = await self.bus.last("LEVELS", declared(ClusterSeen).at(tenant, "train-a"))
        return msgspec.json.decode(stored.data, type=ClusterSeen) if stored else None

    async def node(self, tenant: str, name: str) -> NodeSeen | None:
        stored = await self.bus.last("LEVELS", declared(NodeSeen).at(tenant, "train-a", name))
        return msgspec.json.decode(stored.data, type=NodeSeen) if stored else None

    async def offers(self, cloud: str, region: str) -> Offers:
        stored = await self.bus.last("LEVELS", declared(Offers).at(cloud, region))
        return msgspec.json.decode(stored.data, type=Offers)

    async def unread(self, tenant: str) -> str:
        """What is told of what cannot be read."""
        seen = await self.seen(tenant)
        return "; ".join(one.message for one in seen.degraded if one.reason == "Unreadable") if seen else ""

    @asynccontextmanager
    async def counted(self) -> AsyncIterator["Fleet"]:
        """With the service at work, which must not end."""
        ports = context(self.bus, clock, self.meters)
        market = MarketLoop(ports, self.sources, refresh=timedelta(hours=1), half_life=timedelta(hours=1))
        workloads = WorkloadClusters(self.management.kube(), self.opened)
        service = Inventory(ports, workloads, market, management=self.management.kube())
        async with at_work(service.run) as self.task:
            await asyncio.wait_for(service.ready.wait(), 120)
            yield self
            assert not self.task.done()
        await self.bus.close()


@asynccontextmanager
async def fleet(**servers: Foreign) -> AsyncIterator[Fleet]:
    """Counted from the start; what is given under a tenant's name is its cluster's API server."""
    made = Fleet(servers)
    for tenant in servers:
        await made.found(tenant)
    async with made.counted():
        yield made
