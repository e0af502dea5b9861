"""Draining against Kubernetes' own controllers, which make again whatever is only deleted."""

import asyncio
from typing import Any

import pytest

from events.errors import NotFound
from events.kube.client import Kube
from events.kube.discovery import find
from events.kube.resources import DEPLOYMENTS, JOBS, NODES, PODS, PVCS, SERVICES
from schemas.entity import Due
from schemas.teardown import Cleaning, Drained, Draining
from schemas.wish import Limits
from services.runtime.machine import Waits
from services.sandbox.clouds.workloads.view import DAEMONSETS, STATEFULSETS
from tests.contracts.api.sides import closing
from tests.kube.fixtures import needs
from tests.kube.plane import PARTS, ControlPlane
from tests.services.teardown.founded import drained, look, swept
from tests.services.teardown.life import armed, tell
from tests.services.teardown.life import cluster as lives
from tests.story.kube.world import paced

pytestmark = [pytest.mark.kube, pytest.mark.timeout(600)]
AT_ONCE = 20.0
"""Seconds: as quick as controllers are, far below any deadline."""
ALLOCATABLE = {"cpu": "96", "memory": "1Ti", "pods": "110", "nvidia.com/gpu": "8"}


DELETES = "  name: pod-delete\nspec:\n"
ENDS = "    matchExpressions:\n    - key: '.metadata.deletionTimestamp'\n      operator: 'Exists'\n"
HEEDS = "    - key: '.metadata.labels.deaf'\n      operator: 'DoesNotExist'\n"


def deaf(stages):
    """The same file, with pods that never end though they are asked to."""
    before, after = stages.read_text().split(DELETES)
    assert ENDS in after
    stages.write_text(before + DELETES + after.replace(ENDS, ENDS + HEEDS, 1))


@pytest.fixture
def plane(tmp_path):
    """A control plane with all that acts on it; a Job's pods work for a while."""
    needs(*PARTS)
    found = ControlPlane(tmp_path / "plane", *PARTS)
    deaf(paced(found.folder / "stages.yaml"))
    with found:
        yield found


@pytest.fixture
async def cluster(plane):
    """The same, with two nodes of eight GPUs."""
    road = plane.transport()
    kube = Kube(road, random=lambda: 0.5)
    async with closing({"admin": road}):
        for number in range(2):
            name = f"gpu-{number}"
            await kube.create(NODES, {"metadata": {"name": name, "labels": {"kubernetes.io/hostname": name}}})
            status = {"allocatable": ALLOCATABLE, "capacity": ALLOCATABLE}
            await kube.patch(NODES, name, None, {"status": status}, subresource="status")
        yield kube


def spec(gpus, **more):
    limits = {"limits": {"nvidia.com/gpu": gpus}} if gpus else {}
    return {"containers": [{"name": "main", "image": "x", "resources": limits}]} | more


def controller(resource, name, gpus, **more):
    template = {"metadata": {"labels": {"app": name}}, "spec": spec(gpus)}
    if resource is JOBS:
        template["spec"]["restartPolicy"] = "Never"
        return {"metadata": {"name": name, "namespace": "default"}, "spec": {"template": template} | more}
    wanted = {"selector": {"matchLabels": {"app": name}}, "template": template} | more
    return {"metadata": {"name": name, "namespace": "default"}, "spec": wanted}


async def bound(kube, least):
    """So many pods at least are on nodes."""
    async with asyncio.timeout(120):
        while True:
            pods = [each for each in (await kube.list(PODS, "default")).items if each["spec"].get("nodeName")]
            if len(pods) >= least:
                return pods
            await asyncio.sleep(0.2)


async def held(kube):
    """How many pods on nodes are not finished."""
    over = ("Succeeded", "Failed")
    pods = (await kube.list(PODS, "default")).items
    return sum(bool(each["spec"].get("nodeName")) and each["status"]["phase"] not in over for each in pods)


@pytest.mark.parametrize("resource", [DEPLOYMENTS, STATEFULSETS, DAEMONSETS], ids=lambda each: each.kind)
async def test_pods_that_their_controller_makes_again_are_ended_with_it(cluster, resource):
    sized = {} if resource is DAEMONSETS else {"replicas": 2}
    sized |= {"serviceName": "serve"} if resource is STATEFULSETS else {}
    await cluster.create(resource, controller(resource, "serve", 8, **sized))
    await bound(cluster, 2)
    _, seconds = await drained(cluster)
    assert seconds < AT_ONCE
    await asyncio.sleep(5)
    assert await held(cluster) == 0


async def test_a_job_that_still_runs_is_suspended(cluster):
    job = controller(JOBS, "train", 8, parallelism=2, completions=2000)
    await cluster.create(JOBS, job)
    await bound(cluster, 1)
    _, seconds = await drained(cluster)
    assert seconds < AT_ONCE
    await asyncio.sleep(5)
    assert await held(cluster) == 0
    assert (await cluster.get(JOBS, "train", "default"))["spec"]["suspend"] is True


async def test_a_budget_that_forbids_every_eviction_keeps_nothing(cluster):
    await cluster.create(DEPLOYMENTS, controller(DEPLOYMENTS, "serve", 8, replicas=2))
    budgets = await find(cluster, "policy/v1", "PodDisruptionBudget")
    forbids = {"minAvailable": 2, "selector": {"matchLabels": {"app": "serve"}}}
    await cluster.create(budgets, {"metadata": {"name": "all", "namespace": "default"}, "spec": forbids})
    await bound(cluster, 2)
    _, seconds = await drained(cluster)
    assert seconds < AT_ONCE


