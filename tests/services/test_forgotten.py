"""What was purged or told gone is forgotten by whoever keeps it, on a nats-server that is killed as well."""

import asyncio
from typing import Any

import msgspec
import pytest

from events.bus import Message
from events.jetstream import feed as jetstream_feed
from events.jetstream.bus import connect
from events.jetstream.server import NatsServer
from events.memory.bus import wall_clock
from events.meters import Meters
from events.streams import is_tombstone, standing, tips
from schemas import cluster
from schemas.cluster import Pending
from schemas.infra import InfraSeen
from schemas.registry import declared
from schemas.subjects import Key
from schemas.wish import Need, Wish
from services.gateway.read_models import ReadModels
from services.runtime.level_publisher import LevelPublisher
from services.runtime.read_model import entities, levels
from services.sandbox.api.store.journal import KUBE, BusJournal
from tests.context import context
from tests.samples import POOL

MANY = 1000


def seen(attempt: int) -> InfraSeen:
    return InfraSeen(cluster="train-a", uid="c1.1", attempt=attempt)


def requested(number: int) -> tuple[Key, Pending]:
    wish = Wish(tenant="acme", colony=f"train{number}", cluster="a", uid="c", generation=1, need=Need(pools=(POOL,)))
    return Key("cluster", "acme", f"train{number}-a"), Pending(uid=f"c{number}", wish=wish)


@pytest.fixture
async def server(tmp_path, monkeypatch):
    monkeypatch.setattr(jetstream_feed, "HEARTBEAT", 0.2)
    async with NatsServer(tmp_path / "nats") as running:
        yield running


@pytest.fixture
async def bus(server):
    bus = await connect(server.url, name="test")
    yield bus
    await bus.close()


@pytest.fixture
async def run():
    """Runs views until the test is over; waits until they know all that is kept."""
    tasks: list[Any] = []

    async def running(*views):
        tasks.extend(asyncio.create_task(view.run()) for view in views)
        async with asyncio.timeout(20):
            for view in views:
                await view.ready.wait()

    yield running
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)


async def until(true) -> None:
    async with asyncio.timeout(20):
        while not true():  # noqa: ASYNC110 - a view tells nobody when it is told nothing
            await asyncio.sleep(0.02)


async def crash(server) -> None:
    await server.kill()
    await server.start()


async def test_a_view_forgets_at_once_what_is_told_gone(bus, run):
    said = LevelPublisher(context(bus, wall_clock), InfraSeen)
    view = levels(bus, InfraSeen, Meters())
    gone: list[Any] = []
    view.listen(lambda *_: None, gone.append)
    await run(view)
    await said.publish(seen(1), "acme", "capi", "train-a-1")
    await said.publish(seen(2), "acme", "capi", "train-b-1")
    await until(lambda: len(list(view)) == 2)
    await said.forget(InfraSeen, "acme", "capi", "train-a-1")
    await until(lambda: len(list(view)) == 1)
    assert gone == [declared(InfraSeen).at("acme", "capi", "train-a-1")]
    assert said.last(InfraSeen, "acme", "capi", "train-a-1") is None
    assert await said.publish(seen(1), "acme", "capi", "train-a-1")
    await until(lambda: len(list(view)) == 2)


async def test_a_thousand_purged_entities_are_kept_by_no_view(bus, run, monkeypatch):
    monkeypatch.setattr(jetstream_feed, "LOOK", 0.2)
    monkeypatch.setattr(jetstream_feed, "LIST", 0.4)
    view, books = entities(bus, cluster.LIFECYCLE, Meters()), ReadModels(bus, Meters())
    entries = [requested(number) for number in range(MANY)]
    publishes = (bus.publish(Message(key.state("pending"), msgspec.json.encode(state))) for key, state in entries)
    await asyncio.gather(*publishes)
    await run(view, books.clusters)
    assert len(list(view)) == books.starting == MANY
    await bus.purge("EVENTS", "cluster.*.acme.*")
    await until(lambda: not list(view) and not books.starting)
    assert not list(books.unfinished_colonies())
    assert not books._keys_of_colony


