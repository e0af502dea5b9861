"""Each transition that people care about is one Event on its Colony, however often it is heard and by how many."""

import asyncio
from contextlib import asynccontextmanager
from datetime import timedelta
from itertools import count

import msgspec
import pytest

from events.errors import Denied, TryLater
from events.kube.client import Kube
from events.kube.resources import EVENTS
from events.memory.bus import MemoryBus
from events.meters import Meters
from events.streams import tombstone
from schemas import addon, cluster, teardown
from schemas.inventory import ClusterSeen
from schemas.subjects import Key
from services.gateway.kube_events import recorder as correlator
from services.gateway.kube_events.recorder import KEPT, RATE, RECENT, WAITING, Correlator, Recorder
from services.gateway.read_models import ReadModels
from services.runtime.entity_store import EntityStore
from services.runtime.level_publisher import LevelPublisher
from services.sandbox.api.server.app import MANAGEMENT, Api
from services.sandbox.api.server.local import LocalTransport
from services.sandbox.api.store.journal import MemoryJournal
from services.sandbox.seeds.plant import seed
from tests.context import context
from tests.services.gateway.known import NOW, SEEN, WISH, is_, put_on

pytestmark = pytest.mark.looptime
HERE = msgspec.structs.replace(WISH, tenant="default")
NAME = Key("cluster", "default", "train-a")


class House:
    """A management cluster, a bus, and as many gateways' recorders as are asked for."""

    def __init__(self):
        uids = count(1)
        self.now = NOW
        self.api = Api(MemoryJournal(), lambda: self.now, lambda: f"u-{next(uids)}")
        self.bus, self.tasks = MemoryBus(), []
        lives = (cluster.LIFECYCLE, teardown.LIFECYCLE, addon.LIFECYCLE)
        self.ledgers = {life.domain: EntityStore(context(self.bus, lambda: self.now), life) for life in lives}
        self.levels = LevelPublisher(context(self.bus, lambda: self.now), ClusterSeen)

    def kube(self):
        return Kube(LocalTransport(self.api, MANAGEMENT), random=lambda: 0.5)

    async def recorder(self, kube=None):
        books = ReadModels(self.bus, Meters())
        made = Recorder(kube or self.kube(), books, context(self.bus, lambda: self.now))
        for view in books.views:
            self.tasks.append(asyncio.create_task(view.run()))
            await view.ready.wait()
        made.begin()
        self.tasks.append(asyncio.create_task(made.run()))
        return made

    async def leave(self):
        for task in self.tasks:
            task.cancel()
        await asyncio.gather(*self.tasks, return_exceptions=True)
        self.tasks.clear()

    async def decided(self, state, name="train-a"):
        domain = type(state).__module__.rpartition(".")[2]
        await self.ledgers[domain].write(Key(domain, "default", name), state, cause="", cancels_timer=False)
        await asyncio.sleep(0.1)

    async def told(self):
        found = (await self.kube().list(EVENTS, "default")).items
        return sorted((each["reason"], each["message"], each["count"]) for each in found)


@asynccontextmanager
async def house():
    """Not a fixture: its time would be another one."""
    made = House()
    await made.api.start()
    await seed(made.kube())
    try:
        yield made
    finally:
        await made.leave()
        await made.api.close()


def at(kind, **fields):
    return is_(kind, wish=HERE, since=NOW, **fields)


READY = ("Ready", "a: all 16 accelerators can be used", 1)


async def test_a_founding_is_two_events_on_its_colony():
    async with house() as it:
        await it.recorder()
        for kind in (cluster.Pending, cluster.Launching, cluster.Provisioned, cluster.Ready):
            await it.decided(at(kind))
        assert [reason for reason, _, _ in await it.told()] == ["Launching", "Ready"]
        (event, _) = (await it.kube().list(EVENTS, "default", fields="involvedObject.uid=c1")).items
        about = {"apiVersion": "alate.dev/v1alpha1", "kind": "Colony", "namespace": "default", "name": "train"}
        assert event["involvedObject"] == about | {"uid": "c1"}
        assert event["type"] == "Normal"


async def test_an_end_is_told_from_its_warning_to_its_proof():
    async with house() as it:
        await it.recorder()
        await it.decided(at(cluster.Ready))
        for kind in (teardown.Warned, teardown.Draining, teardown.TeardownReleasing, teardown.Stuck, teardown.Gone):
            await it.decided(at(kind, message="2 machines are left"))
        assert [reason for reason, _, _ in await it.told()] == ["Draining", "Gone", "Ready", "Stuck", "Warned"]


async def test_an_addon_that_cannot_be_applied_is_told_on_its_colony():
    async with house() as it:
        await it.recorder()
        await it.decided(at(cluster.Ready))
        await it.decided(put_on(addon.Degraded, tenant="default"), "train-a.driver")
        assert ("AddonDegraded", "a: add-on driver: bad manifest", 1) in await it.told()


async def test_a_restart_or_a_second_gateway_writes_nothing_twice():
    async with house() as it:
        for _ in range(2):
            await it.recorder()
        await it.decided(at(cluster.Ready))
        before = await it.kube().list(EVENTS, "default")
        await it.leave()
        await it.recorder()
        await asyncio.sleep(1)
        assert await it.told() == [READY]
        assert (await it.kube().list(EVENTS, "default")).items == before.items


