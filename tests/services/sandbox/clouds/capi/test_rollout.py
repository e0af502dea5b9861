"""Machines of another version take over one by one, and none is ever missing meanwhile."""

import asyncio

import pytest

from events.kube.resources import CLUSTERS, MACHINEDEPLOYMENTS, MACHINES, MACHINESETS, NODES
from services.sandbox.clouds.model.annotations import CONTROL_PLANE, CONTROLPLANES
from services.sandbox.clouds.model.billing import machines_ever

pytestmark = pytest.mark.looptime

OLD, NEW = "v1.34.0", "v1.35.1"


async def head_to(sandbox, version):
    await sandbox.kube.patch(CONTROLPLANES, "burst-1", "default", {"spec": {"version": version}})


async def pool_to(sandbox, version):
    await sandbox.kube.patch(
        MACHINEDEPLOYMENTS, "burst-1-md", "default", {"spec": {"template": {"spec": {"version": version}}}}
    )


async def running(sandbox):
    """A cluster of three workers that is whole."""
    await sandbox.apply("burst-1")
    await sandbox.until(CLUSTERS, "burst-1", "Available")
    await asyncio.sleep(5)


async def rolled(sandbox, kind, name):
    """Wait until it rolls, then until it rolls no more."""
    await sandbox.until(kind, name, "RollingOut")
    await sandbox.until(kind, name, "RollingOut", "False")


def versions(machines):
    return sorted((CONTROL_PLANE in each["metadata"]["labels"], each["spec"]["version"]) for each in machines)


async def test_a_new_version_replaces_the_control_plane_then_each_worker_and_their_kubelets(sandbox):
    async with sandbox.running():
        await running(sandbox)
        before = {each["metadata"]["name"] for each in await sandbox.all(MACHINES)}
        await head_to(sandbox, NEW)
        await rolled(sandbox, CONTROLPLANES, "burst-1")
        assert versions(await sandbox.all(MACHINES)) == [*[(False, OLD)] * 3, (True, NEW)]
        assert (await sandbox.kube.get(CONTROLPLANES, "burst-1", "default"))["status"]["version"] == NEW
        await pool_to(sandbox, NEW)
        await rolled(sandbox, MACHINEDEPLOYMENTS, "burst-1-md")
        await asyncio.sleep(5)
        machines = await sandbox.all(MACHINES)
        assert versions(machines) == [*[(False, NEW)] * 3, (True, NEW)]
        assert not before & {each["metadata"]["name"] for each in machines}
        inside = (await sandbox.world.kube("default.burst-1").list(NODES)).items
        assert [each["status"]["nodeInfo"]["kubeletVersion"] for each in inside] == [NEW] * 4
        assert len(await sandbox.all(MACHINESETS)) == 1


async def test_while_a_pool_rolls_there_is_one_machine_more_and_the_cluster_stays_available(sandbox):
    async with sandbox.running():
        await running(sandbox)
        async with sandbox.watched():
            await pool_to(sandbox, NEW)
            await rolled(sandbox, MACHINEDEPLOYMENTS, "burst-1-md")
        shown = [each["status"] for each in sandbox.seen if each["kind"] == "MachineDeployment"]
        assert min(each["availableReplicas"] for each in shown) == 3
        assert max(each["replicas"] for each in shown) == 4
        bill = await machines_ever(sandbox.kube)
        assert (len(bill), sum(one.end is None for one in bill)) == (7, 4)


async def test_a_version_that_is_set_back_midway_leaves_no_machine_of_the_other(sandbox):
    async with sandbox.running():
        await running(sandbox)
        await pool_to(sandbox, NEW)
        await sandbox.until(MACHINEDEPLOYMENTS, "burst-1-md", "RollingOut")
        await asyncio.sleep(6)
        await pool_to(sandbox, OLD)
        await sandbox.until(MACHINEDEPLOYMENTS, "burst-1-md", "RollingOut", "False")
        await asyncio.sleep(5)
        assert versions(await sandbox.all(MACHINES)) == [*[(False, OLD)] * 3, (True, OLD)]


async def test_a_pool_that_rolls_can_be_scaled_meanwhile(sandbox):
    async with sandbox.running():
        await running(sandbox)
        await pool_to(sandbox, NEW)
        await sandbox.until(MACHINEDEPLOYMENTS, "burst-1-md", "RollingOut")
        await sandbox.scale("burst-1-md", 1)
        await sandbox.until(MACHINEDEPLOYMENTS, "burst-1-md", "RollingOut", "False")
        await asyncio.sleep(5)
        assert versions(await sandbox.all(MACHINES)) == [(False, NEW), (True, OLD)]


async def test_no_worker_is_made_while_the_control_plane_is_being_replaced(sandbox):
    async with sandbox.running():
        await running(sandbox)
        await head_to(sandbox, NEW)
        await sandbox.until(CONTROLPLANES, "burst-1", "RollingOut")
        await pool_to(sandbox, NEW)
        while (await sandbox.condition(CONTROLPLANES, "burst-1", "RollingOut"))[0] == "True":
            made = versions(await sandbox.all(MACHINES))
            await asyncio.sleep(0.05)
        assert (False, NEW) not in made
