"""More replicas on the same durable consumer do the same work once."""

import asyncio
from itertools import pairwise

import msgspec
import pytest

from events.errors import TryLater
from schemas.entity import State
from services.runtime.loop import TRIES
from services.runtime.share import ShareChange
from tests.services.runtime.conftest import Waiting

pytestmark = pytest.mark.looptime


async def test_who_loses_the_compare_and_swap_reads_again_and_decides_again(house):
    await house.start()
    await house.elsewhere(house.lit())
    await house.press("hall")
    assert await house.story() == ["lit"]
    assert dict(house.meters.counts("alate.conflicts")) == {"lamp": 1}
    await house.press("hall", on=False)
    assert await house.story() == ["lit", "dark"]


async def test_who_loses_every_time_pauses_between_its_tries_and_stops_no_other_entity(house):
    await house.start()
    house.bus.contended.add("lamp.*.acme.hall")
    await house.press("hall", wait=1)
    assert len(house.bus.lost) <= TRIES + 1
    await house.press("attic")
    assert await house.story("attic") == ["waiting", "lit"]
    await asyncio.sleep(9)
    assert len(house.bus.lost) <= 6 * (TRIES + 1)
    assert all(later > earlier for earlier, later in pairwise(house.bus.lost))
    house.bus.contended.clear()
    await asyncio.sleep(60)
    assert await house.story() == ["waiting", "lit"]


async def test_who_loses_every_time_gives_the_message_to_the_dead_letters_in_the_end(house):
    await house.start()
    house.bus.contended.add("lamp.*.acme.hall")
    await house.press("hall", wait=600)
    assert len(house.bus.lost) <= 16 * (TRIES + 1)
    assert await house.bus.count("DLQ", ">") == 1


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


class Half:
    """A share that a test sets, and tells of who left."""

    def __init__(self, *keys):
        self.keys, self.told = set(keys), []

    def mine(self, key):
        return key in self.keys

    def listen(self, changed):
        self.told.append(changed)

    def inherit(self, *keys):
        self.keys |= set(keys)
        for told in self.told:
            told(ShareChange("one", frozenset(("one", "two")), frozenset(("one",))))


async def test_a_start_resumes_what_is_of_its_share_alone(house):
    house.answers = [TryLater("no current", 600.0)] * 2
    house.takes = 0.1
    first = await house.start()
    await house.press("hall", wait=1)
    await house.press("attic", wait=1)
    await house.stop(first)
    house.connects.clear()
    await house.start(share=Half("acme.hall"))
    await asyncio.sleep(1)
    assert [name for name, _ in house.connects] == ["hall"]


async def test_what_a_replica_that_left_had_begun_is_resumed_by_its_heir(house):
    share = Half("acme.hall")
    await house.start(share=share)
    other = await house.start(house.bus.again(), share=Half("acme.attic"))
    await house.elsewhere(Waiting(uid="l1"))
    await house.stop(other)
    share.inherit("acme.hall", "acme.attic")
    await asyncio.sleep(1)
    assert [name for name, _ in house.connects] == ["hall"]
