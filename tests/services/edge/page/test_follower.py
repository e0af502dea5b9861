"""The streams are read while a page is open and a while longer, and then not at all."""

import asyncio
from datetime import timedelta

import pytest

from events.bus import Message, Unavailable
from events.memory.bus import MemoryBus
from events.meters import Meters
from services.edge.page.follower import LINGER, Follower
from services.runtime.context import Context
from tests.services.edge.house import NOW

pytestmark = pytest.mark.looptime


def clock():
    return NOW + timedelta(seconds=asyncio.get_running_loop().time())


class Counted(MemoryBus):
    """A bus that counts its readers, and is unavailable for a given number of tries."""

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
async def follower(bus):
    one = Follower(Context(bus, clock, lambda: 0.5, Meters()))
    running = asyncio.create_task(one.run())
    yield one
    running.cancel()
    await asyncio.gather(running, return_exceptions=True)


async def publish(bus, name):
    return await bus.publish(Message(f"cluster.requested.{name}", b"{}"))


def read(follower):
    return [entry.sequence for entry in follower.buffer.after(0)[0]]


async def test_without_a_page_nothing_is_read(bus, follower):
    await asyncio.sleep(3600)
    assert bus.follows == 0


async def test_a_page_is_sent_the_messages_of_the_last_minutes(bus, follower):
    await publish(bus, "old")
    await asyncio.sleep(600)
    await publish(bus, "new")
    await asyncio.sleep(60)
    await follower.catch_up()
    assert follower.caught_up
    assert read(follower) == [2]


async def test_reading_ends_a_while_after_the_last_request(bus, follower):
    for _ in range(3):
        await follower.catch_up()
        await asyncio.sleep(LINGER - 1)
        assert bus.follows == 5
    await asyncio.sleep(2)
    assert bus.follows == 0
    assert not follower.caught_up
    assert read(follower) == []


async def test_a_page_that_reconnects_later_learns_whether_it_missed_messages(bus, follower):
    await publish(bus, "a")
    await follower.catch_up()
    await asyncio.sleep(600)
    await follower.catch_up()
    assert follower.buffer.covers({"INTAKE": 1})
    await asyncio.sleep(600)
    await publish(bus, "b")
    await asyncio.sleep(600)
    await follower.catch_up()
    assert not follower.buffer.covers({"INTAKE": 1})


async def test_a_connection_that_was_idle_through_a_pause_learns_of_the_gap(bus, follower):
    await follower.catch_up()
    number = follower.buffer.end
    await asyncio.sleep(600)
    await follower.catch_up()
    assert follower.buffer.after(number) == ([], False)


async def test_a_rate_counts_a_message_once_however_often_following_begins(bus, follower):
    await follower.catch_up()
    await asyncio.sleep(LINGER - 1)
    await publish(bus, "a")
    await asyncio.sleep(2)
    assert bus.follows == 0
    await follower.catch_up()
    assert follower.rates.per_second(clock()) == {"cluster.requested": 1 / 60}


async def test_while_the_bus_is_away_a_request_waits_a_moment_and_reading_begins_later(bus, follower):
    await publish(bus, "a")
    bus.away = 20
    began = asyncio.get_running_loop().time()
    await follower.catch_up()
    assert asyncio.get_running_loop().time() - began == 2
    assert not follower.caught_up
    await asyncio.sleep(30)
    assert follower.caught_up
    assert read(follower) == [1]
