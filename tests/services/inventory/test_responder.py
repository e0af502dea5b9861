"""Whoever asks the inventory over the bus is told what it knows now."""

import asyncio
import json
from datetime import timedelta

import pytest

from events.errors import Denied
from schemas.cluster import LIFECYCLE, Pending
from schemas.inventory import NodeSeen, Offer, Offers
from schemas.subjects import Key
from schemas.wish import Limits, Need, Wish
from services.clients.workload_clusters import WorkloadClusters
from services.inventory.market.loop import MarketLoop
from services.inventory.service import Inventory
from services.runtime.entity_store import EntityStore
from services.runtime.level_publisher import LevelPublisher
from tests.context import context


@pytest.fixture
async def asked(stage, make):
    """A question to a running inventory, over a connection of its own."""
    bus, clock = stage.bus, lambda: make.T0
    wish = Wish(tenant="acme", colony="train", cluster="", uid="c1", generation=1, need=Need(pools=()), limits=Limits())
    store = EntityStore(context(bus, clock), LIFECYCLE)
    await store.write(Key("cluster", "acme", "train"), Pending(uid="c1.1", wish=wish), cause="", cancels_timer=False)
    levels = LevelPublisher(context(bus, clock), NodeSeen, Offers)
    await levels.publish(
        NodeSeen(uid="u", node="n1", ready=True, accelerator="H100", accelerators=8), "acme", "train", "n1"
    )
    offer = Offer(cloud="aws", region="r1", instance="i", accelerator="H100", accelerators=8, price=20.0)
    await levels.publish(Offers(cloud="aws", region="r1", offers=(offer,)), "aws", "r1")
    hour = timedelta(hours=1)
    market = MarketLoop(context(bus, clock), (), refresh=hour, half_life=hour)
    workloads = WorkloadClusters(stage.kube, lambda _: asyncio.sleep(0, stage.kube))
    inventory = Inventory(context(bus, clock), workloads, market)
    task = asyncio.ensure_future(inventory.run())
    await inventory.ready.wait()
    other = bus.again()

    async def ask(name: str, **question):
        return json.loads(await other.ask(f"ask.inventory.{name}", json.dumps(question).encode()))

    yield ask
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)


async def test_nodes_and_offers_are_answered_from_what_was_said_last(asked):
    nodes, offers = await asked("nodes", tenant="acme"), await asked("offers", accelerator="H100")
    assert [(item["cluster"], item["node"]) for item in nodes["items"]] == [("train", "n1")]
    assert [item["price"] for item in offers["items"]] == [20.0]
    assert (await asked("gpus"))["total"] == (await asked("storage"))["total"] == 0


async def test_a_wrong_question_is_refused_with_one_sentence(asked):
    with pytest.raises(Denied, match=r"^limit is 0: expected 1 to 1000$"):
        await asked("nodes", limit=0)
