"""The fleet has a row for every cluster that is not released, and knows what changed after a version."""

import asyncio
from contextlib import asynccontextmanager

import msgspec

from events.bus import Message
from events.memory.bus import MemoryBus
from events.streams import tombstone
from events.telemetry import Meters
from schemas import addon, cluster, teardown
from services.edge.page.follower import Fleet
from tests.services.edge.page.states import BEGAN, NOW, addon_state, seen, state, subject, wish


async def publish(bus, *states):
    for one in states:
        await bus.publish(Message(subject(one), msgspec.json.encode(one)))
    await settled()


async def settled():
    for _ in range(50):
        await asyncio.sleep(0)


@asynccontextmanager
async def fleet(*states):
    bus = MemoryBus()
    await publish(bus, *states)
    made = Fleet(bus, Meters())
    running = asyncio.create_task(made.run())
    try:
        async with asyncio.timeout(5):
            await made.ready.wait()
        yield bus, made
    finally:
        running.cancel()
        await asyncio.gather(running, return_exceptions=True)


def rows(changes):
    return [(row.colony, row.state) for row in changes.rows]


async def test_a_row_is_computed_from_all_newest_states_of_a_cluster():
    ready, ends = state(cluster.Ready), state(teardown.Draining, blocked="Job x runs")
    async with fleet(state(cluster.Pending), ready, ends, seen(), addon_state(addon.Applied)) as (_, made):
        (row,) = made.since(0).rows
    assert (row.state, row.message, row.accelerators_used, row.addons_applied) == ("draining", "Job x runs", 8, 1)


async def test_the_age_of_a_cluster_counts_from_its_first_known_state():
    async with fleet(state(cluster.Pending), state(cluster.Ready, since=NOW)) as (_, made):
        assert made.row("acme", "train-gpu").created == BEGAN


async def test_what_an_earlier_cluster_of_that_name_left_behind_does_not_count():
    old = (state(teardown.Draining, uid="u0"), seen(uid="u0"), addon_state(addon.Degraded, uid="u0"))
    async with fleet(*old, state(cluster.Ready)) as (_, made):
        (row,) = made.since(0).rows
    assert (row.state, row.accelerators_ready, row.addons) == ("ready", 0, 0)


async def test_only_rows_that_changed_are_sent_again():
    other = state(cluster.Ready, wish(colony="other"))
    async with fleet(state(cluster.Ready), other) as (bus, made):
        version = made.version
        assert made.since(version) == made.since(version + 1)
        await publish(bus, state(teardown.Draining))
        assert rows(made.since(version)) == [("train", "draining")]
        await publish(bus, state(cluster.Released, wish(colony="other")))
        assert made.since(version).gone == (("acme", "other-gpu"),)
        assert rows(made.since(0)) == [("train", "draining")]


async def test_a_cluster_that_the_stream_forgets_is_gone():
    async with fleet(state(cluster.Ready)) as (bus, made):
        version = made.version
        await bus.publish(tombstone(subject(state(cluster.Ready))))
        await settled()
        assert made.since(version).gone == (("acme", "train-gpu"),)
        assert made.since(0).rows == ()


async def test_a_cluster_is_reachable_again_once_the_inventory_forgets_that_it_was_not():
    silent = seen(known=False)
    async with fleet(state(cluster.Ready), silent) as (bus, made):
        assert made.row("acme", "train-gpu").state == "unreachable"
        await bus.publish(tombstone(subject(silent)))
        await settled()
        assert made.row("acme", "train-gpu").state == "ready"


async def test_every_change_is_announced():
    announced = []
    bus = MemoryBus()
    made = Fleet(bus, Meters(), lambda: announced.append(made.version))
    running = asyncio.create_task(made.run())
    await made.ready.wait()
    for one in (state(cluster.Ready), seen()):
        await publish(bus, one)
    running.cancel()
    assert announced == [1, 2, 3]
