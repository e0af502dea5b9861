"""Several replicas of the inventory: each cluster is watched by one, and by another soon after that one died."""

import asyncio
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from datetime import timedelta

import msgspec
import pytest

from events.bus import Stored
from events.memory.bus import MemoryBus
from schemas.inventory import ClusterSeen, NodeSeen
from schemas.member import ServiceMember
from schemas.registry import declared
from services.clients.workload_clusters import WorkloadClusters
from services.inventory.market.loop import MarketLoop
from services.inventory.service import Inventory
from services.runtime.members import ServiceMembers
from tests.context import context
from tests.foreign import Foreign, at_work
from tests.services.inventory.conftest import node
from tests.services.inventory.fleet import T0, Fleet, clock

pytestmark = pytest.mark.looptime
TENANTS = [f"team-{number}" for number in range(12)]


class Watched(Foreign):
    """An API server that knows who watches its nodes."""

    @property
    def watchers(self):
        return sum(plural == "nodes" for plural, _ in self._watches)


@pytest.fixture
async def fleet():
    made = Fleet({tenant: Watched(nodes=[node(f"{tenant}-n")], pods=[]) for tenant in TENANTS})
    for tenant in TENANTS:
        await made.found(tenant)
    return made


@asynccontextmanager
async def replica(fleet, name, bus):
    """One more of the inventory, until it is killed or stopped."""
    ports = context(bus, clock)
    members = ServiceMembers(ports, "inventory", name, ServiceMember(host=name, version="0", since=T0))
    tasks = [asyncio.create_task(members.run())]
    await members.ready.wait()
    ports = context(bus, clock, share=members)
    market = MarketLoop(ports, (), refresh=timedelta(hours=1), half_life=timedelta(hours=1))
    workloads = WorkloadClusters(fleet.management.kube(), fleet.opened)
    service = Inventory(ports, workloads, market, management=fleet.management.kube())
    tasks.append(asyncio.create_task(service.run()))
    await asyncio.wait_for(service.ready.wait(), 60)
    try:
        yield tasks
    finally:
        for task in reversed(tasks):
            task.cancel()
            with suppress(asyncio.CancelledError, ExceptionGroup):
                await task


def watchers(fleet):
    return [fleet.servers[tenant].watchers for tenant in TENANTS]


async def sequences(bus):
    return [(await bus.last("LEVELS", declared(ClusterSeen).at(tenant, "train-a"))).sequence for tenant in TENANTS]


async def test_each_cluster_is_watched_by_one_of_three_replicas(fleet):
    async with AsyncExitStack() as stack:
        for name in ("one", "two", "three"):
            await stack.enter_async_context(replica(fleet, name, fleet.bus.again()))
        await asyncio.sleep(5)
        assert watchers(fleet) == [1] * len(TENANTS)
        assert {(await fleet.seen(tenant)).nodes for tenant in TENANTS} == {1}


async def test_the_clusters_of_a_replica_that_died_are_watched_within_five_seconds_and_nothing_is_written(fleet):
    dying = fleet.bus.again()
    async with replica(fleet, "one", fleet.bus.again()), replica(fleet, "two", dying) as tasks:
        await asyncio.sleep(5)
        before = await sequences(fleet.bus)
        dying.crash()
        for task in tasks:
            task.cancel()
        await asyncio.sleep(1)
        assert 0 < sum(watchers(fleet)) < len(TENANTS)
        await asyncio.sleep(4)
        assert watchers(fleet) == [1] * len(TENANTS)
        await asyncio.sleep(5)
        assert await sequences(fleet.bus) == before


async def test_what_happened_while_nobody_watched_is_told_by_the_heir(fleet):
    dying = fleet.bus.again()
    async with replica(fleet, "one", fleet.bus.again()), replica(fleet, "two", dying) as tasks:
        await asyncio.sleep(5)
        dying.crash()
        for task in tasks:
            task.cancel()
        await asyncio.sleep(1)
        for tenant in TENANTS:
            fleet.servers[tenant].say("nodes", node(f"{tenant}-more"), "ADDED")
        await asyncio.sleep(8)
        assert {(await fleet.seen(tenant)).nodes for tenant in TENANTS} == {2}


class Stalled(MemoryBus):
    """The bus of a process that is stopped: nothing comes, and what it says late is said then."""

    def __init__(self, inner):
        super().__init__((), inner._memory.clock)
        self._memory, self.going = inner._memory, asyncio.Event()
        self.going.set()

    async def publish(self, message, **how):
        await self.going.wait()
        return await super().publish(message, **how)

    async def feed(self, stream, *filters):
        async for fed in super().feed(stream, *filters):
            await self.going.wait()
            yield fed


async def devices_told(bus, found):
    """Add to `found` how many accelerators each level of each node tells of."""
    async for fed in bus.feed("LEVELS", declared(NodeSeen).under()):
        if isinstance(fed, Stored):
            found.setdefault(fed.subject, []).append(msgspec.json.decode(fed.data, type=NodeSeen).accelerators)


async def test_what_a_stopped_replica_says_late_does_not_replace_what_its_heir_said(fleet):
    stalled, told = Stalled(fleet.bus), {}
    async with replica(fleet, "one", fleet.bus.again()), replica(fleet, "two", stalled):
        async with at_work(lambda: devices_told(fleet.bus, told)):
            await asyncio.sleep(5)
            stalled.going.clear()
            for devices in (4, 2):
                for tenant in TENANTS:
                    fleet.servers[tenant].say("nodes", node(f"{tenant}-n", gpus=str(devices)))
                await asyncio.sleep(30)
            stalled.going.set()
            await asyncio.sleep(10)
        assert watchers(fleet) == [1] * len(TENANTS)
    assert len(told) == len(TENANTS)
    assert {numbers[-1] for numbers in told.values()} == {2}
    assert [numbers for numbers in told.values() if numbers != [8, 4, 2]] == []
