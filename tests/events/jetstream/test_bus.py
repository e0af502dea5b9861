"""What only a real server can show: it is killed, and nothing is lost and nothing is there twice."""

import asyncio
import shutil
from collections import Counter
from contextlib import aclosing
from datetime import UTC, datetime, timedelta

import pytest

from events.bus import CaughtUp, Consumer, Expect, Message, Relisting, Stored, Timer, Unavailable
from events.jetstream import connection as jetstream_connection
from events.jetstream import feed as jetstream_feed
from events.jetstream import pull as jetstream_pull
from events.jetstream.bus import connect
from events.jetstream.server import NatsServer, free_port
from events.streams import STREAMS

WORK = Consumer("work", "EVENTS", ("cluster.>",), ack_wait=0.5)


@pytest.fixture
async def bus(nats_server):
    bus = await connect(nats_server.url, name="test")
    yield bus
    await bus.close()


async def crash(server: NatsServer) -> None:
    await server.kill()
    await server.start()


async def test_kill_9_during_2000_transitions_loses_none_and_doubles_none(nats_server, bus):
    entities, steps = 50, 40
    acknowledged: Counter[str] = Counter()
    moments = {400: asyncio.Event(), 1200: asyncio.Event()}

    async def live(name: str) -> None:
        sequence = 0
        for step in range(steps):
            message = Message(f"cluster.s{step}.t.{name}", b"%d" % step)
            swap = Expect(f"cluster.*.t.{name}", sequence)
            sequence = await bus.publish(message, expect=swap, msg_id=f"{name}.{step}")
            acknowledged[name] += 1
            if moment := moments.get(acknowledged.total()):
                moment.set()

    async with asyncio.timeout(40), asyncio.TaskGroup() as lives:
        for number in range(entities):
            lives.create_task(live(f"n{number}"))
        for moment in moments.values():
            await moment.wait()
            await crash(nats_server)
    histories: dict[str, list[int]] = {}
    for stored in await bus.read("EVENTS", "cluster.>"):
        histories.setdefault(stored.subject.rpartition(".")[2], []).append(int(stored.data))
    assert acknowledged.total() == entities * steps
    assert len(histories) == entities
    assert all(history == list(range(steps)) for history in histories.values())


async def test_timers_survive_kill_9(nats_server, bus):
    at = datetime.now(UTC) + timedelta(seconds=0.4)
    await bus.wake(Timer("timer.cluster.t.x", "due.cluster.t.x", at))
    await bus.wake(Timer("timer.cluster.t.gone", "due.cluster.t.gone", at))
    await bus.publish(Message("cluster.a.t.gone", b""), cancels="timer.cluster.t.gone")
    await crash(nats_server)
    async with aclosing(bus.feed("EVENTS", "due.>")) as feed, asyncio.timeout(10):
        fired = await first(feed)
    assert fired.subject == "due.cluster.t.x"
    assert fired.time >= at


async def first(feed) -> Stored:
    while not isinstance(given := await anext(feed), Stored):
        continue
    return given


async def test_work_goes_on_after_kill_9(nats_server, bus, monkeypatch):
    monkeypatch.setattr(jetstream_pull, "HEARTBEAT", 14.0)  # silence alone would be noticed too late for this test
    done: list[bytes] = []

    async def work() -> None:
        async with aclosing(bus.consume(WORK)) as deliveries:
            async for delivery in deliveries:
                done.append(delivery.stored.data)
                await delivery.ack()
                if len(set(done)) == 30:
                    return

    working = asyncio.create_task(work())
    async with asyncio.timeout(20):
        for number in range(30):
            if number in {10, 20}:
                await crash(nats_server)
            await bus.publish(Message("cluster.a.t.x", b"%d" % number))
        await working
    assert sorted(map(int, set(done))) == list(range(30))


