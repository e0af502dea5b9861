"""A cluster lives here as one lived under the real Cluster API controllers."""

import asyncio
import json
from pathlib import Path

import pytest

from events.kube.discovery import find
from events.kube.resources import CLUSTERS, CONFIGMAPS, MACHINEDEPLOYMENTS, MACHINES, SECRETS
from services.sandbox.clouds.model.billing import machines_ever
from tests.milestones import missing

pytestmark = pytest.mark.looptime

ROOT = Path(__file__).parents[5]
FACTS = json.loads((ROOT / "tests" / "data" / "capi_life.json").read_text())
RECORDED = ROOT.parent / "shared" / "data" / "capi" / "life.jsonl"
"""The recording the facts were taken from, where there is one."""

# The steps a decision could hang on, in the recorded order; two in one line came in one write.
MILESTONES = """
WorkersAvailable: Unknown AvailableUnknown
phase: Provisioning
InfrastructureReady: True Ready
phase: Provisioned
ControlPlaneMachinesReady: False NotReady
WorkerMachinesReady: False NotReady
RemoteConnectionProbe: True ProbeSucceeded
ControlPlaneInitialized: True Initialized
controlPlaneInitialized: true
ControlPlaneMachinesReady: True Ready
WorkerMachinesReady: True Ready
Available: True Available
WorkersAvailable: True Available
ScalingDown: True ScalingDown
WorkerMachinesReady: False NotReady
WorkerMachinesReady: True Ready
ScalingDown: False NotScalingDown
Available: False NotAvailable
WorkersAvailable: False NotAvailable
ScalingUp: True ScalingUp
WorkerMachinesReady: Unknown ReadyUnknown
WorkerMachinesReady: True Ready
Available: True Available
Available: False NotAvailable
Deleting: True WaitingForWorkersDeletion
phase: Deleting
WorkerMachinesReady: True NoReplicas
WorkersAvailable: True NoWorkers
Deleting: True WaitingForControlPlaneDeletion
ControlPlaneAvailable: False NotAvailable
ControlPlaneMachinesReady: True NoReplicas
ControlPlaneAvailable: False ObjectDeleted
Deleting: True WaitingForInfrastructureDeletion
InfrastructureReady: False ObjectDeleted
Deleting: True DeletionCompleted
""".strip().splitlines()


async def live(sandbox):
    """The recorded life, lived again: 3 workers, then 1, then 2, then none."""
    async with sandbox.watched(), sandbox.running():
        await sandbox.apply("burst-1")
        await asyncio.sleep(20)
        for workers in (1, 2):
            await sandbox.scale("burst-1-md", workers)
            await asyncio.sleep(20)
        await sandbox.kube.delete(CLUSTERS, "burst-1", "default")
        await sandbox.gone(CLUSTERS)
        await asyncio.sleep(1)


async def test_every_condition_of_every_kind_goes_the_recorded_way(sandbox, ways):
    await live(sandbox)
    assert ways(sandbox.seen) == FACTS["ways"]


async def test_the_milestones_come_in_the_recorded_order(sandbox, reached):
    await live(sandbox)
    clusters = [each for each in sandbox.seen if each["kind"] == "Cluster"]
    assert missing(MILESTONES, FACTS["cluster"]) is None
    assert missing(MILESTONES, reached(clusters)) is None


@pytest.mark.skipif(not RECORDED.exists(), reason="the recording is not here, only the facts taken from it")
async def test_the_facts_are_those_of_the_recording(ways, reached):
    lines = map(json.loads, RECORDED.read_text().splitlines())
    seen = [line["object"] for line in lines if line["type"] != "DELETED"]
    assert ways(seen) == FACTS["ways"]
    assert reached([each for each in seen if each["kind"] == "Cluster"]) == FACTS["cluster"]


async def test_available_and_workers_available_come_in_one_write(sandbox):
    await live(sandbox)

    def both(each):
        conditions = {one["type"]: one["status"] for one in each.get("status", {}).get("conditions", ())}
        return conditions.get("Available"), conditions.get("WorkersAvailable")

    first = next(both(each) for each in sandbox.seen if each["kind"] == "Cluster" and both(each)[0] == "True")
    assert first == ("True", "True")


