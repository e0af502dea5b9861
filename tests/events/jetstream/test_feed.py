"""The feed notices when its consumer is lost."""

import asyncio
import os
import signal
from contextlib import aclosing

import pytest

from events.bus import CaughtUp, Message, Relisting
from events.jetstream import feed as jetstream_feed
from events.jetstream.api import ConsumerInfo, Purged, call
from events.jetstream.bus import connect
from events.jetstream.feed import LAST_PER_SUBJECT, Feed


@pytest.fixture
async def bus(nats_server):
    bus = await connect(nats_server.url, name="test")
    yield bus
    await bus.close()


async def consumers(bus) -> list[str]:
    answer = await bus._wire.ask("$JS.API.CONSUMER.NAMES.EVENTS", b"")
    return [name for name in answer.data.decode().split('"') if name.startswith("feed-")]


async def listed_anew(feed, first=None) -> list[bytes]:
    """What the next listing gives."""
    found: list[bytes] = []
    assert isinstance(await (first or anext(feed)), Relisting)
    async for given in feed:
        match given:
            case Relisting():
                found.clear()
            case CaughtUp():
                break
            case stored:
                found.append(stored.data)
    return found


async def blinded(bus) -> dict:
    """Somebody with the right to make consumers points the feed's elsewhere; gives its configuration then."""
    (name,) = await consumers(bus)
    info = await call(bus._wire, f"CONSUMER.INFO.EVENTS.{name}", None, ConsumerInfo)
    config = {**info.config, "filter_subjects": ["cluster.nothing.x.y"]}
    body = {"stream_name": "EVENTS", "config": config, "action": ""}
    return (await call(bus._wire, f"CONSUMER.CREATE.EVENTS.{name}", body, ConsumerInfo)).config


async def test_silence_means_that_all_is_listed_anew(nats_server, bus, monkeypatch):
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
        assert "its consumer is silent" in running.trouble
        os.kill(nats_server.pid, signal.SIGCONT)
        await bus.publish(Message("cluster.a.t.x", b"2"))
        listed = await listed_anew(feed, waiting)  # with what came meanwhile, or before it
        assert listed in ([b"2"], [b"1"])
        assert listed == [b"2"] or (await anext(feed)).data == b"2"
        assert running.trouble == ""


async def test_a_deleted_consumer_is_made_again(bus, monkeypatch):
    monkeypatch.setattr(jetstream_feed, "HEARTBEAT", 0.1)
    async with aclosing(bus.feed("EVENTS", "cluster.>")) as feed, asyncio.timeout(10):
        assert isinstance(await anext(feed), CaughtUp)
        (name,) = await consumers(bus)
        waiting = asyncio.create_task(anext(feed))
        await call(bus._wire, f"CONSUMER.DELETE.EVENTS.{name}", None, Purged)
        await bus.publish(Message("cluster.a.t.x", b"1"))
        assert b"1" in await listed_anew(feed, waiting)


async def test_a_consumer_that_somebody_changed_is_made_anew_and_all_is_read_again(bus, monkeypatch):
    monkeypatch.setattr(jetstream_feed, "HEARTBEAT", 0.1)
    monkeypatch.setattr(jetstream_feed, "LOOK", 0.2)
    async with aclosing(bus.feed("EVENTS", "cluster.>")) as feed, asyncio.timeout(10):
        assert isinstance(await anext(feed), CaughtUp)
        await blinded(bus)
        await bus.publish(Message("cluster.a.t.x", b"1"))
        assert await listed_anew(feed) == [b"1"]


async def test_a_feed_that_is_silent_while_its_stream_grows_is_noticed(bus, monkeypatch):
    monkeypatch.setattr(jetstream_feed, "HEARTBEAT", 0.1)
    monkeypatch.setattr(jetstream_feed, "LOOK", 0.2)
    running = Feed(bus._wire, "EVENTS", ("cluster.>",), LAST_PER_SUBJECT)
    async with aclosing(running.run()) as feed, asyncio.timeout(10):
        assert isinstance(await anext(feed), CaughtUp)
        running._taken = await blinded(bus)  # as if the server had taken it so
        waiting = asyncio.create_task(anext(feed))
        await bus.publish(Message("cluster.a.t.x", b"1"))
        assert await listed_anew(feed, waiting) == [b"1"]


async def test_what_was_purged_does_not_come_when_all_is_listed_now_and_then(bus, monkeypatch):
    monkeypatch.setattr(jetstream_feed, "HEARTBEAT", 0.1)
    monkeypatch.setattr(jetstream_feed, "LOOK", 0.1)
    monkeypatch.setattr(jetstream_feed, "LIST", 0.3)
    await bus.publish(Message("cluster.a.t.x", b"1"))
    await bus.publish(Message("cluster.a.t.y", b"2"))
    async with aclosing(bus.feed("EVENTS", "cluster.>")) as feed, asyncio.timeout(10):
        assert [(await anext(feed)).data for _ in range(2)] == [b"1", b"2"]
        assert isinstance(await anext(feed), CaughtUp)
        await bus.purge("EVENTS", "cluster.*.t.x")
        assert await listed_anew(feed) == [b"2"]
        assert bus.trouble == ""


async def test_the_bus_tells_while_a_feed_is_not_what_it_should_be(nats_server, bus, monkeypatch):
    monkeypatch.setattr(jetstream_feed, "HEARTBEAT", 0.1)
    async with aclosing(bus.feed("EVENTS", "cluster.>")) as feed, asyncio.timeout(10):
        assert isinstance(await anext(feed), CaughtUp)
        waiting = asyncio.create_task(anext(feed))
        await nats_server.kill()
        while not bus.trouble:  # noqa: ASYNC110 - another task's state
            await asyncio.sleep(0.01)
        assert bus.trouble.startswith("what EVENTS keeps on cluster.> is read anew: ")
        await nats_server.start()
        await listed_anew(feed, waiting)
        assert bus.trouble == ""


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
        assert await listed_anew(feed) == [b"2"]


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
