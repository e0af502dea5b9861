"""The pull loop notices when its pull is lost, and how much room there is."""

import asyncio
import os
import signal
from contextlib import aclosing

import pytest

from events.bus import Consumer, Message
from events.jetstream import pull as jetstream_pull
from events.jetstream.api import Purged, call
from events.jetstream.bus import connect
from events.jetstream.pull import Pull
from events.meters import DEAD_LETTERS, EXCEEDED, Meters

WORK = Consumer("work", "EVENTS", ("cluster.>",))


@pytest.fixture
async def bus(nats_server):
    bus = await connect(nats_server.url, name="test")
    yield bus
    await bus.close()


async def test_two_missed_heartbeats_mean_a_new_pull(nats_server, bus, monkeypatch):
    monkeypatch.setattr(jetstream_pull, "HEARTBEAT", 0.1)
    pull = Pull(bus._wire, WORK, Meters())
    waiting = asyncio.create_task(anext(deliveries := pull.run()))
    async with asyncio.timeout(10):
        await until(lambda: pull._round == 1)
        os.kill(nats_server.pid, signal.SIGSTOP)
        await until(lambda: pull._round == 2)
        os.kill(nats_server.pid, signal.SIGCONT)
        await bus.publish(Message("cluster.a.t.x", b"1"))
        assert (await waiting).stored.data == b"1"
    await deliveries.aclose()


async def test_heartbeats_keep_a_waiting_pull(bus, monkeypatch):
    monkeypatch.setattr(jetstream_pull, "HEARTBEAT", 0.1)
    monkeypatch.setattr(jetstream_pull, "EXPIRES", 0.5)
    pull = Pull(bus._wire, WORK, Meters())
    waiting = asyncio.create_task(anext(deliveries := pull.run()))
    started = asyncio.get_running_loop().time()
    async with asyncio.timeout(10):
        await until(lambda: pull._round == 2)
        assert asyncio.get_running_loop().time() - started >= 0.45
        await bus.publish(Message("cluster.a.t.x", b"1"))
        await waiting
    await deliveries.aclose()


async def test_a_deleted_consumer_is_made_again(bus):
    async with aclosing(bus.consume(WORK)) as deliveries, asyncio.timeout(10):
        await bus.publish(Message("cluster.a.t.x", b"1"))
        await (await anext(deliveries)).ack()
        waiting = asyncio.create_task(anext(deliveries))
        await bus.count("EVENTS", ">")
        await call(bus._wire, "CONSUMER.DELETE.EVENTS.work", None, Purged)
        assert (await waiting).stored.data == b"1"


async def test_what_was_not_handed_out_is_given_back_when_the_loop_ends(bus):
    for number in range(3):
        await bus.publish(Message("cluster.a.t.x", b"%d" % number))
    async with aclosing(bus.consume(WORK)) as deliveries, asyncio.timeout(10):
        await (await anext(deliveries)).ack()
    async with aclosing(bus.consume(WORK)) as deliveries, asyncio.timeout(10):
        assert {(await anext(deliveries)).stored.data for _ in range(2)} == {b"1", b"2"}


async def test_room_comes_back_when_the_time_to_answer_is_over(bus):
    few = Consumer("work", "EVENTS", ("cluster.>",), in_flight=1, ack_wait=0.1, max_deliver=2)
    for number in range(2):
        await bus.publish(Message("cluster.a.t.x", b"%d" % number))
    seen = []
    async with aclosing(bus.consume(few)) as deliveries, asyncio.timeout(10):
        async for delivery in deliveries:
            seen.append(delivery.stored.data)
            if len(set(seen)) == 2:
                break
    assert seen[0] == b"0"


async def until(condition) -> None:
    while not condition():  # noqa: ASYNC110 - the loop under test tells nobody how often it pulled
        await asyncio.sleep(0.01)


async def test_dead_letters_are_counted_and_among_them_those_that_nobody_answered(nats_server):
    meters = Meters()
    work = Consumer("work", "EVENTS", ("cluster.*.*.*",), max_deliver=1, ack_wait=0.2)
    bus = await connect(nats_server.url, name="test", meters=meters)
    for name in ("wrong", "silent"):
        await bus.publish(Message(f"cluster.a.t.{name}", b"1"))
    async with aclosing(bus.consume(work)) as deliveries, asyncio.timeout(10):
        await (await anext(deliveries)).reject("it is wrong")
        await anext(deliveries)
        waiting = asyncio.create_task(anext(deliveries))
        await until(lambda: dict(meters.counts(DEAD_LETTERS)) == {"work": 2})
        waiting.cancel()
        await asyncio.gather(waiting, return_exceptions=True)
    assert dict(meters.counts(EXCEEDED)) == {"work": 1}
    await bus.close()
