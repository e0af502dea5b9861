"""An entity is woken when its time has come, whatever dies until then, whoever is late."""

import asyncio

import pytest

from events.errors import Denied, TryLater
from services.runtime.machine import Waits

pytestmark = pytest.mark.looptime


async def test_a_timer_is_set_once_and_fires_on_time(house):
    await house.start()
    await house.press("hall")
    (timer,) = await house.bus.read("EVENTS", "timer.lamp.acme.hall")
    assert timer.headers["Nats-Schedule"] == f"@at {(await house.lit_until()).isoformat()}"
    await house.press("hall")
    assert await house.bus.read("EVENTS", "timer.>") == (timer,)
    await asyncio.sleep(599.9)
    assert await house.story() == ["waiting", "lit"]
    await asyncio.sleep(0.1)
    assert await house.story() == ["waiting", "lit", "dark"]


async def test_a_transition_that_needs_no_timer_cancels_it_in_the_same_stroke(house):
    await house.start()
    await house.press("hall")
    await house.press("hall", on=False)
    assert await house.story() == ["waiting", "lit", "dark"]
    assert await house.bus.count("EVENTS", "timer.>") == 0
    await asyncio.sleep(1200)
    assert await house.bus.count("EVENTS", "due.>") == 0


async def test_a_timer_that_came_due_while_nobody_ran_fires_at_boot(house):
    first = await house.start()
    await house.press("hall")
    await house.stop(first)
    await house.bus.purge("EVENTS", "timer.>")
    await asyncio.sleep(3600)
    await house.start()
    assert await house.story() == ["waiting", "lit", "dark"]


async def test_a_timer_that_was_lost_is_set_again_at_boot(house):
    first = await house.start()
    await house.press("hall")
    await house.stop(first)
    await house.bus.purge("EVENTS", "timer.>")
    await house.start()
    assert await house.bus.count("EVENTS", "timer.>") == 1


async def test_a_timer_of_an_earlier_wait_is_set_again_for_the_time_that_counts(house):
    await house.start()
    await house.press("hall")
    (timer,) = await house.bus.read("EVENTS", "timer.>")
    await house.bus.wake(house.timer(10))
    await asyncio.sleep(11)
    assert await house.story() == ["waiting", "lit"]
    (again,) = await house.bus.read("EVENTS", "timer.>")
    assert again.headers == timer.headers


@pytest.mark.parametrize("behind", [5.0, 300.0, 590.0])
async def test_a_bus_whose_clock_is_ahead_is_not_asked_again_and_again(house, behind):
    await house.start(behind=behind)
    await house.press("hall")
    await asyncio.sleep(599)
    assert await house.story() == ["waiting", "lit"]
    await asyncio.sleep(70)
    assert await house.story() == ["waiting", "lit", "dark"]
    assert await house.bus.count("EVENTS", "due.>") <= 1


async def test_a_bus_whose_clock_is_behind_wakes_late_and_nothing_is_lost(house):
    await house.start(behind=-300.0)
    await house.press("hall")
    await asyncio.sleep(600 + 299)
    assert await house.story() == ["waiting", "lit"]
    await asyncio.sleep(1)
    assert await house.story() == ["waiting", "lit", "dark"]


async def test_a_retry_is_not_held_up_by_a_timer_that_came_early(house):
    await house.start(behind=300.0)
    await house.press("hall")
    await asyncio.sleep(301)
    await house.press("hall", on=False)
    house.answers.append(TryLater("busy", 1.0))
    await house.press("hall", uid="u2")
    await asyncio.sleep(2)
    assert (await house.story())[-1] == "lit"


async def test_a_call_that_fails_each_time_keeps_no_deadline_from_coming(house):
    house.connects_while_lit()
    house.answers = [house.connected(), *([Denied("no")] * 500)]
    await house.start()
    await house.press("hall")
    await asyncio.sleep(700)

    assert await house.story() == ["waiting", "lit", "dark"]


async def test_what_a_call_waits_for_is_told_to_its_entity_at_once(house):
    (connected,) = house.connected()
    house.answers = [Waits("no line yet", 60.0, event=connected)]
    await house.start()
    await house.press("hall")
    assert await house.story() == ["waiting", "lit"]
