"""A health check has those machines replaced that broke, each in its time, and none while too many are broken."""

import asyncio

import pytest

from events.kube.resources import CLUSTERS, MACHINEHEALTHCHECKS, MACHINES
from services.clouds.cluster_templates import NOT_READY_TIMEOUT, STARTUP_TIMEOUT, health_check
from services.sandbox.clouds.model.billing import machines_ever

pytestmark = [pytest.mark.looptime, pytest.mark.timeout(60)]


async def founded(sandbox):
    """A cluster of three workers with the check that our back end gives it."""
    await sandbox.apply("c")
    check = health_check("c", MACHINEHEALTHCHECKS)
    await sandbox.kube.create(MACHINEHEALTHCHECKS, check | {"metadata": {"name": "c", "namespace": "default"}})


async def workers(sandbox):
    machines = await sandbox.all(MACHINES)
    return {each["metadata"]["uid"] for each in machines if "set-name" in str(each["metadata"]["labels"])}


async def shown(sandbox):
    status = (await sandbox.kube.get(MACHINEHEALTHCHECKS, "c", "default"))["status"]
    return status["expectedMachines"], status["currentHealthy"], status["remediationsAllowed"]


@pytest.mark.parametrize(("fault", "after"), [("dark", NOT_READY_TIMEOUT), ("preempted", 0)])
async def test_one_of_three_is_replaced_in_its_time(sandbox, fault, after):
    async with sandbox.running():
        await founded(sandbox)
        await sandbox.until(CLUSTERS, "c", "Available")
        await asyncio.sleep(5)
        before = await workers(sandbox)
        assert await shown(sandbox) == (3, 3, 1)
        await sandbox.faults(f"{fault}: {{default/c: 1}}")
        if after:
            await asyncio.sleep(after - 5)
            assert await workers(sandbox) == before
        await asyncio.sleep(60)
        now = await workers(sandbox)
        assert (len(now), len(now & before)) == (3, 2)
        assert (await sandbox.condition(CLUSTERS, "c", "WorkersAvailable"))[0] == "True"
        assert await shown(sandbox) == (3, 3, 1)
        assert len([line for line in await machines_ever(sandbox.kube) if line.end is None]) == 4


async def test_a_black_out_replaces_none(sandbox):
    async with sandbox.running():
        await founded(sandbox)
        await sandbox.until(CLUSTERS, "c", "Available")
        before = await workers(sandbox)
        await sandbox.faults("dark: {default/c: 2}")
        await asyncio.sleep(3 * NOT_READY_TIMEOUT)
        assert await workers(sandbox) == before
        allowed = await sandbox.condition(MACHINEHEALTHCHECKS, "c", "RemediationAllowed")
        assert allowed == ("False", "TooManyUnhealthy", "2 of 3 are unhealthy")
        await sandbox.faults("")
        await asyncio.sleep(60)
        assert await workers(sandbox) == before
        assert await shown(sandbox) == (3, 3, 1)


async def test_one_that_never_joins_is_replaced_after_its_time(sandbox):
    async with sandbox.running():
        await founded(sandbox)
        await sandbox.until(CLUSTERS, "c", "Available")
        await sandbox.faults("stockouts: [{cloud: aws}]")
        await sandbox.scale("c-md", 4)
        await asyncio.sleep(STARTUP_TIMEOUT - 5)
        before = await workers(sandbox)
        await asyncio.sleep(60)
        now = await workers(sandbox)
        assert (len(before), len(now), len(now & before)) == (4, 4, 3)


async def test_a_settled_check_is_written_no_more(sandbox):
    async with sandbox.running():
        await founded(sandbox)
        await sandbox.until(CLUSTERS, "c", "Available")
        await asyncio.sleep(60)
        before = (await sandbox.kube.list(CLUSTERS)).resource_version
        await asyncio.sleep(3600)
        assert (await sandbox.kube.list(CLUSTERS)).resource_version == before


async def test_machines_that_it_does_not_select_are_not_its_matter(sandbox):
    async with sandbox.running():
        await sandbox.apply("c")
        check = health_check("c", MACHINEHEALTHCHECKS) | {"metadata": {"name": "c", "namespace": "default"}}
        check["spec"]["selector"]["matchExpressions"] = [
            {"key": "cluster.x-k8s.io/deployment-name", "operator": "NotIn", "values": ["c-md"]},
            {"key": "cluster.x-k8s.io/control-plane", "operator": "DoesNotExist"},
        ]
        await sandbox.kube.create(MACHINEHEALTHCHECKS, check)
        await sandbox.until(CLUSTERS, "c", "Available")
        before = await workers(sandbox)
        await sandbox.faults("preempted: {default/c: 1}")
        await asyncio.sleep(600)
        assert await workers(sandbox) == before
