"""A pool whose size an autoscaler sets bears its bounds and what a node has; its replicas are nobody's of ours."""

import msgspec
import pytest

from events.errors import Denied, TryLater
from events.kube.resources import CLUSTERCLASSES, CLUSTERS, CONFIGMAPS, MACHINEDEPLOYMENTS
from schemas.placement import Attempt, NodeGroup, Placement
from schemas.wish import Need, PoolTaint, ScaledBy
from services.clouds.capi import Capi
from services.clouds.k0rdent import K0rdent
from services.clouds.node_config import autoscaler_annotations, pool_of
from services.clouds.topology import topology
from tests.samples import LOT, POOL, cluster_class

UID = "u1.1"
NAME = "train-a-1-workers"
GROUP = "cluster.x-k8s.io/cluster-api-autoscaler-node-group"
CAPACITY = "capacity.cluster-autoscaler.kubernetes.io"
replace = msgspec.structs.replace
ASKED = replace(
    POOL, nodes=1, max_nodes=5, disk_gib=200, labels=(("team", "x"),), taints=(PoolTaint(key="gpu", value="yes"),)
)
BOUND = replace(LOT, nodes=1, group=NodeGroup(least=1, most=5, cpu=192.0, memory_gib=2048.0))
TOLD = {
    f"{GROUP}-min-size": "1",
    f"{GROUP}-max-size": "5",
    f"{CAPACITY}/cpu": "192",
    f"{CAPACITY}/memory": "2097152Mi",
    f"{CAPACITY}/ephemeral-disk": "200Gi",
    f"{CAPACITY}/gpu-type": "nvidia.com/gpu",
    f"{CAPACITY}/gpu-count": "8",
    f"{CAPACITY}/labels": "alate.dev/pool=workers,cluster-api/accelerator=H100,team=x",
    f"{CAPACITY}/taints": "gpu=yes:NoSchedule",
}


def attempt(lot=BOUND, most=5):
    lot = replace(lot, group=replace(lot.group, most=most))
    return Attempt(number=1, placement=Placement(cloud="aws", region="us-east-1", lots=(lot,)))


@pytest.fixture
def asked(wish):
    return replace(wish, need=Need(pools=(ASKED,), backend="capi", scaled_by=ScaledBy.CLUSTER_AUTOSCALER))


async def deployment(server):
    return await server.get(MACHINEDEPLOYMENTS, NAME, "default")


def bounds(annotated):
    return {key: value for key, value in annotated["metadata"]["annotations"].items() if key in TOLD}


def test_it_is_told_the_bounds_and_all_that_is_known_of_a_node(asked):
    assert autoscaler_annotations(BOUND, pool_of(asked, BOUND)) == TOLD


def test_what_is_not_known_of_a_node_is_left_out(asked):
    bare = replace(BOUND, group=NodeGroup(least=1, most=5), accelerator="MI300X")
    told = autoscaler_annotations(bare, replace(ASKED, taints=(), disk_gib=0))
    assert told.keys() == TOLD.keys() - {f"{CAPACITY}/{name}" for name in ("cpu", "memory", "ephemeral-disk", "taints")}
    assert told[f"{CAPACITY}/gpu-type"] == "amd.com/gpu"
    assert autoscaler_annotations(LOT, pool_of(asked, LOT)) == {}


async def test_a_templates_pool_bears_them_and_no_replicas(server, asked):
    await Capi(server).launch(asked, attempt(), UID)
    there = await deployment(server)
    assert bounds(there) == TOLD
    assert "replicas" not in there["spec"]


async def test_other_bounds_change_nothing_of_it_but_the_bounds(server, asked):
    await Capi(server).launch(asked, attempt(), UID)
    await server.patch(MACHINEDEPLOYMENTS, NAME, "default", {"spec": {"replicas": 3}}, manager="autoscaler")
    before = await deployment(server)
    wider = replace(asked, need=replace(asked.need, pools=(replace(ASKED, max_nodes=8),)))
    await Capi(server).resize(wider, attempt(most=8), UID)
    after = await deployment(server)
    assert bounds(after) == TOLD | {f"{GROUP}-max-size": "8"}
    assert after["spec"] == before["spec"]
    assert after["spec"]["replicas"] == 3
    await Capi(server).resize(wider, attempt(replace(BOUND, nodes=3), most=8), UID)
    assert (await deployment(server))["metadata"]["resourceVersion"] == after["metadata"]["resourceVersion"]