async def test_a_feed_that_lists_anew_after_kill_9_leaves_no_gap(nats_server, bus, monkeypatch):
    monkeypatch.setattr(jetstream_feed, "HEARTBEAT", 14.0)  # silence alone would be noticed too late for this test
    said: list[bytes] = []
    heard: list[bytes] = []
    async with aclosing(bus.feed("EVENTS", "cluster.>")) as feed, asyncio.timeout(20):
        assert isinstance(await anext(feed), CaughtUp)
        for number in range(30):
            if number in {10, 20}:
                await crash(nats_server)
            said.append(b"%d" % number)
            await bus.publish(Message("cluster.a.t.x", said[-1]))
        while not heard or heard[-1] != said[-1]:
            match await anext(feed):
                case Stored(data=data):
                    heard.append(data)
    # Of what was said while it was away, the last is all that counts.
    assert list(dict.fromkeys(heard)) == [one for one in said if one in set(heard)]


async def test_when_all_streams_are_gone_feeds_and_consumers_begin_anew(nats_server, bus):
    await bus.publish(Message("cluster.a.t.x", b"old"))
    async with aclosing(bus.feed("EVENTS", "cluster.>")) as feed, aclosing(bus.consume(WORK)) as deliveries:
        async with asyncio.timeout(20):
            assert (await anext(feed)).data == b"old"
            assert isinstance(await anext(feed), CaughtUp)
            await (await anext(deliveries)).ack()
            waiting = asyncio.create_task(anext(feed)), asyncio.create_task(anext(deliveries))
            await nats_server.kill()
            shutil.rmtree(nats_server.folder)
            await nats_server.start()
            other = await connect(nats_server.url, name="other")
            await other.publish(Message("cluster.a.t.x", b"new"))
            assert isinstance(await waiting[0], Relisting)
            while isinstance(listed := await anext(feed), CaughtUp):
                pass  # it may list the new stream before there is something in it
            assert listed.data == b"new"
            delivery = await waiting[1]
            assert (delivery.stored.data, delivery.attempt) == (b"new", 1)
            await delivery.ack()
            await other.close()


async def test_a_publish_waits_for_a_server_that_comes_back(nats_server, bus):
    await nats_server.kill()
    waiting = asyncio.create_task(bus.publish(Message("cluster.a.t.x", b"")))
    await nats_server.start()
    async with asyncio.timeout(10):
        assert await waiting == 1


async def test_a_publish_is_unavailable_when_the_server_stays_away(nats_server):
    bus = await connect(nats_server.url, name="test", patience=0.3)
    await nats_server.stop()
    with pytest.raises(
        Unavailable, match=rf"NATS at nats://127\.0\.0\.1:{nats_server.port} gave no answer on cluster\.a"
    ):
        await bus.publish(Message("cluster.a.t.x", b""))
    with pytest.raises(Unavailable):
        await bus.last("EVENTS", "cluster.>")
    await bus.close()


async def test_a_subject_no_stream_takes_is_unavailable_in_one_sentence(nats_server):
    bus = await connect(nats_server.url, name="test", patience=0.3)
    with pytest.raises(Unavailable, match=r"no answer on nowhere: nothing answers there"):
        await bus.publish(Message("nowhere", b""))
    await bus.close()


async def test_no_nats_at_a_dead_port_is_said_in_one_sentence_without_the_password(monkeypatch):
    monkeypatch.setattr(jetstream_connection, "CONNECT", 0.3)
    port = free_port()
    with pytest.raises(Unavailable) as nobody:
        await connect(f"nats://user:secret@127.0.0.1:{port}", name="test")
    assert str(nobody.value).startswith(f"no NATS at nats://127.0.0.1:{port}: ")
    assert "Connect call failed" in str(nobody.value)
    assert "secret" not in str(nobody.value)


async def test_ten_thousand_subjects_boot_completely(nats_server, bus):
    async def fill(start: int) -> None:
        for number in range(start, 10_000, 64):
            await bus.publish(Message(f"cluster.a.t.n{number}", b"x" * 200))

    await asyncio.gather(*map(fill, range(64)))
    seen = set()
    async with aclosing(bus.feed("EVENTS", "cluster.>")) as feed, asyncio.timeout(20):
        async for given in feed:
            if isinstance(given, CaughtUp):
                break
            seen.add(given.subject)
    assert len(seen) == 10_000


async def test_streams_are_those_of_the_table(bus):
    for spec in STREAMS:
        assert await bus.count(spec.name, ">") == 0