async def test_what_came_to_be_while_no_gateway_ran_is_told_if_it_is_news():
    async with house() as it:
        await it.decided(at(cluster.Ready))
        await it.recorder()
        await asyncio.sleep(1)
        assert await it.told() == [READY]


async def test_history_is_not_told_again_at_a_start():
    async with house() as it:
        await it.decided(at(cluster.Ready))
        it.now += RECENT + timedelta(seconds=1)
        await it.recorder()
        await asyncio.sleep(1)
        assert await it.told() == []


async def test_what_happens_again_is_one_event_with_a_count():
    async with house() as it:
        await it.recorder()
        for _ in range(3):
            await it.decided(at(cluster.Waiting, reason="PriceCap"))
            await it.decided(at(cluster.Placing))
        assert ("PriceCap", "a: too dear", 3) in await it.told()


async def test_silence_is_told_but_not_that_of_a_cluster_that_ends():
    async with house() as it:
        await it.recorder()
        await it.decided(at(cluster.Ready))
        silent = msgspec.structs.replace(SEEN, known=False, fresh_since=NOW)
        for seen in (SEEN, silent, SEEN):
            await it.levels.publish(seen, "default", "train-a")
            await asyncio.sleep(0.1)
        assert [reason for reason, _, _ in await it.told()] == ["ReachableAgain", "Ready", "Unreachable"]
        await it.decided(at(teardown.Draining))
        await it.levels.publish(silent, "default", "train-a")
        await asyncio.sleep(0.1)
        assert [times for reason, _, times in await it.told() if reason == "Unreachable"] == [1]


class Failing:
    """An API server that takes no Events."""

    def __init__(self, fault):
        self.fault, self.asked = fault, 0

    async def create(self, *_, **__):
        self.asked += 1
        raise self.fault

    patch = create


@pytest.mark.parametrize(("fault", "tries"), [(TryLater("away", 1.0), 3), (Denied("no", "Forbidden"), 1)])
async def test_an_event_that_cannot_be_written_holds_up_no_other(fault, tries):
    async with house() as it:
        failing = Failing(fault)
        await it.recorder(failing)
        await it.decided(at(cluster.Launching))
        await it.decided(at(cluster.Ready))
        await asyncio.sleep(10)
        assert failing.asked == 2 * tries


async def test_what_cannot_be_written_for_long_is_bounded():
    async with house() as it:
        made = await it.recorder(Failing(TryLater("away", 1e6)))
        for number in range(WAITING + 50):
            wish = msgspec.structs.replace(HERE, colony=f"c{number}")
            made._observe_state(Key("cluster", "default", wish.name), at(cluster.Ready) if not number else is_(
                cluster.Ready, wish=wish, since=NOW))  # fmt: skip
        assert made._queue.full()


async def test_of_what_is_kept_no_more_nothing_is_remembered():
    async with house() as it:
        made = await it.recorder()
        await it.decided(at(cluster.Ready))
        await it.levels.publish(SEEN, "default", "train-a")
        await asyncio.sleep(0.1)
        assert (len(made._before), len(made._reachability)) == (1, 1)
        await it.bus.publish(tombstone(NAME.state("ready")))
        await it.levels.forget(ClusterSeen, "default", "train-a")
        await asyncio.sleep(0.1)
        assert (made._before, made._reachability) == ({}, {})


TRAIN, OTHER = ("acme", "train"), ("acme", "other")


def test_what_happens_again_is_counted_and_what_is_heard_again_is_not():
    one = Correlator()
    assert [one.count(TRAIN, "e", mark, NOW) for mark in ("u.1", "u.1", "u.2")] == [1, 0, 2]


def test_what_the_api_server_has_forgotten_begins_anew():
    one = Correlator()
    assert [one.count(TRAIN, "e", "u.1", NOW), one.count(TRAIN, "e", "u.2", NOW + KEPT)] == [1, 1]


def test_one_colony_tells_so_much_at_once_and_others_are_not_held_up_by_it():
    one = Correlator()
    told = [one.count(TRAIN, f"e{number}", "m", NOW) for number in range(RATE.burst + 10)]
    assert sum(told) == RATE.burst
    assert one.count(OTHER, "e", "m", NOW) == 1
    assert one.count(TRAIN, "later", "m", NOW + timedelta(minutes=1)) == 1


@pytest.mark.parametrize("jump", [timedelta(hours=1), timedelta(hours=-1)], ids=["forward", "back"])
def test_a_clock_that_is_set_keeps_no_colony_from_telling_and_makes_it_tell_nothing_twice(jump):
    one = Correlator()
    for number in range(RATE.burst):
        one.count(TRAIN, f"e{number}", "m", NOW)
    then = NOW + jump
    assert one.count(TRAIN, "e0", "m", then) == 0
    one.count(TRAIN, "next", "m", then)
    assert one.count(TRAIN, "later", "m", then + timedelta(minutes=1)) == 1


def test_what_is_long_over_is_forgotten(monkeypatch):
    monkeypatch.setattr(correlator, "MANY", 3)
    one = Correlator()
    for number in range(5):
        one.count(("acme", str(number)), f"e{number}", "m", NOW)
    later = NOW + max(KEPT, RATE.memory) + timedelta(seconds=1)
    one.count(TRAIN, "e", "m", later)
    assert (len(one._counted), len(one._buckets)) == (1, 1)
