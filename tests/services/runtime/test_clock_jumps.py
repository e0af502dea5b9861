"""A machine's clock that is set an hour forward or back costs a wait at most: what is due comes, and never twice."""

import asyncio
from datetime import timedelta

import msgspec
import pytest

pytestmark = pytest.mark.looptime
HOUR = timedelta(hours=1)


@pytest.mark.parametrize(("jump", "within"), [(HOUR, 601), (-HOUR, 601 + 3600)], ids=["forward", "back"])
async def test_what_is_due_comes_once_after_the_clock_was_set(house, jump, within):
    await house.start()
    await house.press("hall")
    house.bus.jumped = jump
    await asyncio.sleep(within)
    assert await house.story() == ["waiting", "lit", "dark"]
    await asyncio.sleep(7200)
    assert await house.story() == ["waiting", "lit", "dark"]


async def test_nothing_is_due_early_because_the_clock_was_set_back(house):
    await house.start()
    await house.press("hall")
    house.bus.jumped = -HOUR
    await asyncio.sleep(3600 + 590)
    assert await house.story() == ["waiting", "lit"]


@pytest.mark.parametrize("jump", [HOUR, -HOUR], ids=["forward", "back"])
async def test_a_process_that_begins_after_the_clock_was_set_wakes_what_is_due(house, jump):
    first = await house.start()
    await house.press("hall")
    await house.stop(first)
    house.bus.jumped = jump
    await house.start()
    assert await house.story() == (["waiting", "lit", "dark"] if jump > timedelta() else ["waiting", "lit"])
    await asyncio.sleep(2 * 3600)
    assert await house.story() == ["waiting", "lit", "dark"]


async def test_a_state_is_never_older_than_the_one_before_though_the_clock_was_set_back(house):
    await house.start()
    await house.press("hall")
    house.bus.jumped = -HOUR
    await house.press("hall", on=False)
    times = [msgspec.json.decode(stored.data)["since"] for stored in await house.history("hall")]
    assert times == sorted(set(times))
    assert len(times) == 3
