"""A ClusterClass is told what was bought in the variables that it declares, and nothing else."""

import msgspec
import pytest

from events.errors import Denied
from events.kube.resources import CLUSTERCLASSES, CLUSTERS
from schemas.placement import Attempt, Placement
from schemas.wish import Need, PoolTaint
from services.clouds.capi import Capi
from services.clouds.node_config import pool_name
from services.clouds.topology import can_buy_spot, topology
from tests.samples import LOT, POOL, cluster_class

UID = "u1.1"
MORE = msgspec.structs.replace(POOL, name="more", taints=(PoolTaint(key="gpu"),), disk_gib=500)
LOTS = (LOT, msgspec.structs.replace(LOT, pool="more", zone="", instance="g6.48xlarge", spot=False, nodes=4))
ATTEMPT = Attempt(number=1, placement=Placement(cloud="aws", region="us-east-1", lots=LOTS))


@pytest.fixture
def asked(wish):
    return msgspec.structs.replace(wish, need=Need(pools=(POOL, MORE)))


def told(variables):
    return {each["name"]: each["value"] for each in variables}


def test_each_pool_is_a_pool_of_workers_with_variables_of_its_own(asked):
    made = topology(cluster_class(), asked, ATTEMPT, "v1beta2")
    workers, more = made["spec"]["topology"]["workers"]["machineDeployments"]
    assert (workers["class"], workers["name"], workers["replicas"], workers["failureDomain"]) == (
        "default", "workers", 2, LOT.zone,
    )  # fmt: skip
    assert (more["class"], more["name"], more["replicas"]) == ("more", "more", 4)
    assert "failureDomain" not in more
    assert [pool_name(each["metadata"]["labels"]) for each in (workers, more)] == ["workers", "more"]
    assert told(workers["variables"]["overrides"]) == {
        "region": "us-east-1", "zone": LOT.zone, "instanceType": LOT.instance, "spot": True, "diskGiB": 100,
        "nodeLabels": {"alate.dev/pool": "workers"}, "nodeTaints": [],
    }  # fmt: skip
    assert told(more["variables"]["overrides"])["nodeTaints"] == [{"key": "gpu", "value": "", "effect": "NoSchedule"}]
    assert told(more["variables"]["overrides"])["diskGiB"] == 500
    assert told(made["spec"]["topology"]["variables"]) == told(workers["variables"]["overrides"])


def test_a_class_that_declares_strings_is_told_strings(asked):
    made = topology(cluster_class(types={}), asked, ATTEMPT, "v1beta2")
    more = told(made["spec"]["topology"]["workers"]["machineDeployments"][1]["variables"]["overrides"])
    assert more == {
        "region": "us-east-1", "zone": "", "instanceType": "g6.48xlarge", "spot": "false", "diskGiB": "500",
        "nodeLabels": "alate.dev/pool=more", "nodeTaints": "gpu=:NoSchedule",
    }  # fmt: skip


def test_only_what_it_declares_is_told(wish):
    one = msgspec.structs.replace(ATTEMPT, placement=msgspec.structs.replace(ATTEMPT.placement, lots=LOTS[:1]))
    small = topology(cluster_class("region", "instanceType", "theirs"), wish, one, "v1beta2")
    assert told(small["spec"]["topology"]["variables"]) == {"region": "us-east-1", "instanceType": LOT.instance}
    assert not can_buy_spot(cluster_class("region", "instanceType"))
    assert can_buy_spot(cluster_class())


@pytest.mark.parametrize(
    ("version", "named"), [("v1beta2", {"classRef": {"name": "gpus"}}), ("v1beta1", {"class": "gpus"})]
)
def test_each_version_names_its_class_in_its_own_way(asked, version, named):
    made = topology(cluster_class(), asked, ATTEMPT, version)
    assert made["apiVersion"] == f"cluster.x-k8s.io/{version}"
    assert {key: value for key, value in made["spec"]["topology"].items() if key.startswith("class")} == named


@pytest.mark.parametrize(
    ("lacking", "sentence"),
    [
        (cluster_class("region", "nodeTaints"), "declares no variable instanceType"),
        (cluster_class("region", "instanceType"), "declares no variable nodeTaints"),
        (cluster_class(workers=()), "has no class of machineDeployments"),
    ],
)
def test_a_class_that_cannot_be_told_what_makes_the_cluster_is_refused(asked, lacking, sentence):
    with pytest.raises(Denied, match=f"ClusterClass gpus {sentence}") as denied:
        topology(lacking, asked, ATTEMPT, "v1beta2")
    assert denied.value.reason == "BadTemplate"


async def test_where_there_is_a_class_for_the_cloud_the_cluster_is_a_topology_of_it(server, asked):
    await server.create(CLUSTERCLASSES, cluster_class())
    backend = Capi(server)
    assert await backend.reach(asked) == {"aws": True, "azure": True, "gcp": True, "dev": True}
    for _ in range(2):
        await backend.launch(asked, ATTEMPT, UID)
    made = await server.get(CLUSTERS, "train-a-1", "default")
    assert made["spec"]["topology"]["classRef"] == {"name": "gpus"}
    assert made["metadata"]["labels"]["alate.dev/uid"] == UID


async def test_a_topology_gets_another_size_on_the_cluster(server, asked):
    await server.create(CLUSTERCLASSES, cluster_class())
    await Capi(server).launch(asked, ATTEMPT, UID)
    before = (await server.get(CLUSTERS, "train-a-1", "default"))["spec"]["topology"]
    larger = (LOTS[0], msgspec.structs.replace(LOTS[1], nodes=9))
    placement = msgspec.structs.replace(ATTEMPT.placement, lots=larger)
    await Capi(server).resize(asked, msgspec.structs.replace(ATTEMPT, placement=placement), UID)
    after = (await server.get(CLUSTERS, "train-a-1", "default"))["spec"]["topology"]
    assert [each["replicas"] for each in after["workers"]["machineDeployments"]] == [2, 9]
    assert {key: after[key] for key in after if key != "workers"} == {k: before[k] for k in before if k != "workers"}


async def test_a_colony_may_name_the_class(server, asked):
    await server.create(CLUSTERCLASSES, cluster_class())
    named = msgspec.structs.replace(asked, need=msgspec.structs.replace(asked.need, template="gpus"))
    assert await Capi(server).reach(named) == {"aws": True}