async def test_what_is_told_gone_stays_gone_when_nats_is_killed(server, bus, run):
    said = LevelPublisher(context(bus, wall_clock), InfraSeen)
    view = levels(bus, InfraSeen, Meters())
    await run(view)
    for turn in range(4):
        for attempt in range(1, 4):  # replaced, as levels are: what was replaced must not come back either
            for name in "abcdef":
                await said.publish(seen(attempt + 10 * turn), "acme", "capi", f"train-{name}-1")
        for name in "abc":
            await said.forget(InfraSeen, "acme", "capi", f"train-{name}-1")
        await crash(server)
        kept = standing(await tips(bus, "LEVELS", "observed.>"))
        assert [each.subject[-3:] for each in kept] == ["d-1", "e-1", "f-1"]
    await until(lambda: len(list(view)) == 3)
    again = LevelPublisher(context(bus, wall_clock), InfraSeen)
    await again.refresh()
    assert len(again.named(InfraSeen)) == 3


async def test_what_was_purged_while_nats_was_away_is_forgotten_at_the_reconnect(server, bus, run):
    view = levels(bus, InfraSeen, Meters())
    for name in "ab":
        subject = declared(InfraSeen).at("acme", "capi", name)
        await bus.publish(Message(subject, msgspec.json.encode(seen(1))))
    await run(view)
    assert len(list(view)) == 2
    await bus.purge("LEVELS", declared(InfraSeen).at("acme", "capi", "a"))
    await crash(server)
    await until(lambda: len(list(view)) == 1)


async def test_a_level_that_somebody_said_anew_is_not_told_gone(bus):
    mine, other = (LevelPublisher(context(bus, wall_clock), InfraSeen) for _ in range(2))
    await mine.publish(seen(1), "acme", "capi", "a")
    await other.refresh()
    await other.publish(seen(2), "acme", "capi", "a")
    await mine.forget(InfraSeen, "acme", "capi", "a")
    stored = await bus.last("LEVELS", "observed.>")
    assert not is_tombstone(stored)
    assert mine.last(InfraSeen, "acme", "capi", "a") == seen(2)


async def test_levels_that_are_read_again_are_what_the_bus_keeps(bus):
    mine, other = (LevelPublisher(context(bus, wall_clock), InfraSeen) for _ in range(2))
    for name in "abc":
        await mine.publish(seen(1), "acme", "capi", name)
    await other.refresh()
    await other.publish(seen(2), "acme", "capi", "a")
    await other.forget(InfraSeen, "acme", "capi", "b")
    await other.publish(seen(4), "acme", "capi", "d")
    await mine.refresh()
    assert {names[-1]: level.attempt for names, level in mine.named(InfraSeen)} == {"a": 2, "c": 1, "d": 4}


async def test_what_comes_and_goes_all_the_time_leaves_one_tombstone(bus):
    said, subject = LevelPublisher(context(bus, wall_clock), InfraSeen), declared(InfraSeen).at("acme", "capi", "a")
    for turn in range(20):
        await said.publish(seen(turn), "acme", "capi", "a")
        await said.forget(InfraSeen, "acme", "capi", "a")
    (left,) = await bus.read("LEVELS", subject)
    assert (is_tombstone(left), left.data) == (True, b"")


async def test_an_object_made_and_deleted_all_the_time_leaves_one_tombstone(server):
    bus = await connect(server.url, name="sandbox", streams=(KUBE,))
    journal = BusJournal(bus, "first")
    for turn in range(20):
        await journal.append("kube.management.pods.a", b"%d" % turn)
        await journal.append("kube.management.pods.a", b"")
    (left,) = await bus.read("KUBE", "kube.>")
    assert (is_tombstone(left), await journal.load()) == (True, [])
    await bus.close()
