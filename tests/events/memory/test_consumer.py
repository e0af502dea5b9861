"""A consumer's place in memory: who may take what, and when."""

import asyncio
from datetime import UTC, datetime

import pytest

from events.bus import Consumer, Message
from events.memory.consumer import ConsumerQueue
from events.memory.stream import Bell, Log
from events.streams import StreamSpec

HERE, THERE = object(), object()


@pytest.fixture
def buried() -> list[tuple[int, str]]:
    return []


@pytest.fixture
def lane(buried) -> ConsumerQueue:
    bell = Bell()
    log = Log(StreamSpec("S", (">",)), lambda: datetime.now(UTC), bell)
    for _ in range(3):
        log.append(Message("a", b""))
    consumer = Consumer("work", "S", ("a",), max_deliver=2, ack_wait=10.0, in_flight=2)
    return ConsumerQueue(consumer, log, bell, lambda stored, _, reason: buried.append((stored.sequence, reason)))


@pytest.mark.looptime
async def test_each_connection_has_room_of_its_own(lane):
    assert [lane.take(HERE).stored.sequence for _ in range(2)] == [1, 2]
    assert lane.take(HERE) is None
    assert lane.take(THERE).stored.sequence == 3


@pytest.mark.looptime
async def test_what_comes_again_goes_first(lane):
    first = lane.take(HERE)
    lane.postpone(first, 0.0)
    assert lane.take(HERE) is first
    assert first.attempt == 2


@pytest.mark.looptime
async def test_who_waits_is_told_when_the_next_comes_again(lane):
    first, second = lane.take(HERE), lane.take(HERE)
    lane.postpone(first, 3.0)
    assert (lane.next_due(), second.due) == (3.0, 10.0)
    await asyncio.sleep(3)
    assert lane.take(HERE) is first
    assert lane.next_due() == 10.0


@pytest.mark.looptime
async def test_only_the_holders_own_are_dropped(lane):
    mine, theirs = lane.take(HERE), lane.take(THERE)
    lane.drop(HERE)
    assert (mine.due, mine.holder) == (0.0, None)
    assert theirs.holder is THERE


@pytest.mark.looptime
async def test_after_the_last_attempt_it_is_buried_and_the_next_is_given(lane, buried):
    for _ in range(2):
        assert lane.take(HERE).stored.sequence == 1
        lane.drop(HERE)
    assert lane.take(HERE).stored.sequence == 2
    assert buried == [(1, "no answer in 2 attempts")]


@pytest.mark.looptime
async def test_an_alarm_that_rings_a_tick_early_is_no_reason_to_wait_for_nothing(lane):
    first, _ = lane.take(HERE), lane.take(HERE)
    first.due = asyncio.get_running_loop().time() + 1e-9
    assert lane.next_due() == 10.0
    assert lane.take(THERE) is first
