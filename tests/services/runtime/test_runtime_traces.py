"""A life is told in one trace, that of what founded it: over timers, what others see, and restarts."""

import asyncio

import pytest

from events.telemetry import extract

pytestmark = pytest.mark.looptime

FIRST, SECOND = "1" * 32, "2" * 32


async def press(house, trace: str, uid: str = "l1", *, on: bool = True) -> None:
    await house.press("hall", uid, on=on, trace=f"00-{trace}-{'b' * 16}-00")


async def traces(house) -> list[str]:
    return [extract(stored.headers).id for stored in await house.history("hall")]


async def test_what_a_timer_does_is_told_in_the_trace_of_what_founded_it(house):
    await house.start()
    await press(house, FIRST)
    await asyncio.sleep(601)
    assert await house.story() == ["waiting", "lit", "dark"]
    assert await traces(house) == [FIRST] * 3


async def test_what_is_seen_in_another_trace_takes_no_life_over_and_a_restart_neither(house):
    task = await house.start()
    await press(house, FIRST)
    await house.stop(task)
    await house.start()
    await press(house, SECOND, on=False)
    assert await house.story() == ["waiting", "lit", "dark"]
    assert await traces(house) == [FIRST] * 3


async def test_a_new_life_under_an_old_name_begins_its_own(house):
    await house.start()
    await press(house, FIRST)
    await press(house, FIRST, on=False)
    await press(house, SECOND, uid="l2")
    assert await house.story() == ["waiting", "lit", "dark", "waiting", "lit"]
    assert await traces(house) == [FIRST] * 3 + [SECOND] * 2
