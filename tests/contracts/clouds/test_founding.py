"""Whatever stands in the way, a cluster is founded where it can be, ready only when it is whole, and leaves nothing."""

import asyncio

import pytest

from events.kube.resources import CLUSTERS
from schemas.cluster import Ready, Waiting
from tests.contracts.clouds.house import INSTANCE, REGIONS, full

pytestmark = [pytest.mark.looptime, pytest.mark.timeout(60)]


async def test_it_is_founded_on_the_cheapest_offer_and_leaves_nothing(house):
    async with house.at_work():
        await house.ask(nodes=2)
        ready = await house.until(Ready)
        assert ready.attempt.placement.region == "r1"
        assert len(await house.paid()) == 3
        await house.let_go()
        await house.gone()
        assert await house.objects() == ()
        assert await house.paid() == []


async def test_it_gives_out_the_addresses_that_were_asked_for_or_else_its_templates(house):
    async with house.at_work():
        await house.ask(network={"pods": ["10.8.0.0/14"], "services": ["10.200.0.0/16"]})
        await house.ask(name="other")
        await house.until(Ready)
        await house.until(Ready, name="other")
        made = {each["metadata"]["name"]: each["spec"]["clusterNetwork"] for each in await house.sandbox.all(CLUSTERS)}
        assert made == {
            "train-gpu-1": {"pods": {"cidrBlocks": ["10.8.0.0/14"]}, "services": {"cidrBlocks": ["10.200.0.0/16"]}},
            "other-gpu-1": {"pods": {"cidrBlocks": ["10.244.0.0/16"]}, "services": {"cidrBlocks": ["10.96.0.0/12"]}},
        }


async def test_it_shows_where_its_api_is(house):
    async with house.at_work():
        await house.ask()
        await house.until(Ready)
        await asyncio.sleep(5)
        (made,) = await house.sandbox.all(CLUSTERS)
        where = made["spec"]["controlPlaneEndpoint"]
        assert (await house.shown())["endpoint"] == f"https://{where['host']}:{where['port']}"


@pytest.mark.parametrize("without", [1, 2])
async def test_where_there_is_no_room_the_next_offer_is_taken(house, without):
    async with house.at_work():
        await house.faults(full(list(REGIONS)[:without]))
        await house.ask()
        ready = await house.until(Ready)
        assert [attempt.reason for attempt in ready.failed_attempts] == ["NoCapacity"] * without
        assert ready.attempt.placement.region == list(REGIONS)[without]
        assert await house.objects() == (ready.attempt.object_name("train-gpu"),)


@pytest.mark.parametrize("without", [1, 2, 3])
async def test_where_a_zone_has_no_room_the_next_is_taken_and_then_the_next_region(house, without):
    async with house.at_work():
        await house.offer("r1", REGIONS["r1"], zones=3)
        full_zones = [f"r1-z{number}" for number in range(1, without + 1)]
        await house.faults(f"stockouts: [{', '.join(f'{{cloud: aws, zone: {zone}}}' for zone in full_zones)}]")
        await house.ask()
        ready = await house.until(Ready)
        assert [(attempt.reason, attempt.placement.lots[0].zone) for attempt in ready.failed_attempts] == [
            ("NoCapacity", zone) for zone in full_zones
        ]
        assert ready.attempt.placement.lots[0].zone == ("r1-z2", "r1-z3", "r2-z1")[without - 1]
        assert await house.objects() == (ready.attempt.object_name("train-gpu"),)


async def test_where_there_is_room_nowhere_it_waits_and_costs_nothing(house):
    async with house.at_work():
        await house.faults(full(REGIONS))
        await house.ask()
        waiting = await house.until(Waiting)
        assert waiting.reason == "NoCapacity"
        assert INSTANCE in waiting.message
        assert await house.objects() == ()
        assert await house.paid() == []
        await house.faults("")
        await house.until(Ready)
