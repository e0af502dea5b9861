"""What is on the bus is what the cluster is: whole, stale or gone, and never said twice."""

import asyncio
from datetime import timedelta

import pytest

from events.bus import Unavailable
from events.errors import Denied, TryLater
from events.kube.client import Kube
from events.kube.resources import NODES, PODS, STORAGECLASSES
from schemas.inventory import ClusterSeen, NodeSeen, StorageSeen
from services.inventory.read.object_types import CLAIMS, SLICES
from services.inventory.watch.kinds import AT_START, LATER
from services.sandbox.api.server.local import LocalTransport

pytestmark = [pytest.mark.looptime]
GPU = "nvidia.com/gpu"


async def put(kube: Kube, resource, item) -> dict:
    """Create it, or write all of it anew, its status too."""
    meta = {key: item["metadata"][key] for key in ("name", "namespace", "labels") if key in item["metadata"]}
    status = item.get("status")
    body = {key: value for key, value in item.items() if key != "status"} | {"metadata": meta}
    made = await kube.apply(resource, body, manager="test")
    if status:
        made = await kube.apply(resource, {"metadata": meta, "status": status}, manager="kubelet", subresource="status")
    return made


@pytest.fixture
async def cluster(stage, make):
    await put(stage.kube, NODES, make.node("n1"))
    await put(stage.kube, PODS, make.pod("p1", "n1", gpu=2))
    return stage


async def test_a_node_is_said_whole_with_all_it_says_of_itself(cluster):
    await cluster.watch()
    await cluster.settled()
    seen = await cluster.last(NodeSeen, "n1")
    assert (seen.schema_version, seen.source, seen.revision) == (1, "kubernetes/acme/train", 1)
    assert (seen.freshness, seen.present, seen.accelerators) == ("known", True, 8)
    assert seen.observed_at is not None
    assert seen.fresh_since == seen.observed_at
    whole = await cluster.last(ClusterSeen)
    assert (whole.nodes, whole.accelerators, whole.allocated, whole.pods, whole.known) == (1, 8, 2, 1, True)
    assert whole.models["H100"].available == 6000


async def test_a_new_cluster_is_told_of_before_its_storage(cluster):
    await put(cluster.kube, STORAGECLASSES, {"metadata": {"name": "fast"}, "provisioner": "p"})
    cluster.server.cut("slow", only="/apis/storage.k8s.io/")
    await cluster.watch()
    await cluster.settled()
    whole = await cluster.last(ClusterSeen)
    assert (whole.accelerators, whole.known, whole.degraded) == (8, True, ())
    assert await cluster.last(StorageSeen, "fast") is None
    cluster.server.mend()
    await cluster.settled(60)
    assert (await cluster.last(StorageSeen, "fast")).freshness == "known"


async def test_a_new_cluster_is_not_told_of_before_its_devices(cluster):
    cluster.server.cut("slow", only="/apis/resource.k8s.io/")
    await cluster.watch()
    await cluster.settled()
    assert await cluster.words() == 0


async def test_a_cluster_is_never_asked_more_than_three_questions_at_the_same_time(cluster):
    ask, under_way, most = cluster.server.send, 0, 0

    async def slowly(request):
        nonlocal under_way, most
        under_way += 1
        most = max(most, under_way)
        await asyncio.sleep(0.1)
        under_way -= 1
        return await ask(request)

    cluster.server.send = slowly
    await cluster.watch()
    await cluster.settled(5)
    assert (await cluster.last(ClusterSeen)).known
    assert most == 3


async def test_what_has_not_changed_is_not_said_again_even_by_the_next_process(cluster):
    await cluster.watch()
    await cluster.settled()
    words = await cluster.words()
    await cluster.settled(400)  # the API server ends every watch within 300 seconds
    await cluster.stop()
    await cluster.watch()
    await cluster.settled()
    assert await cluster.words() == words


