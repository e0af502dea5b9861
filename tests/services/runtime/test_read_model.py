"""A view keeps the newest it can read, and what it cannot read stops nothing: the same on every bus."""

import asyncio
from typing import Any

import msgspec
import pytest

from events.bus import CaughtUp, Message, Relisting, Stored
from events.meters import UNDECODABLE, Meters
from events.streams import tombstone
from schemas import cluster
from schemas.cluster import Pending
from schemas.infra import InfraSeen
from schemas.registry import declared
from schemas.subjects import Key
from schemas.wish import Need, Wish
from services.runtime.read_model import entities, levels
from tests.contracts.bus.conftest import another, bus
from tests.samples import POOL

__all__ = ["another", "bus"]

WISH = Wish(tenant="acme", colony="train", cluster="a", uid="c1", generation=1, need=Need(pools=(POOL,)))
SEEN = declared(InfraSeen).at("acme", "k0rdent", "train-a-1")
KEY = Key("cluster", "acme", "train-a")


class Ear:
    """Runs a view, and waits for its news."""

    def __init__(self, view):
        self.view, self.news = view, asyncio.Queue()
        view.listen(lambda _, value: self.news.put_nowait(value))
        self.task = asyncio.create_task(view.run())

    async def heard(self):
        return await asyncio.wait_for(self.news.get(), 10)


@pytest.fixture
async def hear():
    ears = []

    async def heard(view):
        ears.append(Ear(view))
        await asyncio.wait_for(view.ready.wait(), 10)
        return ears[-1]

    yield heard
    for ear in ears:
        ear.task.cancel()
    await asyncio.gather(*(ear.task for ear in ears), return_exceptions=True)


def seen(attempt):
    return InfraSeen(cluster="train-a", uid="c1.1", attempt=attempt)


async def test_the_newest_of_each_key_is_kept(bus, hear):
    await bus.publish(Message(SEEN, msgspec.json.encode(seen(1))))
    ear = await hear(levels(bus, InfraSeen, Meters()))
    assert await ear.heard() == ear.view.get(SEEN) == seen(1)
    await bus.publish(Message(SEEN, msgspec.json.encode(seen(2))))
    assert await ear.heard() == seen(2)
    assert list(ear.view) == [(SEEN, seen(2))]


@pytest.mark.parametrize("garbage", [b"{", b'{"cluster": 5}', b'{"cluster": "\xff"}', b"", b'{"a":' * 100_000])
async def test_what_cannot_be_read_is_counted_and_what_comes_after_it_is_kept(bus, hear, garbage):
    meters = Meters()
    await bus.publish(Message(SEEN, garbage))
    ear = await hear(levels(bus, InfraSeen, meters))
    assert ear.view.get(SEEN) is None
    await bus.publish(Message(SEEN, msgspec.json.encode(seen(1))))
    assert await ear.heard() == seen(1)
    await bus.publish(Message(SEEN, garbage))
    await bus.publish(Message(f"{SEEN}x", msgspec.json.encode(seen(2))))
    assert await ear.heard() == seen(2)
    assert ear.view.get(SEEN) == seen(1)
    assert dict(meters.counts(UNDECODABLE)) == {"observed": 2}
    assert not ear.task.done()


@pytest.mark.parametrize("subject", ["cluster.exploded.acme.train-a", "cluster.requested.acme._FF"])
async def test_a_state_that_nobody_declared_or_can_name_stops_no_other(bus, hear, subject):
    state = Pending(uid="c1.1", wish=WISH)
    await bus.publish(Message(subject, b"{}"))
    await bus.publish(Message(KEY.state("pending"), msgspec.json.encode(state)))
    ear = await hear(entities(bus, cluster.LIFECYCLE, Meters()))
    assert list(ear.view) == [(KEY, state)]


class Listing:
    """A bus with one feed: it lists what is kept, and lists it anew while something is told gone."""

    def __init__(self, *script):
        self._script = script

    async def feed(self, stream, *filters):
        for fed in self._script:
            yield fed
        await asyncio.Event().wait()


def stored(sequence, name, attempt=1):
    return Stored(f"{SEEN}{name}", msgspec.json.encode(seen(attempt)), {}, sequence)


def told_gone(sequence, name):
    return Stored(f"{SEEN}{name}", b"", tombstone(f"{SEEN}{name}").headers, sequence)


async def test_what_is_told_gone_while_all_is_listed_anew_is_gone(hear):
    script = (
        stored(1, "a"), stored(2, "b"), CaughtUp(),
        Relisting(), stored(1, "a"), stored(2, "b"), told_gone(3, "a"), CaughtUp(),
    )  # fmt: skip
    gone: list[Any] = []
    view = levels(Listing(*script), InfraSeen, Meters())
    view.listen(lambda *_: None, gone.append)
    ear = await hear(view)
    await asyncio.sleep(0)
    assert [key for key, _ in ear.view] == [f"{SEEN}b"]
    assert gone == [f"{SEEN}a"]


async def test_what_is_said_again_after_it_was_told_gone_is_kept(hear):
    script = (stored(1, "a"), CaughtUp(), Relisting(), stored(1, "a"), told_gone(2, "a"), stored(3, "a", 2), CaughtUp())
    ear = await hear(levels(Listing(*script), InfraSeen, Meters()))
    await asyncio.sleep(0)
    assert ear.view.get(f"{SEEN}a") == seen(2)