async def test_pods_that_find_no_node_keep_nothing(cluster):
    for node in (await cluster.list(NODES)).items:
        await cluster.delete(NODES, node["metadata"]["name"])
    await cluster.create(DEPLOYMENTS, controller(DEPLOYMENTS, "serve", 8, replicas=2))
    async with asyncio.timeout(60):
        while len((await cluster.list(PODS, "default")).items) < 2:  # noqa: ASYNC110 - in another process
            await asyncio.sleep(0.2)
    told, _ = await drained(cluster)
    assert told == []


async def test_the_nightly_job_of_a_cronjob_does_not_begin_again(cluster):
    crons = await find(cluster, "batch/v1", "CronJob")
    wanted = controller(JOBS, "train", 8, parallelism=2, completions=2000)["spec"]
    meta = {"name": "nightly", "namespace": "default"}
    made = await cluster.create(
        crons, {"metadata": meta, "spec": {"schedule": "0 0 1 1 *", "jobTemplate": {"spec": wanted}}}
    )
    owner = {"apiVersion": "batch/v1", "kind": "CronJob", "controller": True, "name": "nightly"}
    job = controller(JOBS, "nightly-1", 8, parallelism=2, completions=2000)
    job["metadata"]["ownerReferences"] = [owner | {"uid": made["metadata"]["uid"]}]
    await cluster.create(JOBS, job)
    await bound(cluster, 1)
    await drained(cluster)
    for resource, name in ((crons, "nightly"), (JOBS, "nightly-1")):
        assert (await cluster.get(resource, name, "default"))["spec"]["suspend"] is True


async def test_a_pod_whose_owner_is_gone_is_ended_itself(cluster):
    lost = {"apiVersion": "ray.io/v1", "kind": "RayCluster", "name": "lost", "controller": True, "uid": "dead"}
    meta = {"name": "left", "namespace": "default", "ownerReferences": [lost]}
    await cluster.create(PODS, {"metadata": meta, "spec": spec(8)})
    await bound(cluster, 1)
    await drained(cluster)
    with pytest.raises(NotFound):
        await cluster.get(PODS, "left", "default")


async def given_up(kube, seconds):
    """What becomes of an end whose work may take so long, told all that waiting for the cluster tells."""
    loop, limits = asyncio.get_running_loop(), Limits(drain_timeout_seconds=seconds)
    began, state = (
        loop.time(),
        tell(armed(drain_timeout_seconds=seconds), lives(second=0, deleting=True, limits=limits)),
    )
    while isinstance(state, Draining):
        try:
            await look(kube)
            event: Any = Drained()
        except Waits as waits:
            event = waits.event
        for each in (event, Due()):
            state = tell(state, each, loop.time() - began)
        await asyncio.sleep(0.5)
    assert isinstance(state, Cleaning)
    return state.skipped, loop.time() - began


@pytest.mark.parametrize(
    ("meta", "named"),
    [
        ({"finalizers": ["example.com/hold"]}, "default/left (held by example.com/hold)"),
        ({"labels": {"deaf": ""}}, "default/left"),
    ],
    ids=["held by a finalizer", "deaf"],
)
async def test_a_pod_that_does_not_go_is_given_up_in_time_and_named(cluster, meta, named):
    await cluster.create(PODS, {"metadata": {"name": "left", "namespace": "default"} | meta, "spec": spec(8)})
    await bound(cluster, 1)
    (skipped,), seconds = await given_up(cluster, 8.0)
    assert skipped.reason == f"not done within 8s: the cluster still has 1 pod that holds accelerators: {named}"
    assert seconds < AT_ONCE
    assert "deletionTimestamp" in (await cluster.get(PODS, "left", "default"))["metadata"]


async def test_a_volume_and_a_load_balancer_go_though_a_controller_uses_the_volume(cluster):
    volumes = await find(cluster, "v1", "PersistentVolume")
    sized = {"accessModes": ["ReadWriteOnce"], "storageClassName": ""}
    disk = {"capacity": {"storage": "1Gi"}, "hostPath": {"path": "/x"}} | sized
    await cluster.create(volumes, {"metadata": {"name": "disk"}, "spec": disk})
    claim = {"resources": {"requests": {"storage": "1Gi"}}} | sized
    await cluster.create(PVCS, {"metadata": {"name": "data", "namespace": "default"}, "spec": claim})
    ports = {"type": "LoadBalancer", "ports": [{"port": 80}]}
    await cluster.create(SERVICES, {"metadata": {"name": "web", "namespace": "default"}, "spec": ports})
    serve = controller(STATEFULSETS, "serve", 0, replicas=1, serviceName="serve")
    serve["spec"]["template"]["spec"]["volumes"] = [{"name": "d", "persistentVolumeClaim": {"claimName": "data"}}]
    await cluster.create(STATEFULSETS, serve)
    await bound(cluster, 1)
    told, seconds = await swept(cluster)
    assert "1 load balancer is going: default/web; 1 volume is going: default/data" in told[0]
    assert seconds < AT_ONCE
    await asyncio.sleep(5)
    assert (await cluster.list(PVCS)).items == ()
    assert (await cluster.list(PODS, "default")).items == ()
    assert [each["metadata"]["name"] for each in (await cluster.list(SERVICES)).items] == ["kubernetes"]
