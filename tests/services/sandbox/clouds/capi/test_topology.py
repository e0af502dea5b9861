"""A Cluster that names a ClusterClass gets its parts, follows its topology, and heeds no hand on what that made."""

import asyncio
from contextlib import asynccontextmanager
from typing import Any

import pytest

from events.kube.resources import CLUSTERCLASSES, CLUSTERS, MACHINEDEPLOYMENTS, MACHINES, NODES
from services.sandbox.clouds.model.annotations import CLOUD, CONTROL_PLANE, CONTROLPLANES, DEVCLUSTERS, REGION
from services.sandbox.clouds.model.billing import machines_ever
from tests.samples import cluster_class

pytestmark = pytest.mark.looptime

OLD, NEW = "v1.34.0", "v1.35.0"
MADE = (CLUSTERS, CONTROLPLANES, DEVCLUSTERS, MACHINEDEPLOYMENTS, MACHINES)


def pools(**sizes):
    variables = [{"name": "instanceType", "value": "p5.48xlarge"}, {"name": "spot", "value": True}]
    return [
        {"class": "default", "name": name, "replicas": size, "variables": {"overrides": variables}}
        for name, size in sizes.items()
    ]


async def ask(sandbox, **sizes):
    topology = {
        "classRef": {"name": "gpus"}, "version": OLD, "variables": [{"name": "region", "value": "us-east-1"}],
        "workers": {"machineDeployments": pools(**sizes)},
    }  # fmt: skip
    meta = {"name": "burst", "namespace": "default"}
    await sandbox.kube.create(CLUSTERS, {"metadata": meta, "spec": {"topology": topology}})


async def edit(sandbox, **topology):
    await sandbox.kube.patch(CLUSTERS, "burst", "default", {"spec": {"topology": topology}})


@asynccontextmanager
async def running(sandbox):
    """A Cluster of a class, of two workers, that is whole."""
    await sandbox.kube.create(CLUSTERCLASSES, cluster_class())
    async with sandbox.running():
        await ask(sandbox, md=2)
        await sandbox.until(CLUSTERS, "burst", "Available")
        await asyncio.sleep(5)
        yield


async def workers(sandbox):
    """Of every pool, how many machines it has, and of which versions."""
    found: dict[Any, Any] = {}
    for each in await sandbox.all(MACHINES):
        labels = each["metadata"]["labels"]
        if CONTROL_PLANE not in labels:
            pool = labels["cluster.x-k8s.io/deployment-name"]
            found.setdefault(pool, []).append(each["spec"]["version"])
    return found


async def test_it_is_founded_on_the_classes_cloud_with_what_its_variables_say(sandbox):
    async with running(sandbox):
        assert await workers(sandbox) == {"burst-md": [OLD, OLD]}
        inside = (await sandbox.world.kube("default.burst").list(NODES)).items
        assert sum(each["status"]["capacity"].get("nvidia.com/gpu") == "8" for each in inside) == 2
        bill = [(one.instance, one.spot) for one in await machines_ever(sandbox.kube)]
        assert bill.count(("p5.48xlarge", True)) == 2
        notes = (await sandbox.kube.get(CLUSTERS, "burst", "default"))["metadata"]["annotations"]
        assert (notes[CLOUD], notes[REGION]) == ("aws", "us-east-1")


async def test_pools_follow_the_topology_and_one_that_is_not_in_it_goes(sandbox):
    async with running(sandbox):
        await edit(sandbox, workers={"machineDeployments": pools(md=1, more=2)})
        await asyncio.sleep(30)
        assert await workers(sandbox) == {"burst-md": [OLD], "burst-more": [OLD, OLD]}
        await edit(sandbox, workers={"machineDeployments": pools(more=2)})
        await asyncio.sleep(30)
        assert await workers(sandbox) == {"burst-more": [OLD, OLD]}


async def test_its_version_reaches_the_workers_once_the_control_plane_runs_it(sandbox):
    async with running(sandbox), sandbox.watched():
        await edit(sandbox, version=NEW)
        await sandbox.until(MACHINEDEPLOYMENTS, "burst-md", "RollingOut")
        await sandbox.until(MACHINEDEPLOYMENTS, "burst-md", "RollingOut", "False")
        await asyncio.sleep(5)
        assert await workers(sandbox) == {"burst-md": [NEW, NEW]}
    variables = [
        (each["kind"], each["spec"]["template"]["spec"]["version"] if each["kind"] == "MachineDeployment" else "")
        for each in sandbox.seen
        if each["kind"] == "MachineDeployment" or each.get("status", {}).get("version") == NEW
    ]
    assert variables.index(("KubeadmControlPlane", "")) < variables.index(("MachineDeployment", NEW))


async def test_what_is_done_by_hand_to_what_it_made_is_undone(sandbox):
    async with running(sandbox):
        await sandbox.scale("burst-md", 5)
        await sandbox.kube.patch(CONTROLPLANES, "burst", "default", {"spec": {"version": NEW}})
        await asyncio.sleep(60)
        assert await workers(sandbox) == {"burst-md": [OLD, OLD]}
        assert (await sandbox.kube.get(CONTROLPLANES, "burst", "default"))["spec"]["version"] == OLD


async def test_without_its_class_nothing_is_made_and_it_begins_once_that_is_there(sandbox):
    async with sandbox.running():
        await ask(sandbox, md=1)
        await asyncio.sleep(30)
        assert not await sandbox.all(MACHINEDEPLOYMENTS)
        await sandbox.kube.create(CLUSTERCLASSES, cluster_class())
        await sandbox.until(CLUSTERS, "burst", "Available")


async def test_a_delete_leaves_nothing_of_it(sandbox):
    async with running(sandbox):
        await sandbox.kube.delete(CLUSTERS, "burst", "default")
        await sandbox.gone(CLUSTERS)
        assert [each for kind in MADE for each in await sandbox.all(kind)] == []
