"""A fault meets as many machines as it names, each once: what is made in their place is spared."""

import asyncio

import pytest

from events.kube.resources import CLUSTERS, MACHINES, NODES

pytestmark = [pytest.mark.looptime, pytest.mark.timeout(60)]


async def ready(sandbox):
    """How each worker's Node says it is."""
    nodes = (await sandbox.world.kube("default.c").list(NODES)).items
    workers = [each for each in nodes if "nvidia.com/gpu" in each["status"]["capacity"]]
    conditions = [one for each in workers for one in each["status"]["conditions"]]
    return sorted(one["status"] for one in conditions if one["type"] == "Ready")


async def founded(sandbox):
    await sandbox.apply("c")
    await sandbox.until(CLUSTERS, "c", "Available")


async def test_a_silent_node_is_not_ready_until_it_is_heard_again(sandbox):
    async with sandbox.running():
        await founded(sandbox)
        await sandbox.faults("dark: {default/c: 1}")
        await sandbox.until(CLUSTERS, "c", "WorkersAvailable", "False")
        assert await ready(sandbox) == ["True", "True", "Unknown"]
        await sandbox.faults("")
        await sandbox.until(CLUSTERS, "c", "WorkersAvailable")
        assert await ready(sandbox) == ["True", "True", "True"]


@pytest.mark.parametrize("fault", ["dark", "preempted"])
async def test_the_successor_of_one_that_was_met_is_spared(sandbox, fault):
    async with sandbox.running():
        await founded(sandbox)
        await sandbox.faults(f"{fault}: {{default/c: 1}}")
        await sandbox.until(CLUSTERS, "c", "WorkersAvailable", "False")
        notes = (await sandbox.kube.get(CLUSTERS, "c", "default"))["metadata"]["annotations"]
        (met,) = [
            each["metadata"]["name"]
            for each in await sandbox.all(MACHINES)
            if each["metadata"]["uid"] == notes[f"sandbox.alate.dev/{fault}"]
        ]
        await sandbox.kube.delete(MACHINES, met, "default")
        await sandbox.until(CLUSTERS, "c", "WorkersAvailable")
        await asyncio.sleep(60)
        assert await ready(sandbox) == ["True", "True", "True"]
        await sandbox.faults(f"{fault}: {{default/c: 2}}")
        await sandbox.until(CLUSTERS, "c", "WorkersAvailable", "False")
