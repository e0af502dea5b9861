"""The shipped example is deleted at any moment of its life, its job at work or not: a minute later nothing is left.

Every day `tests/services/leaks` shows it of random histories, and `tests/story/test_ends.py` of the moment at work.
"""

import asyncio
import os
import random
from pathlib import Path

import pytest
import yaml

from services.cli.demo.play import endless
from tests.story.house import House, at_work

pytestmark = [pytest.mark.stack, pytest.mark.slow, pytest.mark.timeout(1800)]

ENDS = int(os.environ.get("ALATE_TEST_ENDS", "6"))
SEED = int(os.environ.get("ALATE_TEST_ENDS_SEED", "21"))
AT_ONCE = 5
"""Colonies that are there at the same time."""
LIFE = 15.0
"""Seconds from the request until the job is done and idleness ends the cluster, and a little more."""
GONE = 60.0
"""Seconds from the delete until the Colony is gone, with the proof that nothing is left of it."""
EXAMPLE = Path(__file__).parents[2] / "deploy" / "colony.yaml"


def colony(number: int) -> dict:
    """The example, every second one with a job that never ends by itself."""
    shipped = yaml.safe_load(EXAMPLE.read_text())
    shipped["metadata"]["namespace"] = "default"
    asked = endless(shipped) if number % 2 else shipped
    return asked | {"metadata": {"name": f"train-{number}", "namespace": "default"}}


async def lived(house: House, number: int, moment: float, turns: asyncio.Semaphore) -> None:
    async with turns:
        await house.ask(colony(number))
        await asyncio.sleep(moment)
        async with asyncio.timeout(GONE):
            await house.go(f"train-{number}")


async def test_the_example_deleted_at_any_moment_is_gone_in_a_minute_and_leaves_nothing(tmp_path):
    dice, turns = random.Random(SEED), asyncio.Semaphore(AT_ONCE)  # noqa: S311 - a test's dice
    async with at_work(tmp_path) as house:
        async with asyncio.TaskGroup() as group:
            for number in range(ENDS):
                group.create_task(lived(house, number, dice.uniform(0.0, LIFE), turns))
        proof = await house.left(GONE)
    assert not any(proof.leftovers.values()), proof.leftovers
    assert (proof.audit.lost, proof.audit.duplicates) == ((), ())
