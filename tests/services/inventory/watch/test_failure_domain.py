"""Whatever one cluster says, its own counts alone suffer, and it is told why by name."""

import asyncio
import re
from contextlib import asynccontextmanager
from dataclasses import dataclass

import pytest

from events.meters import CATALOG_FAILURES
from services.inventory.watch.watcher import VIOLATIONS
from services.market.catalog_parser import CatalogText
from services.runtime.workqueue import FAILURES
from tests.foreign import Foreign
from tests.services.inventory.fleet import Fleet, fleet

pytestmark = [pytest.mark.looptime]
GPU = "nvidia.com/gpu"
COLUMNS = "InstanceType,AcceleratorName,AcceleratorCount,vCPUs,MemoryGiB,Price,Region"


def affinity(operator, *values):
    term = {"matchExpressions": [{"key": "nvidia.com/gpu.count", "operator": operator, "values": list(values)}]}
    return {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": [term]}}}


@pytest.fixture
def whole(make):
    def made(*pods, nodes=None):
        return Foreign(nodes=[make.node("n1")] if nodes is None else nodes, pods=[make.pod("p1", gpu=2), *pods])

    return made


@asynccontextmanager
async def beside(whole, odd):
    """A cluster that says odd things beside one of another tenant that does not."""
    async with fleet(acme=whole(), evil=odd) as made:
        await asyncio.sleep(5)
        yield made
        acme = await made.seen("acme")
        assert (acme.known, acme.accelerators, acme.allocated, acme.degraded) == (True, 8, 2, ())


@pytest.mark.parametrize(("operator", "value"), [("Gt", "abc"), ("Like", "5")])
async def test_a_pod_whose_affinity_means_nothing_ends_no_count(whole, make, operator, value):
    pod = make.pod("p2", "", phase="Pending", gpu=8)
    pod["spec"]["affinity"] = affinity(operator, value)
    async with beside(whole, whole(pod)) as made:
        evil = await made.seen("evil")
        assert (evil.accelerators, evil.pods, evil.degraded) == (8, 2, ())


@pytest.mark.parametrize("item", [{}, {"metadata": None}, {"metadata": {}}, {"metadata": {"name": ""}}])
async def test_a_list_of_nameless_objects_costs_its_cluster_those_alone(whole, item):
    async with beside(whole, whole(item)) as made:
        evil = await made.seen("evil")
        assert (evil.known, evil.accelerators, evil.allocated) == (True, 8, 2)
        assert await made.unread("evil") == "1 not counted, as it cannot be read: a Pod without a name"


@pytest.mark.parametrize(
    ("field", "value", "where"),
    [
        ("nodeName", 5, "$.spec.nodeName"),
        ("affinity", affinity("Gt", 5), "values[0]"),
        ("affinity", affinity({"a": 1}, "5"), "operator"),
        ("tolerations", [5], "$.spec.tolerations[0]"),
        ("nodeSelector", ["a"], "$.spec.nodeSelector"),
        ("containers", {"a": 1}, "$.spec.containers"),
        ("containers", [{"name": "c", "resources": {"requests": {GPU: ["8"]}}}], "TypeError"),
    ],
)
async def test_a_pod_of_an_odd_shape_is_set_aside_and_named(whole, make, field, value, where):
    pod = make.pod("odd")
    pod["spec"][field] = value
    async with beside(whole, whole(pod)) as made:
        evil = await made.seen("evil")
        assert (evil.known, evil.accelerators, evil.allocated) == (True, 8, 2)
        told = await made.unread("evil")
        assert told.startswith("1 not counted, as it cannot be read: Pod default/odd: ")
        assert where in told
        assert dict(made.meters.counts(VIOLATIONS)) == {"Unreadable": 1}


async def test_a_cluster_with_a_pod_that_cannot_be_read_is_not_idle(make):
    odd = make.pod("odd")
    odd["spec"]["nodeName"] = 5
    async with fleet(acme=Foreign(nodes=[make.node("n1")], pods=[odd])) as made:
        await asyncio.sleep(5)
        assert (await made.seen("acme")).idle_since is None
        made.servers["acme"].say("pods", odd, "DELETED")
        await asyncio.sleep(5)
        assert (await made.seen("acme")).idle_since is not None


async def test_an_object_that_was_mended_is_counted_again(whole, make):
    server = whole()
    async with beside(whole, server) as made:
        odd = make.pod("p1", gpu=2)
        odd["spec"]["tolerations"] = "all"
        server.say("pods", odd | {"metadata": odd["metadata"] | {"resourceVersion": "1000001"}})
        await asyncio.sleep(5)
        assert (await made.seen("evil")).allocated == 0
        assert "Pod default/p1: Expected" in await made.unread("evil")
        server.say("pods", make.pod("p1", gpu=2, version=1000002))
        await asyncio.sleep(5)
        evil = await made.seen("evil")
        assert (evil.allocated, evil.degraded) == (2, ())


async def test_a_nameless_object_that_was_mended_is_told_of_no_more(whole):
    server = whole({})
    async with beside(whole, server) as made:
        server.kinds["pods"].remove({})
        server.end_watches()
        await asyncio.sleep(5)
        assert await made.unread("evil") == ""


async def test_a_node_that_cannot_be_read_is_there_and_has_nothing(whole, make):
    odd = make.node("n2") | {"spec": {"taints": [{"key": 5}]}}
    async with beside(whole, whole(nodes=[make.node("n1"), odd])) as made:
        evil, node = await made.seen("evil"), await made.node("evil", "n2")
        assert (evil.nodes, evil.accelerators) == (1, 8)
        assert (node.ready, node.present, node.degraded[0].reason) == (False, True, "Unreadable")
        assert "Node n2: Expected `str`, got `int` - at `$.spec.taints[0].key`" in await made.unread("evil")


async def test_a_kubeconfig_that_is_no_text_is_told_of_its_cluster_alone(whole):
    made = Fleet({"acme": whole()})
    await made.found("acme")
    await made.found("evil", b"\xff\xfe not text")
    async with made.counted():
        await asyncio.sleep(90)
        assert (await made.seen("acme")).known
        evil = await made.seen("evil")
        assert (evil.known, evil.refusal) == (
            False,
            "Secret evil/evil-kc holds no text under the key value: expected a kubeconfig",
        )


async def test_a_cluster_over_which_our_own_code_fails_is_told_and_asked_later_and_later(whole, monkeypatch, capsys):
    from services.inventory.read import totals  # noqa: PLC0415 - it is broken here
    from services.inventory.watch import cluster_state  # noqa: PLC0415 - it is broken here

    count, server, tries = totals.cluster_seen, whole(), []

    def broken(blank, nodes, *more):
        if sum(nodes.by_model.values()) == 16:
            tries.append(asyncio.get_running_loop().time())
            raise AssertionError("a secret of ours")
        return count(blank, nodes, *more)

    monkeypatch.setattr(cluster_state, "cluster_seen", broken)
    async with beside(whole, server) as made:
        n2 = server.kinds["nodes"][0] | {"metadata": {"name": "n2", "uid": "n2", "labels": {}}}
        server.say("nodes", n2)
        await asyncio.sleep(300)
        evil = await made.seen("evil")
        assert (evil.known, evil.freshness, evil.accelerators) == (False, "stale", 8)
        assert re.fullmatch(
            r"AssertionError in test_failure_domain\.py:\d+; it is watched again after a growing delay", evil.unreadable
        )
        assert 5 < len(tries) < 30
        assert dict(made.meters.counts(FAILURES)) == {"cluster.watch": len(tries)}
        server.say("nodes", n2, "DELETED")
        await asyncio.sleep(60)
        evil = await made.seen("evil")
        assert (evil.known, evil.freshness, evil.accelerators, evil.degraded) == (True, "known", 8, ())


@dataclass
class Catalog:
    """One that is read as it is given."""

    cloud: str
    rows: int

    async def read(self):
        rows = "\n".join(f"{'p' * 100}{place},H100,8,192,2048,98.32,us-east-1" for place in range(self.rows))
        return (CatalogText(self.cloud, self.cloud, f"{COLUMNS}\n{rows}\n".encode()),)

    def mark(self):
        return None


async def test_a_catalog_that_the_bus_does_not_take_keeps_no_other_from_being_served():
    made = Fleet({}, sources=(Catalog("evil", 8000), Catalog("good", 1)))
    async with made.counted():
        assert len((await made.offers("good", "us-east-1")).offers) == 1
        assert dict(made.meters.counts(CATALOG_FAILURES)) == {"evil": 1}
