"""The memory goes by the loop's time and outlives its connections."""

import asyncio
from contextlib import aclosing
from datetime import UTC, datetime, timedelta

import pytest

from events.bus import CaughtUp, Consumer, Message, Timer, Unavailable
from events.memory.bus import MemoryBus, wall_clock
from events.streams import STREAMS, TTL

START = datetime(2026, 1, 1, tzinfo=UTC)
WORK = Consumer("work", "EVENTS", ("cluster.>",), max_deliver=3, ack_wait=30.0)


def clock() -> datetime:
    return START + timedelta(seconds=asyncio.get_running_loop().time())


@pytest.fixture
def bus() -> MemoryBus:
    return MemoryBus(clock=clock)


def timer(seconds: float) -> Timer:
    return Timer("timer.cluster.t.x", "due.cluster.t.x", clock() + timedelta(seconds=seconds))


async def fired(bus) -> datetime:
    async with aclosing(bus.feed("EVENTS", "due.>")) as feed:
        async for given in feed:
            if not isinstance(given, CaughtUp):
                return given.time
    raise AssertionError("the feed ended")


@pytest.mark.looptime
async def test_a_timer_of_weeks_fires_on_the_second(bus):
    set_for = timer(21 * 86_400)
    await bus.wake(set_for)
    assert await fired(bus) == set_for.at


@pytest.mark.looptime
async def test_a_fired_timer_is_forgotten_after_a_day(bus):
    await bus.wake(timer(10))
    await fired(bus)
    await asyncio.sleep(86_399)
    assert await bus.count("EVENTS", "due.>") == 1
    await asyncio.sleep(2)
    assert await bus.count("EVENTS", "due.>") == 0


@pytest.mark.looptime
async def test_a_message_with_an_end_wakes_nobody_before_it(bus):
    await bus.publish(Message("cluster.ready.t.x", b"", {TTL: "10"}))
    feeds = [asyncio.create_task(fired(bus)) for _ in range(2)]
    await asyncio.sleep(9)
    assert await bus.count("EVENTS", "cluster.>") == 1
    await asyncio.sleep(2)
    assert await bus.count("EVENTS", "cluster.>") == 0
    for feed in feeds:
        feed.cancel()


@pytest.mark.looptime
async def test_a_timer_waits_for_a_clock_that_is_behind_the_loop():
    behind = datetime(2026, 1, 1, tzinfo=UTC)
    slow = MemoryBus(clock=lambda: behind + timedelta(seconds=asyncio.get_running_loop().time() / 2))
    at = behind + timedelta(seconds=10)
    await slow.wake(Timer("timer.cluster.t.x", "due.cluster.t.x", at))
    assert await fired(slow) >= at


@pytest.mark.looptime
async def test_intake_is_forgotten_after_two_weeks(bus):
    await bus.publish(Message("cluster.requested", b""))
    await asyncio.sleep(14 * 86_400 - 1)
    assert await bus.count("INTAKE", ">") == 1
    await asyncio.sleep(1)
    assert await bus.count("INTAKE", ">") == 0


@pytest.mark.looptime
async def test_a_repeated_id_counts_again_after_the_window(bus):
    for _ in range(2):
        await bus.publish(Message("cluster.requested", b""), msg_id="x")
    assert await bus.count("INTAKE", ">") == 1
    await asyncio.sleep(next(spec.duplicate_window for spec in STREAMS if spec.name == "INTAKE"))
    await bus.publish(Message("cluster.requested", b""), msg_id="x")
    assert await bus.count("INTAKE", ">") == 2


@pytest.mark.looptime
async def test_an_unanswered_message_comes_again_when_its_time_is_over(bus):
    await bus.publish(Message("cluster.a.t.x", b""))
    async with aclosing(bus.consume(WORK)) as deliveries:
        for attempt, moment in ((1, 0), (2, 30), (3, 60)):
            assert (await anext(deliveries)).attempt == attempt
            assert asyncio.get_running_loop().time() == moment
        waiting = asyncio.create_task(anext(deliveries))
        await asyncio.sleep(31)
        assert await bus.count("DLQ", "dlq.EVENTS.work") == 1
        waiting.cancel()
        await asyncio.wait([waiting])


@pytest.mark.looptime
async def test_a_crash_gives_back_what_was_out_at_once(bus):
    crashing = bus.again()
    await bus.publish(Message("cluster.a.t.x", b""))
    deliveries = crashing.consume(WORK)
    await anext(deliveries)
    crashing.crash()
    async with aclosing(bus.consume(WORK)) as others:
        assert (await anext(others)).attempt == 2
    assert asyncio.get_running_loop().time() == 0
    with pytest.raises(Unavailable, match="the connection broke"):
        await anext(deliveries)
    with pytest.raises(Unavailable):
        await crashing.publish(Message("cluster.a.t.x", b""))


async def test_a_crash_leaves_other_connections_alone(bus):
    crashing, other = bus.again(), bus.again()
    await bus.publish(Message("cluster.a.t.x", b""))
    async with aclosing(other.consume(WORK)) as deliveries:
        delivery = await anext(deliveries)
        crashing.crash()
        await delivery.ack()
    assert await bus.unanswered(WORK) == 0


async def test_a_crash_wakes_who_listens(bus):
    crashing = bus.again()
    feed = crashing.feed("EVENTS", ">")
    await anext(feed)
    waiting = asyncio.create_task(anext(feed))
    await asyncio.sleep(0)
    crashing.crash()
    with pytest.raises(Unavailable):
        await waiting


async def test_an_unknown_stream_or_subject_is_unavailable_in_one_sentence(bus):
    with pytest.raises(Unavailable, match="no stream is called NONE"):
        await bus.last("NONE", ">")
    with pytest.raises(Unavailable, match="no stream takes nowhere"):
        await bus.publish(Message("nowhere", b""))


def test_the_wall_clock_knows_its_time_zone():
    assert wall_clock().tzinfo is UTC
