"""Levels, gauges and labels of ours: each is written when it differs, and nobody else's label is touched."""

import asyncio
from datetime import UTC, datetime

import pytest

from events.errors import Denied
from events.kube.resources import NODES
from events.memory.bus import MemoryBus
from events.meters import SERIES, Meters
from schemas.inventory import ClusterSeen, NodeSeen
from schemas.subjects import Key
from services.inventory.read.labels import labels_of
from services.inventory.watch.outputs import DEVICES, MEASURE, REFUSED, ClusterPublisher, GaugeUpdates, gauges
from services.process.otel_metrics import exposed
from services.runtime.level_publisher import LevelPublisher
from tests.context import context

pytestmark = [pytest.mark.looptime]
OURS = {
    "alate.dev/accelerator": "H100",
    "alate.dev/accelerator-count": "8",
    "alate.dev/accelerator-memory-mib": "81559",
    "alate.dev/accelerator-source": "gfd",
    "alate.dev/accelerator.H100": "8",
}


async def put(stage, node) -> None:
    meta = {key: node["metadata"][key] for key in ("name", "labels")}
    await stage.kube.apply(NODES, {"metadata": meta, "spec": {}}, manager="kubelet")
    written = {"metadata": {"name": meta["name"]}, "status": node["status"]}
    await stage.kube.apply(NODES, written, manager="kubelet", subresource="status")


async def labels(stage, name="n1") -> dict:
    return (await stage.kube.get(NODES, name))["metadata"].get("labels", {})


@pytest.fixture
async def labelled(stage, make):
    foreign = {"zone": "a", "alate.dev/team": "vision"}
    await put(stage, make.node("n1", labels=make.H100 | foreign))
    await stage.watch(labels=labels_of)
    return stage


async def test_a_node_is_given_its_labels_beside_those_of_others(labelled, make):
    await labelled.settled()
    assert await labels(labelled) == make.H100 | {"zone": "a", "alate.dev/team": "vision"} | OURS


async def test_labels_follow_what_the_node_offers(labelled, make):
    await labelled.settled()
    node = make.node("n1", gpus="4")
    await put(labelled, node)
    await labelled.settled()
    assert (await labels(labelled))["alate.dev/accelerator.H100"] == "4"


async def test_a_label_of_ours_that_somebody_took_or_changed_is_put_right(labelled, make):
    await labelled.settled()
    for value in (None, "mine"):
        patch = {"metadata": {"labels": {"alate.dev/accelerator": value}}}
        await labelled.kube.patch(NODES, "n1", None, patch, manager="kubectl")
        await labelled.settled()
        assert (await labels(labelled))["alate.dev/accelerator"] == "H100"


async def test_at_rest_and_after_a_restart_no_label_is_written_again(labelled):
    await labelled.settled()
    version = (await labelled.kube.get(NODES, "n1"))["metadata"]["resourceVersion"]
    await labelled.stop()
    await labelled.watch(labels=labels_of)
    await labelled.settled(400)
    assert (await labelled.kube.get(NODES, "n1"))["metadata"]["resourceVersion"] == version


async def test_switched_off_ours_are_taken_off_and_no_others(labelled, make):
    await labelled.settled()
    await labelled.stop()
    await labelled.watch()
    await labelled.settled()
    assert await labels(labelled) == make.H100 | {"zone": "a", "alate.dev/team": "vision"}


async def test_never_switched_on_no_node_is_written_to(stage, make):
    await put(stage, make.node("n1"))
    before = await stage.kube.get(NODES, "n1")
    await stage.watch()
    await stage.settled()
    assert await stage.kube.get(NODES, "n1") == before


