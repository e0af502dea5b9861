"""An autoscaler sets a pool's size where a Colony asks for it; the house follows: it pays, shows and never fights."""

import asyncio

import pytest

from events.kube.resources import COLONIES, MACHINEDEPLOYMENTS
from schemas.cluster import Provisioned, Ready, Stalled

pytestmark = [pytest.mark.looptime, pytest.mark.timeout(60)]

POOL = {"name": "md", "accelerator": "H100", "acceleratorsPerNode": 8, "spot": "never", "nodes": 1, "maxNodes": 4}
NAME = "train-gpu-1-md"
MAX = "cluster.x-k8s.io/cluster-api-autoscaler-node-group-max-size"


def only_capi(house):
    if house.backend != "capi":
        pytest.skip(f"{house.backend} sets the number of nodes itself")


def cluster(house, **pool):
    return {"name": "gpu", "backend": house.backend, "scaledBy": "ClusterAutoscaler", "pools": [POOL | pool]}


async def edit(house, **pool):
    asked = {"spec": {"clusters": [cluster(house, **pool)]}}
    await house.kube.patch(COLONIES, "train", "default", asked, manager="person")


async def autoscale(house, nodes):
    """What the autoscaler does: it sets the replicas of the pool's MachineDeployment."""
    patch = {"spec": {"replicas": nodes}}
    await house.kube.patch(MACHINEDEPLOYMENTS, NAME, "default", patch, manager="cluster-autoscaler")


async def replicas(house):
    return (await house.kube.get(MACHINEDEPLOYMENTS, NAME, "default"))["spec"]["replicas"]


async def sized(house, nodes):
    return await house.until(Ready, lambda state: state.attempt.placement.nodes == nodes and not state.resizing)


async def test_it_begins_with_the_fewest_and_every_size_the_autoscaler_sets_is_counted_and_paid(house):
    only_capi(house)
    async with house.at_work():
        await house.ask(scaledBy="ClusterAutoscaler", pools=[POOL])
        await house.until(Ready)
        assert (await replicas(house), len(await house.paid())) == (1, 2)
        for nodes in (4, 2):
            await autoscale(house, nodes)
            await sized(house, nodes)
            await asyncio.sleep(5)
            shown = await house.shown()
            assert (shown["nodesReady"], shown["offer"]["pricePerHour"]) == (nodes, 10 * nodes)
            assert (await replicas(house), len(await house.paid())) == (nodes, nodes + 1)
        assert await house.life() == ["Pending", "Launching", "Provisioned", "Ready"]
        said = await house.said()
        await asyncio.sleep(3600)
        assert (await house.said(), await replicas(house)) == (said, 2)


async def test_a_restart_says_and_writes_nothing(house):
    only_capi(house)
    async with house.at_work():
        await house.ask(scaledBy="ClusterAutoscaler", pools=[POOL])
        await house.until(Ready)
        await autoscale(house, 3)
        await sized(house, 3)
        await asyncio.sleep(60)
    said = await house.said()
    before = await house.kube.get(MACHINEDEPLOYMENTS, NAME, "default")
    async with house.at_work():
        await asyncio.sleep(600)
        after = await house.kube.get(MACHINEDEPLOYMENTS, NAME, "default")
        assert (await house.said(), after["spec"]) == (said, before["spec"])


async def test_its_bound_can_be_raised_while_it_runs_and_its_least_cannot(house):
    only_capi(house)
    async with house.at_work():
        await house.ask(scaledBy="ClusterAutoscaler", pools=[POOL])
        await house.until(Ready)
        await autoscale(house, 3)
        await sized(house, 3)
        await edit(house, maxNodes=8)
        ready = await house.until(Ready, lambda state: state.wish.need.pools[0].max_nodes == 8 and not state.resizing)
        told = (await house.kube.get(MACHINEDEPLOYMENTS, NAME, "default"))["metadata"]["annotations"]
        assert (told[MAX], await replicas(house), ready.attempt.placement.nodes) == ("8", 3, 3)
        await edit(house, nodes=2, maxNodes=8)
        refused = await house.until(Ready, lambda state: state.refused)
        assert "the autoscaler decides between minNodes and maxNodes" in refused.refused
        assert await replicas(house) == 3


async def test_below_its_fewest_nodes_it_is_raised_and_not_founded_anew(house):
    only_capi(house)
    async with house.at_work():
        await house.ask(scaledBy="ClusterAutoscaler", pools=[POOL | {"nodes": 2}])
        await house.until(Ready)
        await autoscale(house, 1)
        await house.until(Provisioned)
        ready = await house.until(Ready)
        assert (await replicas(house), ready.attempt.number, ready.attempt.placement.nodes) == (2, 1, 2)


async def test_its_end_leaves_nothing_whatever_its_size_was(house):
    only_capi(house)
    async with house.at_work():
        await house.ask(scaledBy="ClusterAutoscaler", pools=[POOL])
        await house.until(Ready)
        await autoscale(house, 4)
        await sized(house, 4)
        await house.let_go()
        await house.gone()
        assert (await house.paid(), await house.objects()) == ([], ())


async def test_where_the_largest_size_may_not_be_paid_for_or_sized_by_others_the_colony_says_so_and_costs_nothing(
    house,
):
    async with house.at_work():
        await house.ask(scaledBy="ClusterAutoscaler", pools=[POOL], maxPricePerHour=39)
        if house.backend == "capi":
            await house.until(object, lambda state: getattr(state, "reason", "") == "PriceCap")
        else:
            stalled = await house.until(Stalled)
            assert stalled.message.endswith("use scaledBy Alate, or the backend capi")
        assert (await house.paid(), await house.objects()) == ([], ())