async def test_a_change_is_said_with_the_next_revision(cluster):
    await cluster.watch()
    await cluster.settled()
    await cluster.kube.delete(PODS, "p1", "default", grace=0)
    await cluster.settled()
    seen = await cluster.last(NodeSeen, "n1")
    assert (seen.revision, seen.resources[GPU].allocated) == (2, 0)
    assert (await cluster.last(ClusterSeen)).idle_since is not None


async def test_an_api_server_away_for_fifteen_minutes_makes_data_stale_never_empty(cluster):
    await cluster.watch()
    await cluster.settled()
    before = await cluster.last(NodeSeen, "n1")
    cluster.server.cut()
    await cluster.settled(900)
    stale, whole = await cluster.last(NodeSeen, "n1"), await cluster.last(ClusterSeen)
    assert (stale.freshness, stale.present, stale.resources) == ("stale", True, before.resources)
    assert (whole.known, whole.nodes, whole.allocated) == (False, 1, 2)
    assert stale.fresh_since - before.observed_at < timedelta(seconds=30)
    cluster.server.mend()
    await cluster.settled(60)
    fresh = await cluster.last(NodeSeen, "n1")
    assert (fresh.freshness, (await cluster.last(ClusterSeen)).known) == ("known", True)


async def test_a_process_that_begins_while_the_api_server_is_away_says_stale(cluster):
    await cluster.watch()
    await cluster.settled()
    await cluster.stop()
    cluster.server.cut()
    words = await cluster.words()
    watcher = await cluster.watch()
    await cluster.settled()
    assert (watcher.settled.is_set(), await cluster.words()) == (True, words)
    await cluster.settled(AT_START)
    assert (await cluster.last(NodeSeen, "n1")).freshness == "stale"
    assert (await cluster.last(ClusterSeen)).known is False


@pytest.mark.parametrize("path", ["", "/nodes", "/pods", "/apis/resource.k8s.io", "/resourceslices", "/storageclasses"])
async def test_an_api_server_that_answers_late_after_a_restart_is_no_news(cluster, make, path):
    await put(cluster.kube, STORAGECLASSES, CLASS)
    await cluster.kube.create(SLICES, pool(1, 0, 1, "gpu-0", "gpu-1"))
    await cluster.watch()
    await cluster.settled()
    words = await cluster.words()
    await cluster.stop()
    cluster.server.cut("gave no answer in time", only=path)
    await cluster.watch()
    await cluster.settled(AT_START / 2)
    cluster.server.mend()
    await cluster.settled(3 * AT_START)
    assert await cluster.words() == words


async def test_a_source_beside_that_stays_away_is_told_with_all_that_can_be_heard(cluster):
    cluster.server.cut("gave no answer in time", only="/resourceslices")
    await cluster.watch()
    await cluster.settled(AT_START / 2)
    assert await cluster.last(ClusterSeen) is None
    await cluster.settled(AT_START)
    whole = await cluster.last(ClusterSeen)
    assert (whole.known, whole.accelerators) == (True, 8)
    assert [trouble.reason for trouble in whole.degraded] == ["SourceUnheard"]


async def test_a_short_silence_is_not_told(cluster):
    await cluster.watch()
    await cluster.settled()
    words = await cluster.words()
    cluster.server.cut()
    await cluster.settled(LATER / 2)
    cluster.server.mend()
    await cluster.settled(100)
    assert await cluster.words() == words


async def test_a_node_that_went_while_nobody_looked_is_gone_after_the_complete_list(cluster, make):
    await put(cluster.kube, NODES, make.node("n2"))
    await cluster.watch()
    await cluster.settled()
    await cluster.stop()
    await cluster.kube.delete(NODES, "n2")
    await cluster.watch()
    await cluster.settled()
    gone = await cluster.last(NodeSeen, "n2")
    assert (gone.freshness, gone.present, gone.ready) == ("gone", False, False)
    assert (await cluster.last(NodeSeen, "n1")).present is True