async def test_a_refusal_is_told_once_and_tried_again_later(stage, make, monkeypatch):
    await put(stage, make.node("n1"))
    apply, tries = stage.kube.apply, []

    async def refused(*args, **more):
        tries.append(args)
        if len(tries) == 1:
            raise Denied("nodes is forbidden: no right to patch", "Forbidden")
        return await apply(*args, **more)

    monkeypatch.setattr(stage.kube, "apply", refused)
    await stage.watch(labels=labels_of)
    await stage.settled()
    assert [each.reason for each in (await stage.last(ClusterSeen)).degraded] == ["Unlabelled"]
    await stage.settled(REFUSED)
    assert (await labels(stage))["alate.dev/accelerator"] == "H100"
    assert (await stage.last(ClusterSeen)).degraded == ()


async def test_a_node_that_has_just_gone_is_not_brought_back_by_its_labels(stage, make, monkeypatch):
    await put(stage, make.node("n1"))
    apply = stage.kube.apply

    async def late(*args, **more):
        await stage.kube.delete(NODES, "n1")
        return await apply(*args, **more)

    monkeypatch.setattr(stage.kube, "apply", late)
    await stage.watch(labels=labels_of)
    await stage.settled(100)
    assert (await stage.kube.list(NODES)).items == ()


def test_amounts_are_told_by_model_and_devices_by_health(make):
    book = make.book(
        [make.node(f"n{n}", gpus="7", capacity={make.GPU: "8"}) for n in range(50)], [make.pod(on="n1", gpu=2)]
    )
    found = gauges("acme.train", make.whole(book), book.nodes.values())
    (labels,) = found["alate.inventory.available"]
    assert dict(labels) == {"cluster": "acme.train", "model": "H100", "freshness": "known"}
    assert found["alate.inventory.available"][labels] == 348
    by_health = {dict(labels)["health"]: value for labels, value in found[DEVICES].items()}
    assert by_health == {"healthy": 350, "unhealthy": 50}


def test_a_gauge_is_scraped_and_replaced_whole():
    meters = Meters()
    scrape = exposed("inventory", meters)
    meters.gauge("alate.inventory.available", "a", {(("cluster", "a"), ("model", "H100")): 8})
    meters.gauge("alate.inventory.available", "a", {(("cluster", "a"), ("model", "L4")): 2})
    text = scrape("")[0].decode()
    assert 'alate_inventory_available{cluster="a",model="L4"} 2.0' in text
    assert "H100" not in text


def test_series_have_a_bound():
    meters = Meters()
    meters.gauge("g", "a", {(("cluster", "a"), ("model", str(n))): n for n in range(2 * SERIES)})
    assert len(meters.gauges("g")) == SERIES


KEY = Key("cluster", "acme", "train")
AVAILABLE = "alate.inventory.available"


class Counting(Meters):
    def __init__(self):
        super().__init__()
        self.counted = 0

    def gauge(self, name, source, series):
        self.counted += name == AVAILABLE
        super().gauge(name, source, series)


async def measured(make):
    meters, clock = Counting(), lambda: datetime(2026, 1, 1, tzinfo=UTC)
    levels = LevelPublisher(context(MemoryBus(), clock, meters), NodeSeen, ClusterSeen)
    await levels.refresh()
    book = make.book([make.node()], [])
    publisher = ClusterPublisher(levels, KEY, clock)
    await publisher.publish(make.whole(book))
    return meters, GaugeUpdates(book, publisher, meters)


async def test_what_changes_within_a_moment_is_counted_once_and_what_changes_later_again(make):
    meters, measures = await measured(make)
    for _ in range(3):
        measures.schedule()
    assert meters.counted == 0
    await asyncio.sleep(2 * MEASURE)
    assert meters.counted == 1
    measures.schedule()
    await asyncio.sleep(2 * MEASURE)
    assert meters.counted == 2
    ((labels, value),) = meters.gauges(AVAILABLE)
    assert (labels["cluster"], value) == (KEY.path, 8)


async def test_what_was_closed_counts_no_more(make):
    meters, measures = await measured(make)
    measures.schedule()
    measures.close()
    await asyncio.sleep(2 * MEASURE)
    assert meters.counted == 0
