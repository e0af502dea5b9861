"""Kinds without objects are not watched, and a broken watch is reported once it has lasted."""

import asyncio

import pytest

from events.kube.client import Resource
from events.kube.resources import NODES, PODS, STORAGECLASSES
from schemas.inventory import NodeSeen, StorageSeen
from services.inventory.read.object_types import BESIDE, CLAIMS, SLICES
from services.inventory.watch.kinds import AT_THE_LATEST, LATE, Outages

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
    await cluster.settled(3 * AT_THE_LATEST)
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
    await cluster.settled(AT_THE_LATEST)
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


@pytest.fixture
def told() -> list:
    return []


@pytest.fixture
async def silences(told):
    made = Outages(lambda *each: told.append((each, asyncio.get_running_loop().time())))
    yield made
    made.close()


async def test_a_silence_lasts_from_its_first_complaint_on(silences, told):
    silences.begin(NODES, "refused", 10.0)
    await asyncio.sleep(6)
    silences.begin(NODES, "timed out", 10.0)
    assert (NODES in silences, dict(silences.lasting)) == (True, {})
    await asyncio.sleep(5)
    assert told == [((NODES, "refused"), pytest.approx(10.0))]
    assert dict(silences.lasting) == {NODES: "refused"}


async def test_one_that_ends_in_time_is_never_told(silences, told):
    silences.begin(NODES, "refused", 10.0)
    await asyncio.sleep(9)
    silences.end(NODES)
    await asyncio.sleep(100)
    assert (told, bool(silences)) == ([], False)


async def test_who_answers_and_does_not_let_us_in_is_told_apart_from_who_cannot_be_heard(silences):
    silences.begin(NODES, "401", 10.0, refused=True)
    silences.begin(PODS, "timed out", 10.0)
    assert silences.refusals == ("401",)
    silences.begin(NODES, "timed out", 10.0)
    assert silences.refusals == ()
    silences.begin(PODS, "403", 10.0, refused=True)
    silences.end(PODS)
    assert silences.refusals == ()


async def test_each_source_is_silent_by_itself(silences, told):
    silences.begin(NODES, "refused", 10.0)
    silences.begin(PODS, "refused", 20.0)
    await asyncio.sleep(15)
    silences.end(NODES)
    assert (NODES in silences, PODS in silences, dict(silences.lasting)) == (False, True, {})


async def test_who_waits_for_a_silence_runs_once_one_begins_and_waits_again_when_it_is_over(silences):
    waiting = asyncio.ensure_future(silences.begun())
    await asyncio.sleep(100)
    assert not waiting.done()
    silences.begin(NODES, "refused", 10.0)
    silences.begin(PODS, "refused", 10.0)
    await waiting
    silences.end(NODES)
    await silences.begun()
    silences.end(PODS)
    with pytest.raises(TimeoutError):
        await asyncio.wait_for(silences.begun(), 100)
