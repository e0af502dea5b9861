"""What goes wrong shows as it would in a real cloud: in the same place, in the same words."""

import asyncio

import msgspec
import pytest

from events.kube.resources import CLUSTERS, MACHINEDEPLOYMENTS, MACHINES, NODES
from services.clouds.cluster_object import failure_reason
from services.sandbox.clouds.model.billing import machines_ever
from services.sandbox.clouds.model.faults import Faults, FaultScope, MachineOrder, read

P5 = {"aws": "p5.48xlarge", "azure": "Standard_ND96isr_H100_v5", "gcp": "a3-highgpu-8g"}


def order(cloud, *, spot=False, zone="zone-1"):
    return MachineOrder(cloud, "region-1", zone, P5[cloud], spot)


@pytest.mark.parametrize("cloud", P5)
def test_our_back_ends_understand_every_providers_refusal(cloud):
    anywhere = (FaultScope(cloud=cloud),)
    assert failure_reason(Faults(stockouts=anywhere).refusal(order(cloud))) == "NoCapacity"
    assert failure_reason(Faults(quotas=anywhere).refusal(order(cloud))) == "Quota"
    assert failure_reason(Faults(quotas=anywhere).refusal(order(cloud, spot=True))) == "Quota"
    assert failure_reason(Faults(denied=(cloud,)).denial(cloud)) == "Denied"


def test_a_stockout_meets_only_what_it_names():
    faults = Faults(stockouts=(FaultScope(cloud="aws", zone="zone-1", spot=True),))
    assert faults.refusal(order("aws", spot=True))
    assert not faults.refusal(order("aws"))
    assert not faults.refusal(order("aws", spot=True, zone="zone-2"))
    assert not faults.refusal(order("gcp", spot=True))


def test_an_unknown_fault_is_refused_by_name():
    with pytest.raises(msgspec.ValidationError, match="earthquakes"):
        read({"data": {"faults.yaml": "earthquakes: 3"}})


STOCKOUT = "stockouts: [{cloud: aws, instance: p5.48xlarge}]"


@pytest.mark.looptime
async def test_a_stockout_shows_on_the_machines_and_in_what_the_cluster_says_of_them(sandbox):
    await sandbox.faults(STOCKOUT)
    async with sandbox.running():
        await sandbox.apply("c", REPLICAS="2")
        await asyncio.sleep(30)
        status, reason, message = await sandbox.condition(CLUSTERS, "c", "WorkerMachinesReady")
        assert (status, reason) == ("False", "NotReady")
        assert "InsufficientInstanceCapacity" in message
        assert "p5.48xlarge" in message
        assert "use1-az1" in message
        assert (await sandbox.condition(CLUSTERS, "c", "WorkersAvailable"))[0] == "False"
        assert (await sandbox.condition(CLUSTERS, "c", "ControlPlaneInitialized"))[0] == "True"
        workers = [one for one in await sandbox.all(MACHINES) if "set-name" in str(one["metadata"]["labels"])]
        assert {one["status"]["phase"] for one in workers} == {"Provisioning"}
        assert len(await machines_ever(sandbox.kube)) == 1  # nobody pays for a machine that was never there
        await sandbox.faults("")
        await sandbox.until(CLUSTERS, "c", "Available")


@pytest.mark.looptime
async def test_a_cluster_in_a_stockout_can_be_deleted(sandbox):
    await sandbox.faults(STOCKOUT)
    async with sandbox.running():
        await sandbox.apply("c", REPLICAS="2")
        await asyncio.sleep(10)
        await sandbox.kube.delete(CLUSTERS, "c", "default")
        await sandbox.gone(CLUSTERS)
        assert not await sandbox.all(MACHINES)
        assert all(one.end for one in await machines_ever(sandbox.kube))


@pytest.mark.looptime
async def test_a_refused_credential_shows_on_the_infrastructure(sandbox):
    await sandbox.faults("denied: [aws]")
    async with sandbox.running():
        await sandbox.apply("c")
        await asyncio.sleep(10)
        status, reason, message = await sandbox.condition(CLUSTERS, "c", "InfrastructureReady")
        assert (status, reason) == ("False", "NotReady")
        assert failure_reason(message) == "Denied"
        assert not await sandbox.all(MACHINES)
        await sandbox.faults("")
        await sandbox.until(CLUSTERS, "c", "Available")


