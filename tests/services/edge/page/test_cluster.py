"""The page of a cluster names the cause of every transition, and knows what the cluster has cost at each of them."""

from datetime import timedelta

import msgspec
import pytest

from events.bus import Message
from events.cloudevents import CloudEvent, encode
from events.errors import TryLater
from events.memory.bus import MemoryBus
from schemas import cluster, teardown
from schemas.questions import InventoryAnswer
from services.edge.page import colonies
from services.edge.page.causes import OWN, REPLACED
from services.edge.page.cluster import cluster_page
from services.errors import Failed
from tests.services.edge.page.colonies import Colonies, colony
from tests.services.edge.page.states import BEGAN, seen, state, subject, wish

HOUR = timedelta(hours=1)
KUBE = Colonies(colony())
COLONIES = colonies.Colonies(KUBE, lambda: BEGAN)


async def publish(bus, one, name, cause=""):
    lineage = {"causationid": cause} if cause else {}
    event = CloudEvent(id=name, source="/t", type="dev.alate.test", time=BEGAN, extensions=lineage)
    headers, _ = encode(event)
    await bus.publish(Message(subject(one), msgspec.json.encode(one), headers))


async def causes(bus):
    page = await cluster_page(bus, COLONIES, "acme", "train-gpu")
    return [(each.state, each.cause.text, each.cause.position) for each in page.transitions]


async def test_a_cause_is_named_and_says_where_it_is_stored():
    bus = MemoryBus()
    await publish(bus, state(cluster.Ready), "c1", "w1")
    await publish(bus, state(teardown.Armed), "t1", "c1")
    assert (await causes(bus))[1] == ("armed", "cluster train-gpu became ready", "EVENTS/1")


async def test_a_transition_without_a_cause_came_from_a_timer_or_its_own_work():
    bus = MemoryBus()
    await publish(bus, state(cluster.Pending), "c1")
    assert await causes(bus) == [("pending", OWN, "")]


async def test_a_count_that_is_still_the_newest_is_named():
    bus = MemoryBus()
    await publish(bus, seen(), "s1")
    await publish(bus, state(cluster.Ready), "c1", "s1")
    assert await causes(bus) == [("ready", "a count of the nodes and accelerators", "LEVELS/1")]


async def test_an_observation_that_was_replaced_is_said_to_be():
    bus = MemoryBus()
    await publish(bus, state(cluster.Provisioned), "c1", "w1")
    await publish(bus, state(cluster.Ready), "c2", "s1")
    assert (await causes(bus))[1] == ("ready", REPLACED, "")


@pytest.mark.parametrize(
    ("after", "text"),
    [
        ({"event": "run-4711"}, "a change of Colony train, by event run-4711"),
        ({"generation": 2}, "a change of Colony train"),
        ({"deleting": True, "release": "end-1"}, "the deletion of Colony train, by event end-1"),
    ],
)
async def test_a_change_of_the_colony_is_named_though_a_newer_one_replaced_it(after, text):
    bus = MemoryBus()
    await publish(bus, state(cluster.Pending), "c1", "w1")
    asked = msgspec.structs.replace(wish(), **after)
    await publish(bus, state(cluster.Ready, asked), "c2", "w2")
    assert [cause for _, cause, _ in await causes(bus)] == ["the request of Colony train", text]


async def test_the_cost_is_known_at_every_transition():
    bus = MemoryBus()
    await publish(bus, state(cluster.Pending), "c1")
    await publish(bus, state(cluster.Launching), "c2")
    await publish(bus, state(cluster.Ready, since=BEGAN + HOUR), "c3")
    await publish(bus, state(cluster.Released, since=BEGAN + 2 * HOUR, cost_usd=82.0), "c4")
    points = (await cluster_page(bus, COLONIES, "acme", "train-gpu")).costs
    assert [(point.cost, point.price) for point in points] == [(0.0, 0.0), (0.0, 41.0), (41.0, 41.0), (82.0, 0.0)]


async def test_nodes_are_those_of_the_inventory():
    class Inventory(MemoryBus):
        async def ask(self, subject, data=b""):
            asked.append((subject, msgspec.json.decode(data)))
            return msgspec.json.encode(InventoryAnswer(items=(msgspec.Raw(b'{"node":"n1"}'),), total=1, remaining=0))

    bus, asked = Inventory(), []
    await publish(bus, state(cluster.Ready), "c1")
    page = await cluster_page(bus, COLONIES, "acme", "train-gpu")
    assert msgspec.json.decode(msgspec.json.encode(page))["nodes"] == [{"node": "n1"}]
    assert asked == [("ask.inventory.nodes", {"tenant": "acme", "cluster": "train-gpu"})]


async def test_conditions_and_pools_are_those_of_the_colony_without_manifests():
    bus = MemoryBus()
    await publish(bus, state(cluster.Ready), "c1")
    view = (await cluster_page(bus, COLONIES, "acme", "train-gpu")).view
    assert (view.status["phase"], view.spec["timeToLive"], view.clusters) == ("Ready", "6h", ("gpu",))
    assert "addons" not in view.spec


async def test_without_the_kubernetes_api_the_page_shows_the_rest():
    bus, away = MemoryBus(), Colonies()
    away.error = TryLater("no answer")
    await publish(bus, state(cluster.Ready), "c1")
    page = await cluster_page(bus, colonies.Colonies(away, lambda: BEGAN), "acme", "train-gpu")
    assert (page.view, len(page.transitions)) == (None, 1)


async def test_a_state_that_cannot_be_read_is_still_a_transition():
    bus = MemoryBus()
    await bus.publish(Message("cluster.ready.acme.train-gpu", b'{"uid":"u"}'))
    page = await cluster_page(bus, COLONIES, "acme", "train-gpu")
    assert [each.state for each in page.transitions] == ["ready"]
    assert (page.colony, page.costs, page.nodes) == ("", (), ())


async def test_an_unknown_cluster_has_no_page():
    with pytest.raises(Failed):
        await cluster_page(MemoryBus(), COLONIES, "acme", "nobody")
