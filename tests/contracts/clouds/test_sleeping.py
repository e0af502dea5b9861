"""A cluster that hibernates pays for no worker, and wakes as what it was: on every back end."""

import asyncio
from contextlib import asynccontextmanager

import pytest

from events.kube.resources import COLONIES
from schemas.cluster import Hibernated, Ready
from services.colony.edits import hibernating
from tests.contracts.clouds.house import full

pytestmark = [pytest.mark.looptime, pytest.mark.timeout(60)]

FOUNDED = ["Pending", "Launching", "Provisioned", "Ready"]


@asynccontextmanager
async def asleep(house, **more):
    """A house at work, with a cluster of two nodes that was ready, and has given its machines back."""
    async with house.at_work():
        await house.ask(nodes=2, **more)
        await house.until(Ready)
        await turn(house, hibernate=True)
        await house.until(Hibernated, lambda state: state.resizing is None)
        yield


async def turn(house, *, hibernate):
    colony = await house.kube.get(COLONIES, "train", "default")
    await house.kube.patch(COLONIES, "train", "default", hibernating(colony, "gpu", hibernate=hibernate), kind="json")


async def test_its_control_plane_alone_is_left_and_it_wakes_as_the_same_cluster(house):
    async with asleep(house):
        assert len(await house.paid()) == 1
        before = await house.said()
        await asyncio.sleep(3600)
        assert await house.said() == before
        shown = await house.shown()
        assert (shown["phase"], shown["offer"]["pricePerHour"], shown["message"]) == ("Hibernated", 0, "hibernates")
        await turn(house, hibernate=False)
        await house.until(Ready, lambda state: state.resizing is None)
        assert await house.life() == [*FOUNDED, "Hibernated", "Provisioned", "Ready"]
        assert (await house.objects(), len(await house.paid())) == (("train-gpu-1",), 3)


async def test_one_whose_machines_are_not_to_be_had_any_more_wakes_elsewhere(house):
    async with asleep(house):
        await house.faults(full(["r1"]))
        await turn(house, hibernate=False)
        ready = await house.until(Ready)
        assert (ready.attempt.placement.region, len(ready.failed_attempts)) == ("r2", 1)
        assert await house.objects() == ("train-gpu-2",)


async def test_idleness_does_not_end_it_and_its_time_to_live_does(house):
    async with asleep(house, idleAfter="10m", timeToLive="3h"):
        await asyncio.sleep(2 * 3600)
        assert isinstance(await house.state(), Hibernated)
        await asyncio.sleep(2 * 3600)
        assert (await house.state()).reason == "TimeToLive"
        assert await house.paid() == []


async def test_one_that_woke_is_idle_from_then_on(house):
    async with asleep(house, idleAfter="10m"):
        await asyncio.sleep(3600)
        await turn(house, hibernate=False)
        await house.until(Ready)
        await asyncio.sleep(500)
        assert isinstance(await house.state(), Ready)
        await asyncio.sleep(1200)
        assert (await house.state()).reason == "Idle"


async def test_one_that_is_let_go_while_it_sleeps_leaves_nothing(house):
    async with asleep(house):
        await house.let_go()
        await house.gone()
        assert (await house.objects(), await house.paid()) == ((), [])
