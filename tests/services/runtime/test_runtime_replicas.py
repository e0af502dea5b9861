"""More replicas on the same durable consumer do the same work once."""

import asyncio
from datetime import timedelta

import msgspec
import pytest

from events.faults import TryLater
from schemas.entity import State
from services.runtime import SWEEP

pytestmark = pytest.mark.looptime


async def test_who_loses_the_compare_and_swap_reads_again_and_decides_again(house):
    await house.start()
    await house.elsewhere(house.lit())
    await house.press("hall")
    assert await house.story() == ["lit"]
    assert dict(house.meters.counts("alate.conflicts")) == {"lamp": 1}
    await house.press("hall", on=False)
    assert await house.story() == ["lit", "dark"]


async def test_what_another_replica_has_done_is_looked_at_before_anything_is_ignored(house):
    await house.start()
    await house.press("hall", on=False)
    await house.elsewhere(house.lit())
    await house.press("hall", on=False)
    assert await house.story() == ["lit", "dark"]


async def test_what_another_replica_has_ended_is_not_done_again(house):
    house.answers = [TryLater("no current", 10.0)]
    await house.start()
    await house.press("hall")
    await house.elsewhere(house.dark("l1"))
    await asyncio.sleep(30)
    assert len(house.connects) == 1


async def test_two_runtimes_on_one_bus_share_the_work_and_do_nothing_twice(house):
    await house.start()
    await house.start(house.bus.again())
    for number in range(40):
        await house.press(f"lamp{number % 20}", uid=f"l{number % 20}", wait=0)
    await asyncio.sleep(1)
    for number in range(20):
        states = [msgspec.json.decode(s.data, type=State) for s in await house.history(f"lamp{number}")]
        assert [state.revision for state in states] == [1, 2]
    await asyncio.sleep(600)
    assert len(await house.bus.read("EVENTS", "lamp.dark.*.*")) == 20
    assert len(await house.history()) == 60
    assert await house.bus.count("EVENTS", "timer.>") == 0


async def test_a_timer_another_replica_set_is_cancelled_too(house):
    await house.start()
    await house.elsewhere(house.lit())
    await house.bus.wake(house.timer(600))
    await house.press("hall", on=False)
    assert await house.story() == ["lit", "dark"]
    assert await house.bus.count("EVENTS", "timer.>") == 0


async def test_one_that_lives_again_elsewhere_is_not_forgotten(house):
    await house.start()
    await house.press("hall")
    await house.press("hall", on=False)
    await house.elsewhere(house.lit("l2", timedelta(days=9)))
    await asyncio.sleep(4 * SWEEP)
    assert await house.story() == ["waiting", "lit", "dark", "lit"]
