"""Of what is not there nothing is missed for long, and it holds no connection."""

import pytest

from events.kube.client import Resource
from events.kube.resources import NODES, PODS, STORAGECLASSES
from schemas.inventory import NodeSeen, StorageSeen
from services.inventory.read.object_types import BESIDE, CLAIMS, SLICES
from services.inventory.watch.idle_kinds import AT_LAST, LATE

pytestmark = [pytest.mark.looptime]
CLASS = {"metadata": {"name": "fast"}, "provisioner": "p"}


def slices(name: str) -> dict:
    pool = {"name": name, "generation": 1, "resourceSliceCount": 1}
    spec = {"driver": "gpu.nvidia.com", "nodeName": name, "pool": pool, "devices": [{"name": "gpu-0"}]}
    return {"metadata": {"name": f"s-{name}"}, "spec": spec}


@pytest.fixture
async def cluster(stage, make):
    await stage.kube.create(NODES, {"metadata": {"name": "n1"}})
    return stage


def watched(stage) -> set[str]:
    return {topic.plural for topic in stage.api._hub._watches}


def noted(server) -> list[str]:
    """The path of every question that is asked from now on."""
    asked, send = [], server.send

    async def note(request):
        asked.append(request.path)
        return await send(request)

    server.send = note
    return asked


def looked_at(asked) -> set[Resource]:
    return {kind for kind in BESIDE if any(path.endswith(f"/{kind.plural}") for path in asked)}


async def test_only_what_there_is_some_of_is_watched_beside_nodes_and_pods(cluster):
    await cluster.kube.create(STORAGECLASSES, CLASS)
    await cluster.watch()
    await cluster.settled(3 * AT_LAST)
    assert watched(cluster) == {NODES.plural, PODS.plural, STORAGECLASSES.plural}


async def test_claims_are_watched_where_something_can_be_claimed(cluster):
    await cluster.kube.create(SLICES, slices("n1"))
    await cluster.watch()
    await cluster.settled(2 * LATE)
    assert watched(cluster) == {NODES.plural, PODS.plural, SLICES.plural, CLAIMS.plural}


async def test_what_comes_to_a_quiet_cluster_is_seen_in_the_end(cluster):
    await cluster.watch()
    await cluster.settled(LATE)
    await cluster.kube.create(STORAGECLASSES, CLASS)
    await cluster.settled(LATE)
    assert await cluster.last(StorageSeen, "fast") is None
    await cluster.settled(AT_LAST)
    assert (await cluster.last(StorageSeen, "fast")).freshness == "known"


async def test_what_comes_with_a_pod_is_seen_at_once(cluster, make):
    await cluster.watch()
    await cluster.settled(LATE)
    await cluster.kube.create(PODS, {"metadata": {"name": "driver", "namespace": "default"}} | _spec(make))
    await cluster.kube.create(SLICES, slices("n1"))
    await cluster.settled()
    assert len((await cluster.last(NodeSeen, "n1")).devices) == 1


async def test_a_node_brings_devices_and_storage_comes_with_the_pods_of_its_driver(cluster, make):
    await cluster.watch()
    await cluster.settled(LATE)
    asked = noted(cluster.server)
    await cluster.kube.create(NODES, {"metadata": {"name": "n2"}})
    await cluster.settled(LATE)
    assert looked_at(asked) == {SLICES, CLAIMS}
    await cluster.kube.create(PODS, {"metadata": {"name": "driver", "namespace": "default"}} | _spec(make))
    await cluster.settled(LATE)
    assert looked_at(asked) == set(BESIDE)


async def test_a_cluster_that_never_rests_is_not_asked_all_the_time(cluster, make):
    await cluster.watch()
    await cluster.settled()
    asked = noted(cluster.server)
    for number in range(300):
        name = {"name": f"p{number}", "namespace": "default"}
        await cluster.kube.create(PODS, {"metadata": name} | _spec(make))
        await cluster.settled(1.0)
    assert 5 <= sum(path.endswith(SLICES.plural) for path in asked) < 20


def _spec(make) -> dict:
    return {"spec": make.pod("p", "n1")["spec"]}
