"""What people look at: everything since a time, one place of a stream, how far consumers have come."""

import asyncio
from contextlib import aclosing
from datetime import UTC, datetime, timedelta
from typing import Any

from events.bus import CaughtUp, Consumer, Message

LONG_AGO = datetime(2020, 1, 1, tzinfo=UTC)
HOUR = timedelta(hours=1)


async def say(bus, *subjects: str) -> None:
    for number, subject in enumerate(subjects):
        await bus.publish(Message(subject, b"%d" % number))


async def kept(feed) -> list[bytes]:
    """What is given until the feed has caught up."""
    found: list[Any] = []
    async with asyncio.timeout(10):
        async for given in feed:
            if isinstance(given, CaughtUp):
                return found
            found.append(given.data)
    raise AssertionError("the feed ended")


async def live(feed) -> bytes:
    async with asyncio.timeout(10):
        return (await anext(feed)).data


async def test_following_since_a_time_gives_every_message_not_only_the_last(bus):
    await say(bus, "cluster.a.t.x", "cluster.a.t.x", "addon.a.t.x", "cluster.b.t.x")
    async with aclosing(bus.follow("EVENTS", "cluster.>", since=LONG_AGO)) as feed:
        assert await kept(feed) == [b"0", b"1", b"3"]
        await say(bus, "cluster.c.t.x")
        assert await live(feed) == b"0"


async def test_following_leaves_out_what_was_stored_before_the_time(bus):
    await say(bus, "cluster.a.t.x")
    moment = (await bus.last("EVENTS", ">")).time + timedelta(microseconds=1)
    await say(bus, "cluster.b.t.x", "cluster.c.t.x")
    async with aclosing(bus.follow("EVENTS", since=moment)) as feed:
        assert await kept(feed) == [b"0", b"1"]


async def test_following_since_a_time_to_come_begins_with_what_comes(bus):
    await say(bus, "cluster.a.t.x")
    async with aclosing(bus.follow("EVENTS", since=datetime.now(UTC) + HOUR)) as feed:
        assert await kept(feed) == []


async def test_following_without_a_time_gives_only_what_comes(bus):
    await say(bus, "cluster.a.t.x", "cluster.b.t.x")
    async with aclosing(bus.follow("EVENTS", "cluster.>", "addon.>")) as feed:
        assert await kept(feed) == []
        await say(bus, "teardown.a.t.x", "addon.a.t.x")
        assert await live(feed) == b"1"


async def test_a_place_of_a_stream_is_read_while_it_is_kept(bus):
    await say(bus, "cluster.a.t.x", "cluster.b.t.x")
    found = await bus.at("EVENTS", 2)
    assert (found.subject, found.data, found.sequence) == ("cluster.b.t.x", b"1", 2)
    assert await bus.at("EVENTS", 3) is None


async def test_one_message_is_dropped_and_no_other(bus):
    await say(bus, "dlq.EVENTS.a", "dlq.EVENTS.a", "dlq.EVENTS.a")
    assert await bus.drop("DLQ", 2)
    assert not await bus.drop("DLQ", 2)
    assert [stored.data for stored in await bus.read("DLQ", ">")] == [b"0", b"2"]


async def test_it_is_told_how_far_each_consumer_has_come(bus):
    consumer = Consumer("svc-events", "EVENTS", ("cluster.>", "addon.>"), in_flight=2)
    await say(bus, "cluster.a.t.x", "cluster.b.t.x", "addon.a.t.x", "teardown.a.t.x")
    async with aclosing(bus.consume(consumer)) as deliveries, asyncio.timeout(10):
        await (await anext(deliveries)).ack()
        await anext(deliveries)
        (place,) = await bus.consumers("EVENTS")
        while place.pending + place.unanswered > 2:  # an acknowledgement is on its way
            (place,) = await bus.consumers("EVENTS")
    assert (place.consumer, place.stream, place.filters) == ("svc-events", "EVENTS", consumer.filters)
    assert (place.pending + place.unanswered, place.redelivered) == (2, 0)


async def test_a_stream_nobody_consumes_has_no_consumers(bus):
    async with aclosing(bus.follow("EVENTS", since=LONG_AGO)) as feed:
        assert await kept(feed) == []
        assert await bus.consumers("EVENTS") == ()
