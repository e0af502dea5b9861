"""What ended long ago is forgotten, and nothing else."""

import asyncio
from datetime import timedelta

import pytest

from events.errors import TryLater
from services.runtime.entity_store import SWEEP
from tests.services.runtime.conftest import Dark

pytestmark = pytest.mark.looptime


async def test_a_history_that_ended_long_ago_is_forgotten_a_living_one_never(house):
    await house.start()
    await house.press("hall", uid="l1")
    await house.press("hall", uid="l1", on=False)
    house.answers = [TryLater("no current", 10 * SWEEP)]
    await house.press("attic", uid="l2")
    await asyncio.sleep(SWEEP + 1)
    assert await house.story("hall") == ["waiting", "lit", "dark"]
    await asyncio.sleep(2 * SWEEP)
    assert await house.story("hall") == []
    assert await house.story("attic") == ["waiting"]


async def test_a_bus_that_is_away_when_old_ones_are_forgotten_stops_nothing(house):
    task = await house.start()
    await house.press("hall")
    await house.press("hall", on=False)
    house.bus.astray["purge"] = 1
    await asyncio.sleep(4 * SWEEP)
    assert not task.done()
    assert await house.story() == []


async def test_one_that_lives_again_elsewhere_is_not_forgotten(house):
    await house.start()
    await house.press("hall")
    await house.press("hall", on=False)
    await house.elsewhere(house.lit("l2", timedelta(days=9)))
    await asyncio.sleep(4 * SWEEP)
    assert await house.story() == ["waiting", "lit", "dark", "lit"]


async def test_what_somebody_still_goes_by_is_kept_though_it_ended_long_ago(house, monkeypatch):
    monkeypatch.setattr(Dark, "needed", True)
    await house.start()
    await house.press("hall")
    await house.press("hall", on=False)
    await asyncio.sleep(4 * SWEEP)
    assert await house.story("hall") == ["waiting", "lit", "dark"]