async def sized(server, asked, nodes):
    """What is there after a pool that may have two to five nodes has been given so many, and was looked at again."""
    two = replace(BOUND, nodes=2, group=replace(BOUND.group, least=2))
    ask = replace(asked, need=replace(asked.need, pools=(replace(ASKED, nodes=2),)))
    await Capi(server).launch(ask, attempt(two), UID)
    await server.patch(MACHINEDEPLOYMENTS, NAME, "default", {"spec": {"replicas": nodes}}, manager="somebody")
    await Capi(server).resize(ask, attempt(two), UID)
    return (await deployment(server))["spec"]["replicas"]


@pytest.mark.parametrize(("nodes", "has"), [(0, 2), (1, 2), (2, 2), (4, 4)])
async def test_it_is_raised_to_its_fewest_nodes_and_never_lowered(server, asked, nodes, has):
    assert await sized(server, asked, nodes) == has


async def test_what_an_autoscaler_sets_at_the_same_moment_is_not_overwritten(server, asked, monkeypatch):
    listed = server.list

    async def then_scaled(resource, *args, **kwargs):
        seen = await listed(resource, *args, **kwargs)
        if "cluster-name" in kwargs.get("labels", ""):
            await server.patch(MACHINEDEPLOYMENTS, NAME, "default", {"spec": {"replicas": 5}}, manager="autoscaler")
        return seen

    monkeypatch.setattr(server, "list", then_scaled)
    with pytest.raises(TryLater, match="has just been changed"):
        await sized(server, asked, 1)
    assert (await deployment(server))["spec"]["replicas"] == 5


@pytest.mark.parametrize("version", ["v1beta1", "v1beta2"])
def test_a_topologys_pool_bears_them_and_no_replicas(asked, version):
    made = topology(cluster_class(), asked, attempt(), version)
    (pool,) = made["spec"]["topology"]["workers"]["machineDeployments"]
    assert pool["metadata"]["annotations"] == TOLD
    assert "replicas" not in pool
    told = {each["name"]: each["value"] for each in pool["variables"]["overrides"]}
    assert told["nodeLabels"] == {"alate.dev/pool": "workers", "cluster-api/accelerator": "H100", "team": "x"}


async def test_other_bounds_of_a_topology_leave_its_replicas_unsaid(server, asked):
    await server.create(CLUSTERCLASSES, cluster_class())
    await Capi(server).launch(asked, attempt(), UID)
    await Capi(server).resize(asked, attempt(replace(BOUND, nodes=3), most=8), UID)
    cluster = await server.get(CLUSTERS, "train-a-1", "default")
    (pool,) = cluster["spec"]["topology"]["workers"]["machineDeployments"]
    assert (pool["metadata"]["annotations"], "replicas" in pool) == (TOLD | {f"{GROUP}-max-size": "8"}, False)


def test_a_class_that_could_not_label_its_nodes_is_refused_for_the_autoscaler_would_add_too_many(asked):
    plain = replace(asked, need=replace(asked.need, pools=(replace(ASKED, labels=(), taints=()),)))
    with pytest.raises(Denied, match="declares no variable nodeLabels"):
        topology(cluster_class("region", "instanceType"), plain, attempt(), "v1beta2")


async def test_a_template_without_a_machinedeployment_is_refused(server, asked):
    kept = await server.get(CONFIGMAPS, "alate-capi-aws", "default")
    text = kept["data"]["cluster.yaml"].replace("kind: MachineDeployment", "kind: MachinePool")
    await server.patch(CONFIGMAPS, "alate-capi-aws", "default", {"data": {"cluster.yaml": text}}, manager="person")
    with pytest.raises(Denied, match="makes no MachineDeployment for each pool"):
        await Capi(server).launch(asked, attempt(), UID)


async def test_k0rdent_which_sets_the_number_of_nodes_itself_says_what_to_do_instead(server, asked):
    with pytest.raises(Denied, match="use scaledBy Alate, or the backend capi"):
        await K0rdent(server).reach(asked)
