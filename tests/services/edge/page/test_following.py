"""What is said is followed while somebody looks and a while longer, and then no more."""

import asyncio
from datetime import timedelta

import pytest

from events.bus import Message, Unavailable
from events.memory.bus import MemoryBus
from services.edge.page.following import LINGER, Following
from tests.services.edge.house import NOW

pytestmark = pytest.mark.looptime


def clock():
    return NOW + timedelta(seconds=asyncio.get_running_loop().time())


class Counted(MemoryBus):
    """A bus that counts who follows it, and is away as often as it is told to be."""

    follows = 0
    away = 0

    async def follow(self, stream, *filters, since=None):
        if self.away:
            self.away -= 1
            raise Unavailable("no answer")
        self.follows += 1
        try:
            async for one in super().follow(stream, *filters, since=since):
                yield one
        finally:
            self.follows -= 1


@pytest.fixture
def bus():
    return Counted(clock=clock)


@pytest.fixture
async def following(bus):
    one = Following(bus, clock=clock, jitter=lambda: 0.5)
    running = asyncio.create_task(one.run())
    yield one
    running.cancel()
    await asyncio.gather(running, return_exceptions=True)


async def say(bus, name):
    return await bus.publish(Message(f"cluster.requested.{name}", b"{}"))


def told(following):
    return [kept.sequence for kept in following.ring.after(0)[0]]


async def test_nothing_is_followed_for_nobody(bus, following):
    await asyncio.sleep(3600)
    assert bus.follows == 0


async def test_who_looks_is_told_what_was_said_just_before(bus, following):
    await say(bus, "old")
    await asyncio.sleep(600)
    await say(bus, "new")
    await asyncio.sleep(60)
    await following.look_back()
    assert following.abreast
    assert told(following) == [2]


async def test_it_is_followed_for_a_while_after_the_last_look_and_then_no_more(bus, following):
    for _ in range(3):
        await following.look_back()
        await asyncio.sleep(LINGER - 1)
        assert bus.follows == 5
    await asyncio.sleep(2)
    assert bus.follows == 0
    assert not following.abreast
    assert told(following) == []


async def test_who_comes_back_later_learns_whether_something_was_said_meanwhile(bus, following):
    await say(bus, "a")
    await following.look_back()
    await asyncio.sleep(600)
    await following.look_back()
    assert following.ring.whole({"INTAKE": 1})
    await asyncio.sleep(600)
    await say(bus, "b")
    await asyncio.sleep(600)
    await following.look_back()
    assert not following.ring.whole({"INTAKE": 1})


async def test_who_was_held_up_through_a_pause_is_told_of_the_gap(bus, following):
    await following.look_back()
    number = following.ring.end
    await asyncio.sleep(600)
    await following.look_back()
    assert following.ring.after(number) == ([], False)


async def test_a_rate_counts_a_message_once_however_often_following_begins(bus, following):
    await following.look_back()
    await asyncio.sleep(LINGER - 1)
    await say(bus, "a")
    await asyncio.sleep(2)
    assert bus.follows == 0
    await following.look_back()
    assert following.rates.per_second(clock()) == {"cluster.requested": 1 / 60}


async def test_while_the_bus_is_away_a_look_waits_a_moment_and_is_told_later(bus, following):
    await say(bus, "a")
    bus.away = 20
    began = asyncio.get_running_loop().time()
    await following.look_back()
    assert asyncio.get_running_loop().time() - began == 2
    assert not following.abreast
    await asyncio.sleep(30)
    assert following.abreast
    assert told(following) == [1]
