"""Spot machines that are taken back are replaced; a cluster to which that happens often goes on without spot."""

import asyncio
from contextlib import asynccontextmanager

import pytest

from schemas.cluster import Provisioned, Ready
from services.provisioning.lifecycle.todo import ENOUGH
from tests.contracts.clouds.house import REGIONS

pytestmark = [pytest.mark.looptime, pytest.mark.timeout(60)]

POOL = {"name": "md", "accelerator": "H100", "acceleratorsPerNode": 8, "nodes": 2, "spot": "preferred"}
HEALS = ("capi",)
"""Who replaces single machines itself."""


@asynccontextmanager
async def on_spot(house):
    """A house at work, with a ready cluster of two spot machines: a tenth of the price of others."""
    async with house.at_work():
        for region, price in REGIONS.items():
            await house.offer(region, price, spot=price / 10)
        await house.ask(pools=[POOL])
        assert (await house.until(Ready)).attempt.placement.lots[0].spot
        yield


async def take(house, attempt, machines):
    """The cloud takes machines of an attempt back; gives the state that comes of it."""
    await house.faults(f"preempted: {{default/train-gpu-{attempt}: {machines}}}")
    return await house.until(Provisioned, lambda state: state.was_ready and state.attempt.number == attempt)


async def accelerators(house):
    """What the cluster's condition says of its accelerators once that has changed: status and reason."""
    async with asyncio.timeout(60):
        while (told := await told_now(house))[0] == "True":  # noqa: ASYNC110 - virtual time
            await asyncio.sleep(1)
    return told


async def told_now(house):
    (found,) = (each for each in (await house.shown())["conditions"] if each["type"] == "AcceleratorsReady")
    return found["status"], found["reason"]


async def test_while_some_are_gone_it_is_not_ready_says_why_and_gets_others(house):
    async with on_spot(house):
        short = await take(house, 1, 1)
        assert short.interruptions == 1
        assert await accelerators(house) == ("False", "Interrupted")
        ready = await house.until(Ready)
        assert len(await house.paid()) == 3
        if house.backend in HEALS:
            assert (ready.attempt.number, ready.failed_attempts) == (1, ())
        else:
            assert [each.reason for each in ready.failed_attempts] == ["Interrupted"]


async def test_one_that_lost_all_is_founded_anew_and_the_count_stands_in_its_status(house):
    async with on_spot(house):
        await take(house, 1, 2)
        ready = await house.until(Ready)
        assert (ready.attempt.number, ready.interruptions, len(await house.paid())) == (2, 1, 3)
        shown = await house.shown()
        assert (shown["attempts"], shown["interruptions"]) == (2, 1)
        assert [(each["reason"], each["spot"]) for each in shown["failedAttempts"]] == [("Interrupted", True)]


async def test_after_it_was_interrupted_often_enough_it_goes_on_demand(house):
    async with on_spot(house):
        for number in range(1, ENOUGH + 1):
            await take(house, number, 2)
            ready = await house.until(Ready)
            assert (ready.interruptions, ready.attempt.placement.lots[0].spot) == (number, number < ENOUGH)
        assert (await house.shown())["offer"]["spot"] is False
