"""Clusters are founded through the real Cluster API controllers here, and the simulated ones are held against them."""

import asyncio
import json
from pathlib import Path

import pytest
import structlog

from events.kube.discovery import find
from events.kube.resources import CLUSTERS, COLONIES, MACHINEDEPLOYMENTS, NODES, SECRETS
from schemas.subjects import Key
from services.cli.demo.story import event_of
from tests.milestones import missing
from tests.services.sandbox.clouds.conftest import milestones, sandbox
from tests.story.kube.factory import factory

__all__ = ["factory", "sandbox"]

FACTS = json.loads((Path(__file__).parents[2] / "data" / "capi_life.json").read_text())


def colony(nodes, *more):
    """A pool of so many nodes, and others of one each."""
    sizes = {"md": nodes} | dict.fromkeys(more, 1)
    pool = {"accelerator": "H100", "acceleratorsPerNode": 8}
    pools = [pool | {"name": name, "nodes": number} for name, number in sizes.items()]
    return {
        "metadata": {"name": "train", "namespace": "default"},
        "spec": {"clusters": [{"name": "gpu", "clouds": ["dev"], "pools": pools}]},
    }


KEY = Key("cluster", "default", "train-gpu")
NAME, POOL = "train-gpu-1", "train-gpu-1-md"
NEW_POOL = "Available: Unknown AvailableUnknown"
"""What the summary of all says while a pool that was just added has said nothing; no pool was in the recorded life."""
MADE_OF = (
    ("infrastructure.cluster.x-k8s.io/v1beta2", "DevMachineTemplate"),
    ("bootstrap.cluster.x-k8s.io/v1beta2", "KubeadmConfigTemplate"),
)
"""What belongs to a pool beside its MachineDeployment."""

# A life of one worker, then three, then one, then none: what a decision could hang on, in its order.
# Left out: what a busy controller passes over (phase Provisioning), and what two controllers race for.
LIFE = """
WorkersAvailable: Unknown AvailableUnknown
phase: Provisioned
WorkerMachinesReady: False NotReady
RemoteConnectionProbe: True ProbeSucceeded
ControlPlaneInitialized: True Initialized
controlPlaneInitialized: true
Available: True Available
Available: False NotAvailable
ScalingUp: True ScalingUp
Available: True Available
ScalingDown: True ScalingDown
ScalingDown: False NotScalingDown
Available: False NotAvailable
Deleting: True WaitingForWorkersDeletion
phase: Deleting
WorkerMachinesReady: True NoReplicas
Deleting: True WaitingForControlPlaneDeletion
ControlPlaneAvailable: False ObjectDeleted
Deleting: True WaitingForInfrastructureDeletion
InfrastructureReady: False ObjectDeleted
Deleting: True DeletionCompleted
""".strip().splitlines()
# Whether the workers' own condition turns before, with or after the summary of all is such a race.
WORKERS = [
    "WorkersAvailable: Unknown AvailableUnknown",
    "WorkersAvailable: True Available",
    "WorkersAvailable: False NotAvailable",
]
LIVES = (LIFE, WORKERS)


@pytest.mark.looptime
async def test_a_simulated_cluster_passes_the_same_milestones(sandbox):
    async with sandbox.watched(), sandbox.running():
        await sandbox.apply("burst-1", REPLICAS="1")
        await asyncio.sleep(20)
        for workers in (3, 1):
            await sandbox.scale("burst-1-md", workers)
            await asyncio.sleep(20)
        await sandbox.kube.delete(CLUSTERS, "burst-1", "default")
        await sandbox.gone(CLUSTERS)
        await asyncio.sleep(1)
    reached = milestones([each for each in sandbox.seen if each["kind"] == "Cluster"])
    assert [missing(life, reached) for life in LIVES] == [None, None]
    assert set(reached) <= set(FACTS["cluster"])


async def nodes_behind(factory):
    """The names of the nodes, asked of the cluster's own API through the kubeconfig in its Secret."""
    secret = (await factory.kube.get(COLONIES, "train", "default"))["status"]["clusters"][0]["kubeconfigSecret"]
    assert await factory.kube.get(SECRETS, secret, "default")
    running = factory.services.running["inventory"]
    (opened,) = running.opened
    return {each["metadata"]["name"] for each in (await opened.list(NODES)).items}


@pytest.mark.kube
@pytest.mark.timeout(600)
async def test_real_cluster_api_founds_scales_and_ends_a_cluster(factory):
    """Its nodes have no GPUs (the provider keeps them in memory alone), so the Colony is Provisioned, never Ready."""
    await factory.kube.apply(COLONIES, colony(1), manager="somebody")
    await factory.has_workers(1)
    await factory.condition(NAME, "Available", "True")
    seen = {node for (_, node), each in factory.play.story.nodes.items() if each.present}
    assert await nodes_behind(factory) == seen
    assert len(seen) == 2

    for workers in (3, 1):
        await factory.kube.apply(COLONIES, colony(workers), manager="somebody")
        await factory.has_workers(workers)
        assert (await factory.kube.get(MACHINEDEPLOYMENTS, POOL, "default"))["spec"]["replicas"] == workers
        await factory.condition(NAME, "Available", "True")
        await factory.condition(NAME, "ScalingDown", "False")
    assert len(await nodes_behind(factory)) == 2

    for more in (("more",), ()):
        await factory.kube.apply(COLONIES, colony(1, *more), manager="somebody")
        await factory.has_workers(1 + len(more))
        await factory.tell_their_pools("md", *more)
        await factory.condition(NAME, "Available", "True")
        await factory.condition(NAME, "ScalingDown", "False")
        for kind in (MACHINEDEPLOYMENTS, *[await find(factory.kube, *each) for each in MADE_OF]):
            there = {each["metadata"]["name"] for each in (await factory.kube.list(kind, "default")).items}
            assert there & {POOL, f"{NAME}-more"} == {POOL, *(f"{NAME}-{name}" for name in more)}

    await factory.gone("train")
    await factory.clean(frozenset({KEY, Key("teardown", *KEY[1:])}))
    way = [event_of(each) for each in factory.play.story.states[KEY]]
    assert list(dict.fromkeys(way)) == ["pending", "launching", "provisioned", "releasing", "released"]
    assert way == sorted(way, key=list(dict.fromkeys(way)).index)  # never back to what it was before
    phases = [each for each in factory.phases if each]
    assert set(phases[phases.index("Provisioned") :]) == {"Provisioned", "Deleting"}
    assert_as_simulated(milestones(factory.seen))


def assert_as_simulated(reached):
    structlog.get_logger().info("cluster.lived", reached=reached)
    assert [missing(life, reached) for life in LIVES] == [None, None]
    assert set(reached) <= {*FACTS["cluster"], NEW_POOL}