async def test_a_delete_leaves_nothing_but_the_bill(sandbox):
    await live(sandbox)
    left = {resource.plural: len(await sandbox.all(resource)) for resource in (MACHINEDEPLOYMENTS, MACHINES, SECRETS)}
    for kind in ("infrastructure/DevMachineTemplate", "infrastructure/DevCluster", "bootstrap/KubeadmConfigTemplate"):
        group, _, name = kind.partition("/")
        resource = await find(sandbox.kube, f"{group}.cluster.x-k8s.io/v1beta2", name)
        left[name] = len(await sandbox.all(resource))
    assert set(left.values()) == {0}, left
    assert sandbox.api.clusters == ("management",)
    assert (
        len([one for one in await sandbox.all(CONFIGMAPS, "kube-system") if one["metadata"]["name"][:4] == "bill"]) == 1
    )


async def test_the_bill_knows_every_machine_once_with_its_end(sandbox):
    await live(sandbox)
    bill = await machines_ever(sandbox.kube)
    assert len(bill) == 5  # one of the control plane, three workers, and the one of the second scale-up
    assert {one.uid for one in bill} == {"uid-of-burst-1"}
    assert {(one.instance, one.spot) for one in bill if one.instance} == {("p5.48xlarge", True)}
    assert all(one.end and one.end > one.start for one in bill)


async def test_a_settled_cluster_is_written_no_more(sandbox):
    async with sandbox.running():
        await sandbox.apply("burst-1")
        await sandbox.until(CLUSTERS, "burst-1", "Available")
        await asyncio.sleep(1)
        before = (await sandbox.kube.list(CLUSTERS)).resource_version
        await asyncio.sleep(3600)
    async with sandbox.running():
        await asyncio.sleep(3600)
    assert (await sandbox.kube.list(CLUSTERS)).resource_version == before


async def test_the_kubeconfig_is_there_before_the_control_plane_counts_as_initialised(sandbox):
    async with sandbox.running():
        await sandbox.apply("burst-1")
        assert not await sandbox.all(SECRETS)
        await sandbox.until(CLUSTERS, "burst-1", "ControlPlaneInitialized")
        secret = (await sandbox.all(SECRETS))[0]
    assert secret["metadata"]["name"] == "burst-1-kubeconfig"
    assert secret["type"] == "cluster.x-k8s.io/secret"
    assert secret["metadata"]["labels"]["cluster.x-k8s.io/cluster-name"] == "burst-1"
    assert secret["data"]["value"]


async def test_a_name_can_be_used_again_at_once(sandbox):
    async with sandbox.running():
        await sandbox.apply("burst-1", REPLICAS="1")
        await sandbox.until(CLUSTERS, "burst-1", "Available")
        first = (await sandbox.all(CLUSTERS))[0]["metadata"]["uid"]
        await sandbox.kube.delete(CLUSTERS, "burst-1", "default")
        await sandbox.gone(CLUSTERS)
        await sandbox.apply("burst-1", REPLICAS="2")
        await sandbox.until(CLUSTERS, "burst-1", "Available")
        again = (await sandbox.all(CLUSTERS))[0]
    assert again["metadata"]["uid"] != first
    assert again["status"]["workers"]["readyReplicas"] == 2
    assert sum(one.end is None for one in await machines_ever(sandbox.kube)) == 3


async def test_a_second_pool_grows_beside_the_first(sandbox):
    async with sandbox.running():
        await sandbox.apply("burst-1", REPLICAS="1")
        pool = (await sandbox.all(MACHINEDEPLOYMENTS))[0]
        other = {"metadata": {"name": "other", "namespace": "default"}, "spec": pool["spec"] | {"replicas": 2}}
        await sandbox.kube.create(MACHINEDEPLOYMENTS, other)
        await asyncio.sleep(20)
        workers = (await sandbox.all(CLUSTERS))[0]["status"]["workers"]
    assert workers == {
        "desiredReplicas": 3, "replicas": 3, "readyReplicas": 3, "availableReplicas": 3, "upToDateReplicas": 3,
    }  # fmt: skip


async def test_a_control_plane_of_three_grows_one_by_one(sandbox):
    async with sandbox.running():
        await sandbox.apply("burst-1", REPLICAS="1")
        resource = await find(sandbox.kube, "controlplane.cluster.x-k8s.io/v1beta2", "KubeadmControlPlane")
        await sandbox.kube.patch(resource, "burst-1", "default", {"spec": {"replicas": 3}})
        await asyncio.sleep(30)
        found = await sandbox.kube.get(resource, "burst-1", "default")
    assert found["status"]["readyReplicas"] == 3