async def test_a_rotated_kubeconfig_is_taken_up_when_the_old_one_is_refused(cluster, make):
    other = Kube(LocalTransport(cluster.api, "management"), random=lambda: 0.5)
    now = {"kube": cluster.kube}

    async def opened() -> Kube:
        return now["kube"]

    await cluster.watch(open_=opened)
    await cluster.settled()
    cluster.server.cut("401 Unauthorized")
    await cluster.settled(30)
    assert (await cluster.last(ClusterSeen)).known is False
    now["kube"] = other
    await put(other, PODS, make.pod("p2", "n1", gpu=1))
    await cluster.settled(30)
    whole = await cluster.last(ClusterSeen)
    assert (whole.known, whole.allocated) == (True, 3)


async def test_two_processes_at_once_say_one_truth_and_come_to_rest(cluster, make):
    await cluster.watch()
    await cluster.watch()
    await cluster.settled()
    await put(cluster.kube, PODS, make.pod("p2", "n1", gpu=1))
    await cluster.settled()
    assert (await cluster.last(ClusterSeen)).allocated == 3
    words = await cluster.words()
    await cluster.settled(100)
    assert await cluster.words() == words


CLASS = {"metadata": {"name": "fast"}, "provisioner": "rbd.csi.ceph.com"}


async def test_a_storage_class_is_told_with_its_volumes_and_why_its_room_is_unknown(cluster):
    await put(cluster.kube, STORAGECLASSES, CLASS)
    await cluster.watch()
    await cluster.settled()
    seen = await cluster.last(StorageSeen, "fast")
    assert (seen.provisioner, seen.volumes, seen.available) == ("rbd.csi.ceph.com", 0, None)
    assert [trouble.reason for trouble in seen.degraded] == ["CapacityUnknown"]
    await cluster.kube.delete(STORAGECLASSES, "fast")
    await cluster.settled()
    assert (await cluster.last(StorageSeen, "fast")).freshness == "gone"


def pool(generation: int, part: int, parts: int, *devices: str) -> dict:
    spec = {
        "driver": "gpu.nvidia.com",
        "nodeName": "n1",
        "pool": {"name": "n1", "generation": generation, "resourceSliceCount": parts},
        "devices": [
            {
                "name": name,
                "attributes": {
                    "type": {"string": "gpu"},
                    "uuid": {"string": f"GPU-{name}"},
                    "productName": {"string": "NVIDIA H100 80GB HBM3"},
                    "driverVersion": {"version": "570.86.15"},
                },
                "capacity": {"memory": {"value": "80Gi"}},
            }
            for name in devices
        ],
    }
    return {"metadata": {"name": f"n1-{generation}-{part}"}, "spec": spec}


@pytest.fixture
async def dynamic(stage, make):
    await put(stage.kube, NODES, make.node("n1", gpus=None, labels={}))
    await stage.kube.create(SLICES, pool(1, 0, 1, "gpu-0", "gpu-1"))
    await stage.watch()
    return stage


@pytest.mark.parametrize(("said", "told"), [(1, 1), (-1, -1), (True, None), (2**70, None), ("1", None)])
def test_a_numa_node_that_cannot_be_is_not_told(make, said, told):
    odd = pool(1, 0, 1, "gpu-0")
    odd["spec"]["devices"][0]["attributes"]["resource.kubernetes.io/numaNode"] = {"int": said}
    book = make.book([make.node("n1", gpus=None, labels={})])
    make.add(book, SLICES, odd)
    assert [each.numa for each in make.only(book).devices] == [told]


async def test_devices_are_told_one_by_one_where_slices_are_served(dynamic):
    await dynamic.settled()
    seen = await dynamic.last(NodeSeen, "n1")
    assert [(each.id, each.model, each.source, each.memory_mib) for each in seen.devices] == [
        ("GPU-gpu-0", "H100", "dra", 81920),
        ("GPU-gpu-1", "H100", "dra", 81920),
    ]
    assert (seen.accelerators, seen.degraded) == (2, ())


