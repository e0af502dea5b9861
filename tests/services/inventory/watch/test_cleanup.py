"""Nothing is said for ever of clusters that are over, or that nobody knows any more."""

import asyncio

import msgspec
import pytest

from events.bus import Message
from events.jetstream.bus import connect
from events.jetstream.server import NatsServer
from events.memory.bus import MemoryBus, wall_clock
from events.streams import standing, tips
from schemas.inventory import ClusterSeen, NodeSeen, StorageSeen
from schemas.registry import declared
from schemas.subjects import Key
from services.inventory.watch.cleanup import LevelCleanup
from services.runtime.level_publisher import LevelPublisher
from tests.context import context


def said(bus) -> LevelPublisher:
    return LevelPublisher(context(bus, wall_clock), NodeSeen, StorageSeen, ClusterSeen)


async def tell(bus, tenant: str, name: str) -> None:
    """As another process told of it, or a bus that was killed took it up again."""
    whole, node = (
        ClusterSeen(cluster=name, uid="c"),
        NodeSeen(uid="u", node="n1", ready=True, accelerator="H100", accelerators=8),
    )
    await bus.publish(Message(declared(ClusterSeen).at(tenant, name), msgspec.json.encode(whole)))
    await bus.publish(Message(declared(NodeSeen).at(tenant, name, "n1"), msgspec.json.encode(node)))


async def subjects(bus) -> set[str]:
    return {stored.subject.split(".", 2)[2] for stored in standing(await tips(bus, "LEVELS", "inventory.>"))}


@pytest.fixture(params=["memory", "jetstream"])
async def bus(request, tmp_path):
    if request.param == "memory":
        yield MemoryBus()
        return
    async with NatsServer(tmp_path / "nats") as server:
        bus = await connect(server.url, name="test")
        yield bus
        await bus.close()


@pytest.fixture
async def listed(bus):
    """Set it, and a sweep of its own looks through what is said."""
    event, levels = asyncio.Event(), said(bus)
    await levels.refresh()
    task = asyncio.create_task(LevelCleanup(context(bus, wall_clock), levels, event).run())
    yield event
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)


async def test_levels_of_ended_and_of_unknown_clusters_are_swept_and_no_others(bus, listed):
    for state, name in (("released", "over"), ("ready", "alive")):
        await bus.publish(Message(Key("cluster", "acme", name).state(state), b"{}"))
    for tenant, name in (("acme", "over"), ("acme", "alive"), ("acme", "unknown"), ("-", "management")):
        await tell(bus, tenant, name)
    listed.set()
    async with asyncio.timeout(20):
        while await subjects(bus) != {"acme.alive", "acme.alive.n1", "-.management", "-.management.n1"}:  # noqa: ASYNC110 - nobody tells when it is done
            await asyncio.sleep(0.01)


async def test_what_came_back_is_swept_with_the_next_listing(bus, listed):
    listed.set()
    await tell(bus, "acme", "unknown")
    await tell(bus, "acme", "other")
    listed.set()
    async with asyncio.timeout(20):
        while await subjects(bus):  # noqa: ASYNC110 - nobody tells when it is done
            await asyncio.sleep(0.01)
