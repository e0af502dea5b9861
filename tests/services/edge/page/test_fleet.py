import asyncio
from datetime import UTC, datetime

import msgspec
import pytest

from events.bus import Anew, CaughtUp, Stored
from events.memory.bus import MemoryBus
from events.tombstone import tombstone
from services.edge.page.fleet import Fleet

IDLE = datetime(2026, 1, 1, tzinfo=UTC)


def fleet(*said: tuple[str, dict]) -> Fleet:
    made = Fleet(MemoryBus())
    for number, (subject, state) in enumerate(said, start=1):
        made.take(Stored(subject, msgspec.json.encode(state), {}, number))
    return made


def rows(made: Fleet) -> list[tuple[str, str, str]]:
    return [(row.name, row.state, row.ends) for row in made.snapshot().clusters]


def test_a_row_is_the_last_state_of_a_cluster_and_of_its_teardown():
    made = fleet(
        ("cluster.launching.acme.a", {}), ("cluster.ready.acme.a", {}), ("teardown.armed.acme.a", {"idle_since": IDLE})
    )
    assert rows(made) == [("a", "ready", "armed")]
    assert made.snapshot().clusters[0].idle_since == IDLE


def test_a_clusters_next_state_leaves_what_its_teardown_said():
    made = fleet(("cluster.ready.acme.a", {}), ("teardown.armed.acme.a", {}), ("cluster.provisioned.acme.a", {}))
    assert rows(made) == [("a", "provisioned", "armed")]


def test_a_row_says_what_its_end_waits_for():
    made = fleet(
        ("cluster.ready.acme.a", {}),
        ("teardown.draining.acme.a", {"blocked": "Job x runs"}),
        ("cluster.ready.acme.a", {}),
    )
    assert rows(made) == [("a", "ready", "draining")]
    assert made.snapshot().clusters[0].blocked == "Job x runs"


def test_a_row_says_what_its_addons_lack_until_they_have_it():
    broken = ("addon.degraded.acme.a_2Edriver", {"addon": "driver", "message": "no such class"})
    ready = ("cluster.ready.acme.a", {"cost_usd": 3.5})
    (row,) = fleet(ready, broken, ready).snapshot().clusters
    assert (row.name, row.state, row.cost, row.addons) == ("a", "ready", 3.5, {"driver": "no such class"})
    (row,) = fleet(ready, broken, ("addon.applied.acme.a_2Edriver", {"addon": "driver"})).snapshot().clusters
    assert row.addons == {}


def seen(made, known):
    made.look(Stored("inventory.cluster.acme.a", msgspec.json.encode({"cluster": "a", "known": known}), {}, 9))
    return [row.heard for row in made.snapshot().clusters]


def test_a_row_says_that_its_cluster_cannot_be_heard_whatever_is_said_after_it():
    made = fleet(("cluster.ready.acme.a", {}))
    assert seen(made, known=False) == [False]
    made.take(Stored("cluster.ready.acme.a", b"{}", {}, 2))
    assert [row.heard for row in made.snapshot().clusters] == [False]
    assert seen(made, known=True) == [None]


def test_a_silence_that_was_heard_of_before_its_cluster_is_told_with_it():
    made = fleet()
    assert seen(made, known=False) == []
    made.take(Stored("cluster.ready.acme.a", b"{}", {}, 1))
    assert [row.heard for row in made.snapshot().clusters] == [False]


def silent(name, sequence):
    return Stored(f"inventory.cluster.acme.{name}", b'{"cluster": "x", "known": false}', {}, sequence)


def forgotten(name, sequence):
    subject = f"inventory.cluster.acme.{name}"
    return Stored(subject, b"", tombstone(subject).headers, sequence)


class Listing(MemoryBus):
    """Both clusters are silent at first; then, as it goes on, one of them is heard of no more."""

    def __init__(self, *more):
        super().__init__()
        self._seen = (silent("a", 1), silent("b", 2), CaughtUp(), *more)

    async def feed(self, stream, *filters):
        ready = [Stored(f"cluster.ready.acme.{name}", b"{}", {}, number) for number, name in enumerate("ab", start=1)]
        for fed in self._seen if stream == "LEVELS" else (*ready, CaughtUp()):
            yield fed
            await asyncio.sleep(0)
        await asyncio.Event().wait()


@pytest.mark.parametrize(
    "more",
    [
        (forgotten("a", 3),),
        (Anew(), silent("b", 2), CaughtUp()),
        (Anew(), silent("b", 2), forgotten("a", 3), CaughtUp()),
    ],
    ids=["told gone", "not listed any more", "told gone while it is listed anew"],
)
async def test_the_silence_of_what_inventory_has_forgotten_is_forgotten(more):
    made = Fleet(Listing(*more))
    running = asyncio.create_task(made.run())
    async with asyncio.timeout(5):
        await made.ready.wait()
        for _ in range(20):
            await asyncio.sleep(0)
    running.cancel()
    await asyncio.gather(running, return_exceptions=True)
    assert {row.name: row.heard for row in made.snapshot().clusters} == {"a": None, "b": False}
    assert made._silent == {("acme", "b")}


class Halfway(MemoryBus):
    """Lists two clusters, and then anew, as far as it is let."""

    def __init__(self):
        super().__init__()
        self.goes_on = asyncio.Event()

    async def feed(self, stream, *filters):
        a, b = (Stored(f"cluster.ready.acme.{name}", b"{}", {}, number) for number, name in enumerate("ab", start=1))
        if stream == "EVENTS":
            for fed in (a, b, CaughtUp(), Anew(), b):
                yield fed
            await self.goes_on.wait()
        yield CaughtUp()
        await asyncio.Event().wait()


async def test_while_all_is_listed_anew_the_fleet_is_what_it_was():
    bus = Halfway()
    made = Fleet(bus)
    running = asyncio.create_task(made.run())
    async with asyncio.timeout(5):
        await made.ready.wait()
        assert [row.name for row in made.snapshot().clusters] == ["a", "b"]
        bus.goes_on.set()
        for _ in range(20):
            await asyncio.sleep(0)
    assert [row.name for row in made.snapshot().clusters] == ["b"]
    running.cancel()
    await asyncio.gather(running, return_exceptions=True)


def test_what_is_released_is_of_the_fleet_no_more_though_its_teardown_goes_on():
    made = fleet(("cluster.ready.acme.a", {}), ("cluster.released.acme.a", {}), ("teardown.gone.acme.a", {}))
    assert rows(made) == []


def test_heard_again_nothing_changes():
    made = fleet(("cluster.launching.acme.a", {}), ("cluster.ready.acme.a", {}))
    made.take(Stored("cluster.launching.acme.a", b"{}", {}, 1))
    assert rows(made) == [("a", "ready", "")]
    assert made.snapshot().sequence == 2