@pytest.mark.looptime
async def test_a_cluster_that_never_gets_ready_waits_with_its_workers(sandbox):
    await sandbox.faults("never_ready: [default/c]")
    async with sandbox.running():
        await sandbox.apply("c")
        await asyncio.sleep(600)
        assert (await sandbox.condition(CLUSTERS, "c", "ControlPlaneInitialized"))[0] == "False"
        await sandbox.faults("")
        await sandbox.until(CLUSTERS, "c", "Available")


@pytest.mark.looptime
async def test_a_lost_probe_withdraws_available_and_nothing_else(sandbox):
    async with sandbox.running():
        await sandbox.apply("c")
        await sandbox.until(CLUSTERS, "c", "Available")
        await sandbox.faults("lost_probe: ['*/c']")
        await sandbox.until(CLUSTERS, "c", "Available", "False")
        status, reason, message = await sandbox.condition(CLUSTERS, "c", "RemoteConnectionProbe")
        assert (status, reason) == ("False", "ProbeFailed")
        assert "probe last succeeded at 2030-01-01T00:00" in message
        assert (await sandbox.condition(CLUSTERS, "c", "ControlPlaneInitialized"))[0] == "True"
        await sandbox.faults("")
        await sandbox.until(CLUSTERS, "c", "Available")


@pytest.mark.looptime
async def test_preempted_machines_lose_their_nodes_and_are_paid_no_longer(sandbox):
    async with sandbox.running():
        await sandbox.apply("c")
        await sandbox.until(CLUSTERS, "c", "Available")
        await sandbox.faults("preempted: {default/c: 2}")
        await sandbox.until(CLUSTERS, "c", "WorkersAvailable", "False")
        await asyncio.sleep(5)
        nodes = (await sandbox.world.kube("default.c").list(NODES)).items
        pool = await sandbox.kube.get(MACHINEDEPLOYMENTS, "c-md", "default")
        assert (pool["status"]["replicas"], pool["status"]["readyReplicas"]) == (3, 1)
        assert len(nodes) == 2  # the control plane and one worker
        assert sum(one.end is None for one in await machines_ever(sandbox.kube)) == 2
        await sandbox.scale("c-md", 1)  # those that were taken go first
        await sandbox.until(CLUSTERS, "c", "Available")
        assert len((await sandbox.world.kube("default.c").list(NODES)).items) == 2


@pytest.mark.looptime
async def test_one_node_has_seven_of_its_eight_gpus(sandbox):
    async with sandbox.running():
        await sandbox.apply("c", REPLICAS="2")
        await sandbox.until(CLUSTERS, "c", "Available")
        for text, wanted in (("broken_gpus: {default/c: 1}", ["7", "8"]), ("", ["8", "8"])):
            await sandbox.faults(text)
            await asyncio.sleep(1)
            nodes = (await sandbox.world.kube("default.c").list(NODES)).items
            gpus = [one["status"]["allocatable"].get("nvidia.com/gpu") for one in nodes]
            assert sorted(filter(None, gpus)) == wanted
            assert {one["status"]["capacity"].get("nvidia.com/gpu") for one in nodes} == {None, "8"}


@pytest.mark.looptime
async def test_a_stuck_finalizer_holds_the_cluster_until_it_is_let_go(sandbox):
    async with sandbox.running():
        await sandbox.apply("c", REPLICAS="1")
        await sandbox.until(CLUSTERS, "c", "Available")
        await sandbox.faults("stuck: [default/c]")
        await sandbox.kube.delete(CLUSTERS, "c", "default")
        await asyncio.sleep(600)
        status, reason, _ = await sandbox.condition(CLUSTERS, "c", "Deleting")
        assert (status, reason) == ("True", "WaitingForInfrastructureDeletion")
        await sandbox.faults("")
        await sandbox.gone(CLUSTERS)


@pytest.mark.looptime
async def test_slow_is_slow(sandbox):
    async def seconds(name):
        loop = asyncio.get_running_loop()
        start = loop.time()
        await sandbox.apply(name, REPLICAS="1")
        await sandbox.until(CLUSTERS, name, "Available")
        return loop.time() - start

    async with sandbox.running():
        quick = await seconds("quick")
        await sandbox.faults("slow: 10")
        assert await seconds("slow") > 8 * quick


@pytest.mark.looptime
async def test_faults_that_cannot_be_read_leave_those_before_in_force(sandbox):
    await sandbox.faults("never_ready: [default/c]")
    async with sandbox.running():
        await sandbox.apply("c")
        await sandbox.faults("never_ready: yes please")
        await asyncio.sleep(60)
        assert (await sandbox.condition(CLUSTERS, "c", "ControlPlaneInitialized"))[0] == "False"
