"""NATS is killed again and again while Colonies come and go; in the end all that tell of them agree.

Every day `tests/events/jetstream` shows what a connection does meanwhile, and `tests/services/crash` what a service
does.
"""

import asyncio
import os
import random

import pytest

from tests.story.house import House, agreed, at_work, colony, ended, until_ready

pytestmark = [pytest.mark.stack, pytest.mark.slow, pytest.mark.timeout(1800)]

KILLS = int(os.environ.get("ALATE_TEST_NATS_KILLS", "3"))
COLONIES_ASKED = int(os.environ.get("ALATE_TEST_NATS_COLONIES", "6"))
AT_ONCE = 10
"""Colonies that are on their way at the same time."""
SEED = int(os.environ.get("ALATE_TEST_NATS_SEED", "20"))


async def come(house: House, number: int, turns: asyncio.Semaphore, dice: random.Random) -> None:
    """Ask for one; two of three are let go again, somewhere on their way or once they are ready."""
    async with turns:
        await house.ask(colony(number))
        leaves = dice.random()
        if leaves < 1 / 3:
            await asyncio.sleep(dice.uniform(0.0, 4.0))
        else:
            await until_ready(house, number)
    if leaves < 2 / 3:
        await house.go(f"c{number}")


async def kill(house: House, times: int, dice: random.Random) -> None:
    """Kill NATS so often, each time at a random moment after it has come back."""
    for _ in range(times):
        await asyncio.sleep(dice.uniform(0.5, 5.0))
        assert house.stack.child("nats").kill()
        await asyncio.sleep(0.1)  # until it is noticed
        await house.stack.child("nats").until_ready(60)


async def test_nats_killed_at_random_while_colonies_come_and_go_leaves_all_in_agreement(tmp_path):
    dice, turns = random.Random(SEED), asyncio.Semaphore(AT_ONCE)  # noqa: S311 - a test's dice
    asked = range(COLONIES_ASKED)
    async with at_work(tmp_path) as house:
        async with asyncio.TaskGroup() as group:
            group.create_task(kill(house, KILLS, dice))
            for number in asked:
                group.create_task(come(house, number, turns, dice))
        assert await agreed(house)
        await ended(house, asked)
        assert house.stack.child("sandbox").deaths == 0
        assert house.stack.child("nats").deaths == KILLS
