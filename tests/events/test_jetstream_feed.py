"""The feed notices when its consumer is lost."""

import asyncio
import os
import signal
from contextlib import aclosing

import pytest

from events import jetstream_feed
from events.bus import CaughtUp, Message
from events.jetstream import connect
from events.jetstream_api import Purged, call
from events.jetstream_feed import LAST_PER_SUBJECT, Feed


@pytest.fixture
async def bus(nats_server):
    bus = await connect(nats_server.url, name="test")
    yield bus
    await bus.close()


async def consumers(bus) -> list[str]:
    answer = await bus._wire.ask("$JS.API.CONSUMER.NAMES.EVENTS", b"")
    return [name for name in answer.data.decode().split('"') if name.startswith("feed-")]


async def test_silence_means_a_new_consumer_from_where_it_stood(nats_server, bus, monkeypatch):
    monkeypatch.setattr(jetstream_feed, "HEARTBEAT", 0.1)
    running = Feed(bus._wire, "EVENTS", ("cluster.>",), LAST_PER_SUBJECT)
    async with aclosing(running.run()) as feed, asyncio.timeout(10):
        await bus.publish(Message("cluster.a.t.x", b"1"))
        assert (await anext(feed)).data == b"1"
        assert isinstance(await anext(feed), CaughtUp)
        waiting, before = asyncio.create_task(anext(feed)), running._box
        os.kill(nats_server.pid, signal.SIGSTOP)
        while running._box is before:  # noqa: ASYNC110 - the feed tells nobody that it begins again
            await asyncio.sleep(0.01)
        os.kill(nats_server.pid, signal.SIGCONT)
        await bus.publish(Message("cluster.a.t.x", b"2"))
        assert (await waiting).data == b"2"


async def test_a_deleted_consumer_is_made_again(bus, monkeypatch):
    monkeypatch.setattr(jetstream_feed, "HEARTBEAT", 0.1)
    async with aclosing(bus.feed("EVENTS", "cluster.>")) as feed, asyncio.timeout(10):
        assert isinstance(await anext(feed), CaughtUp)
        (name,) = await consumers(bus)
        waiting = asyncio.create_task(anext(feed))
        await call(bus._wire, f"CONSUMER.DELETE.EVENTS.{name}", None, Purged)
        await bus.publish(Message("cluster.a.t.x", b"1"))
        assert (await waiting).data == b"1"


async def test_one_that_follows_only_news_is_given_no_old_message_when_its_consumer_is_made_again(bus, monkeypatch):
    monkeypatch.setattr(jetstream_feed, "HEARTBEAT", 0.1)
    await bus.publish(Message("cluster.a.t.x", b"old"))
    async with aclosing(bus.follow("EVENTS", "cluster.>")) as feed, asyncio.timeout(10):
        assert isinstance(await anext(feed), CaughtUp)
        (name,) = await consumers(bus)
        waiting = asyncio.create_task(anext(feed))
        await call(bus._wire, f"CONSUMER.DELETE.EVENTS.{name}", None, Purged)
        await bus.publish(Message("cluster.a.t.x", b"new"))
        assert (await waiting).data == b"new"


async def test_a_lost_message_is_fetched_again(bus):
    running = Feed(bus._wire, "EVENTS", ("cluster.>",), LAST_PER_SUBJECT)
    async with aclosing(running.run()) as feed, asyncio.timeout(10):
        assert isinstance(await anext(feed), CaughtUp)
        await bus.publish(Message("cluster.a.t.x", b"1"))
        await running._mail.get(5)  # what a slow reader's connection would have dropped
        await bus.publish(Message("cluster.a.t.x", b"2"))
        assert [(await anext(feed)).data for _ in range(2)] == [b"1", b"2"]


async def test_a_slow_reader_is_waited_for(bus):
    size, number = 100_000, 400
    async with aclosing(bus.feed("EVENTS", "cluster.>")) as feed, asyncio.timeout(20):
        assert isinstance(await anext(feed), CaughtUp)
        await asyncio.gather(*(bus.publish(Message(f"cluster.a.t.n{n}", b"x" * size)) for n in range(number)))
        assert len({(await anext(feed)).subject for _ in range(number)}) == number


async def test_a_feed_that_is_left_leaves_no_consumer(bus):
    async with aclosing(bus.feed("EVENTS", "cluster.>")) as feed:
        await anext(feed)
        assert len(await consumers(bus)) == 1
    async with asyncio.timeout(5):
        while await consumers(bus):
            continue
