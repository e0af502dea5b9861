"""Replicas know each other within seconds, and what one owned goes to those that are left."""

import asyncio
from contextlib import asynccontextmanager
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from events.memory.bus import MemoryBus
from schemas.member import ServiceMember
from services.runtime.members import EXPIRES, GRACE, RENEW, ServiceMembers
from services.runtime.share import WHOLE, ShareChange, owner
from tests.context import context

pytestmark = pytest.mark.looptime
START = datetime(2026, 1, 1, tzinfo=UTC)
KEYS = [f"acme/cluster-{number}" for number in range(200)]


def clock():
    return START + timedelta(seconds=asyncio.get_running_loop().time())


def member(bus, name):
    return ServiceMembers(context(bus, clock), "press", name, ServiceMember(host="here", version="0", since=START))


@asynccontextmanager
async def running(one):
    task = asyncio.create_task(one.run())
    await one.ready.wait()
    try:
        yield one
    finally:
        task.cancel()
        await asyncio.wait((task,))


def shares(*members):
    return [{key for key in KEYS if each.mine(key)} for each in members]


async def test_an_only_replica_owns_everything_at_once():
    async with running(member(MemoryBus(clock=clock), "one")) as one:
        assert shares(one) == [set(KEYS)]
        assert asyncio.get_running_loop().time() == 0


async def test_two_replicas_divide_all_keys_with_none_in_common():
    bus = MemoryBus(clock=clock)
    async with running(member(bus, "one")) as one, running(member(bus.again(), "two")) as two:
        await asyncio.sleep(RENEW)
        first, second = shares(one, two)
        assert not first & second
        assert first | second == set(KEYS)
        assert 60 < len(first) < 140


async def test_the_keys_of_one_that_leaves_move_within_the_grace():
    bus = MemoryBus(clock=clock)
    async with running(member(bus, "one")) as one:
        async with running(member(bus.again(), "two")):
            await asyncio.sleep(2 * RENEW)
            assert shares(one) != [set(KEYS)]
        await asyncio.sleep(GRACE + 0.1)
        assert shares(one) == [set(KEYS)]


async def test_the_keys_of_one_that_died_move_within_five_seconds():
    bus, other = MemoryBus(clock=clock), None
    async with running(member(bus, "one")) as one:
        other = bus.again()
        async with running(member(other, "two")) as two:
            await asyncio.sleep(10 * RENEW)
            assert len(one.live) == len(two.live) == 2
            other.crash()
            await asyncio.sleep(EXPIRES - RENEW - 0.1)
            assert len(one.live) == 2
            await asyncio.sleep(5 - (EXPIRES - RENEW - 0.1))
            assert shares(one) == [set(KEYS)]


async def test_one_that_was_stopped_has_its_share_again_when_it_goes_on():
    bus, changes = MemoryBus(clock=clock), []
    async with running(member(bus, "one")) as one:
        dying = bus.again()
        task = asyncio.create_task((two := member(dying, "two")).run())
        await two.ready.wait()
        before = shares(one, two)
        one.listen(changes.append)
        dying.crash()  # it cannot say that it leaves
        task.cancel()
        await asyncio.sleep(5)
        async with running(member(bus.again(), "two")) as again:
            await asyncio.sleep(RENEW)
            assert shares(one, again) == before
    assert [sorted(change.after) for change in changes] == [["one"], ["one", "two"]]


def test_one_who_is_alone_by_construction_owns_everything():
    assert WHOLE.mine("acme/any")


@given(st.frozensets(st.text(min_size=1, max_size=8), min_size=2, max_size=6), st.data())
def test_only_the_keys_of_who_left_move(members, data):
    left = data.draw(st.sampled_from(sorted(members)))
    for key in KEYS[:40]:
        before, after = owner(key, members), owner(key, members - {left})
        assert before in (after, left)


def test_a_change_tells_what_was_gained_and_whether_someone_left():
    change = ShareChange("one", frozenset(("one", "two")), frozenset(("one",)))
    assert {key for key in KEYS if change.gained(key)} == {key for key in KEYS if owner(key, change.before) == "two"}
    assert change.someone_left
    assert not ShareChange("one", frozenset(("one",)), frozenset(("one", "two"))).someone_left
