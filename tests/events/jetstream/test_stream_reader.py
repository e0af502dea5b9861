"""Whoever reads a stream page by page is given what was kept once, and then what comes."""

import asyncio
from contextlib import aclosing
from datetime import UTC, datetime, timedelta

import pytest

from events.bus import CaughtUp, Message
from events.jetstream.bus import connect
from events.jetstream.stream_reader import follow

HOUR = timedelta(hours=1)


@pytest.fixture
async def bus(nats_server):
    bus = await connect(nats_server.url, name="test")
    yield bus
    await bus.close()


async def say(bus, *subjects):
    for number, subject in enumerate(subjects):
        await bus.publish(Message(subject, b"%d" % number))


async def followed(bus, filters, since, *news):
    """What is given of what was kept, and the first that comes after it."""
    kept = []
    async with asyncio.timeout(20), aclosing(follow(bus._wire, "EVENTS", filters, since)) as given:
        async for each in given:
            if isinstance(each, CaughtUp):
                break
            kept.append(each.subject)
        await say(bus, *news)
        return kept, (await anext(given)).subject


@pytest.mark.parametrize("filters", [("cluster.>",), ("cluster.>", "addon.>"), ()])
async def test_what_was_stored_before_the_time_is_no_news_where_nothing_was_since(bus, filters):
    await say(bus, "cluster.a.t.x", "addon.a.t.x", "cluster.b.t.x")
    later = datetime.now(UTC) + HOUR
    assert await followed(bus, filters, later, "cluster.c.t.x") == ([], "cluster.c.t.x")


async def test_a_filter_under_which_nothing_was_since_tells_nothing_older_as_news(bus):
    await say(bus, "addon.a.t.x", "cluster.a.t.x")
    moment = (await bus.last("EVENTS", ">")).time + timedelta(microseconds=1)
    await say(bus, "cluster.b.t.x")
    found = await followed(bus, ("cluster.>", "addon.>"), moment, "addon.b.t.x")
    assert found == (["cluster.b.t.x"], "addon.b.t.x")