async def test_half_a_pool_is_not_used_and_told_while_the_last_whole_one_is_served(dynamic):
    await dynamic.settled()
    await dynamic.kube.create(SLICES, pool(2, 0, 2, "gpu-0"))
    await dynamic.settled()
    half = await dynamic.last(NodeSeen, "n1")
    assert (half.accelerators, [trouble.reason for trouble in half.degraded]) == (2, ["PoolIncomplete"])
    await dynamic.kube.create(SLICES, pool(2, 1, 2, "gpu-7"))
    await dynamic.kube.delete(SLICES, "n1-1-0")
    await dynamic.settled()
    seen = await dynamic.last(NodeSeen, "n1")
    assert [each.id for each in seen.devices] == ["GPU-gpu-0", "GPU-gpu-7"]
    assert seen.degraded == ()


async def test_a_claim_tells_who_holds_which_device(dynamic, make):
    await dynamic.settled()
    holder = await put(dynamic.kube, PODS, make.pod("train", "n1", cpu="1"))
    uid = holder["metadata"]["uid"]
    meta = {"name": "c", "namespace": "default"}
    wanted = {"requests": [{"name": "gpu", "exactly": {"deviceClassName": "gpu.nvidia.com"}}]}
    await dynamic.kube.create(CLAIMS, {"metadata": meta, "spec": {"devices": wanted}})
    results = [{"request": "gpu", "driver": "gpu.nvidia.com", "pool": "n1", "device": "gpu-1"}]
    status = {
        "allocation": {"devices": {"results": results}},
        "reservedFor": [{"resource": "pods", "name": "train", "uid": uid}],
    }
    await dynamic.kube.apply(CLAIMS, {"metadata": meta, "status": status}, manager="s", subresource="status")
    await dynamic.settled()
    seen, whole = await dynamic.last(NodeSeen, "n1"), await dynamic.last(ClusterSeen)
    assert [each.allocated_to for each in seen.devices] == [(), ("default/train",)]
    assert (seen.takers, whole.allocated, whole.pods, whole.idle_since) == (1, 1, 1, None)
    await asyncio.sleep(0)


async def test_a_bus_that_is_away_for_ten_minutes_ends_no_watch(cluster, monkeypatch):
    publish, back = cluster.bus.publish, asyncio.get_running_loop().time() + 600

    async def away(*what, **how):
        if asyncio.get_running_loop().time() < back:
            raise Unavailable("no answer")
        return await publish(*what, **how)

    monkeypatch.setattr(cluster.bus, "publish", away)
    await cluster.watch()
    await cluster.settled(600)
    assert await cluster.last(NodeSeen, "n1") is None
    await cluster.settled(60)
    assert (await cluster.last(NodeSeen, "n1")).revision == 1
    assert not any(task.done() for task in cluster.tasks)


async def test_a_cluster_that_cannot_be_opened_is_asked_less_and_less_often(cluster):
    asked = []

    async def never():
        asked.append(asyncio.get_running_loop().time())
        raise TryLater("its kubeconfig is not there")

    await cluster.watch(open_=never)
    await cluster.settled(600)
    assert 40 < len(asked) < 70


@pytest.mark.parametrize(
    ("fault", "refusal"), [(Denied("401 Unauthorized", "Unauthorized"), "401 Unauthorized"), (TryLater("away"), None)]
)
async def test_that_a_new_cluster_refuses_us_is_told_once_and_that_it_is_away_is_not(cluster, fault, refusal):
    async def never():
        raise fault

    await cluster.watch(open_=never)
    await cluster.settled(AT_START - 1)
    assert await cluster.last(ClusterSeen) is None
    await cluster.settled(600)
    told = await cluster.last(ClusterSeen)
    assert (told and (told.known, told.refusal)) == (refusal and (False, refusal))
    words = await cluster.words()
    await cluster.stop()
    await cluster.watch(open_=never)
    await cluster.settled(600)
    assert await cluster.words() == words


async def test_one_that_lets_us_in_after_all_is_seen_whole(cluster):
    refused = True

    async def opened():
        if refused:
            raise Denied("401 Unauthorized", "Unauthorized")
        return cluster.kube

    await cluster.watch(open_=opened)
    await cluster.settled(AT_START + 1)
    refused = False
    await cluster.settled(60)
    whole = await cluster.last(ClusterSeen)
    assert (whole.known, whole.refusal, whole.accelerators) == (True, "", 8)
