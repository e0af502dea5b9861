"""Pools come and go while a cluster runs and stays ready, where the back end can; where not, it says so and stays."""

from contextlib import asynccontextmanager

import pytest

from events.kube.discovery import find
from events.kube.resources import COLONIES, MACHINEDEPLOYMENTS
from schemas.cluster import Ready
from tests.contracts.clouds.house import full

pytestmark = [pytest.mark.looptime, pytest.mark.timeout(60)]

FOUNDED = ["Pending", "Launching", "Provisioned", "Ready"]
MD = {"name": "md", "accelerator": "H100", "acceleratorsPerNode": 8, "nodes": 2, "spot": "never"}
MORE = MD | {"name": "more", "nodes": 1}
ONE_POOL = ("k0rdent",)
"""Whose templates make one pool a cluster."""


@asynccontextmanager
async def running(house, **more):
    """A house at work, with a ready cluster of one pool of two nodes."""
    async with house.at_work():
        await house.ask(nodes=2, **more)
        await house.until(Ready)
        yield


async def edit(house, *pools, **more):
    """Somebody gives the cluster other pools."""
    cluster = {"name": "gpu", "backend": house.backend, "pools": list(pools)} | more
    await house.kube.patch(COLONIES, "train", "default", {"spec": {"clusters": [cluster]}}, manager="person")


async def at_rest(house, nodes):
    """Wait until the cluster is ready in a size, and nothing changes any more."""
    return await house.until(
        Ready, lambda state: not state.resizing and not state.wanted and state.wish.need.nodes == nodes
    )


def can(house):
    if house.backend in ONE_POOL:
        pytest.skip(f"{house.backend} makes one pool a cluster")


async def test_a_pool_that_is_added_is_bought_where_the_others_are_and_ready_is_never_withdrawn(house):
    can(house)
    async with running(house):
        await house.offer("r0", 1.0)  # cheaper, and elsewhere
        await edit(house, MD, MORE)
        ready = await at_rest(house, 3)
        assert ready.attempt.placement.region == "r1"
        assert [(lot.pool, lot.nodes) for lot in ready.attempt.placement.lots] == [("md", 2), ("more", 1)]
        assert (await house.life(), len(await house.paid())) == (FOUNDED, 4)
        shown = await house.shown()
        assert (shown["nodesReady"], shown["offer"]["pricePerHour"]) == (3, 30)


async def test_a_pool_that_is_taken_out_gives_its_machines_back_and_leaves_nothing(house):
    can(house)
    async with running(house):
        await edit(house, MD, MORE)
        await at_rest(house, 3)
        await edit(house, MORE)
        ready = await at_rest(house, 1)
        assert [lot.pool for lot in ready.attempt.placement.lots] == ["more"]
        assert (await house.life(), len(await house.paid())) == (FOUNDED, 2)
        (pool,) = await house.sandbox.all(MACHINEDEPLOYMENTS)
        if house.of_a_class:
            return  # what its pools are made of is the class's matter
        made_of = pool["spec"]["template"]["spec"]["bootstrap"]["configRef"]
        kind = await find(house.kube, f"{made_of['apiGroup']}/v1beta2", made_of["kind"])
        assert [each["metadata"]["name"] for each in await house.sandbox.all(kind)] == [made_of["name"]]


async def test_each_piece_of_time_is_billed_for_the_pools_it_had(house):
    can(house)
    async with running(house):
        await edit(house, MD, MORE)
        larger = await at_rest(house, 3)
        await edit(house, MD)
        smaller = await at_rest(house, 2)
        hours = (smaller.billed_since - larger.billed_since).total_seconds() / 3600
        assert smaller.cost_usd == pytest.approx(larger.cost_usd + 30 * hours, abs=1e-5)


async def test_a_pool_whose_machines_are_not_to_be_had_keeps_it_ready_with_what_there_is(house):
    can(house)
    async with running(house):
        await house.faults(full(["r1"]))
        await edit(house, MD, MORE)
        late = await house.until(Ready, lambda state: state.resizing and state.resizing.late)
        assert await house.life() == FOUNDED
        await edit(house, MD)
        assert (await at_rest(house, 2)).revision > late.revision
        assert (await house.life(), len(await house.paid())) == (FOUNDED, 3)


async def test_one_pool_smaller_and_another_larger_by_as_many_is_not_done_before_each_has_its_size(house):
    can(house)
    async with running(house):
        await edit(house, MD, MORE)
        await at_rest(house, 3)
        await house.faults(full(["r1"]))
        await edit(house, MD | {"nodes": 1}, MORE | {"nodes": 2})
        await house.until(Ready, lambda state: state.resizing and state.resizing.late)
        shown = await house.shown()
        counted = {each["name"]: (each["nodesReady"], each["nodesWanted"]) for each in shown["pools"]}
        assert counted == {"md": (1, 1), "more": (1, 2)}
        assert "; pool more has 1 of 2 nodes" in shown["message"]
        await house.faults("")
        await at_rest(house, 3)
        assert await house.life() == FOUNDED


async def test_a_pool_that_costs_more_than_the_limit_leaves_is_refused_and_everything_stays(house):
    can(house)
    async with running(house, maxPricePerHour=25):
        await edit(house, MD, MORE, maxPricePerHour=25)
        ready = await house.until(Ready, lambda state: state.refused)
        assert ready.refused.startswith("pool more cannot be added in aws r1 beside what is there (")
        assert (ready.wish.need.nodes, ready.wanted, len(await house.paid())) == (2, None, 3)
        await edit(house, MD, MORE, maxPricePerHour=30)
        await at_rest(house, 3)


async def test_machines_that_all_clusters_together_have_not_enough_of_are_not_added(house):
    can(house)
    async with house.at_work():
        await house.offer("r1", 10.0, limit=2)
        await house.ask(nodes=2)
        await house.until(Ready)
        await edit(house, MD, MORE)
        assert "every machine that fits is held" in (await house.until(Ready, lambda state: state.refused)).refused


async def test_one_with_an_added_pool_is_let_go_without_a_trace(house):
    can(house)
    async with running(house):
        await edit(house, MD, MORE)
        await at_rest(house, 3)
        await house.let_go()
        await house.gone()
        assert (await house.paid(), await house.objects()) == ([], ())


async def test_a_back_end_of_one_pool_says_the_way_and_the_cluster_stays(house):
    if house.backend not in ONE_POOL:
        pytest.skip(f"{house.backend} makes any number of pools")
    async with running(house):
        await edit(house, MD, MORE)
        ready = await house.until(Ready, lambda state: state.refused)
        assert ready.refused == "k0rdent's templates make one pool a cluster: use one pool, or the backend capi"
        assert (await house.life(), len(await house.paid())) == (FOUNDED, 3)
        await edit(house, MD | {"nodes": 3})
        await at_rest(house, 3)
