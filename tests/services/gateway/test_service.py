"""A Colony is looked at when there is news of it, once for many news of one moment, until the gateway leaves."""

import asyncio
from contextlib import asynccontextmanager
from datetime import UTC, datetime, timedelta

import msgspec
import pytest

from events.bus import Unavailable
from events.errors import Denied, TryLater
from events.kube.client import Listed, Lost
from events.kube.resources import CLUSTERDEPLOYMENTS, CLUSTERS, COLONIES
from events.memory.bus import MemoryBus
from schemas import cluster
from schemas.cluster import Launching, Pending, Stalled
from schemas.infra import InfraSeen
from schemas.inventory import ClusterSeen
from schemas.placement import Attempt, Placement
from schemas.subjects import Key
from schemas.wish import Limits, Need, Wish
from services.gateway.gauges import COUNT, OLDEST
from services.gateway.service import LATEST, MEASURE, PROGRESS, SOON, Gateway
from services.runtime.entity_store import EntityStore
from services.runtime.level_publisher import LevelPublisher
from tests.context import context

NOW = datetime(2026, 1, 1, tzinfo=UTC)
NAME = ("acme", "train")
KEY = Key("cluster", "acme", "train-a")
WISH = Wish(
    tenant="acme", colony="train", cluster="a", uid="c1", generation=1, need=Need(pools=()), limits=Limits()
)  # fmt: skip
ATTEMPT = Attempt(number=1, placement=Placement(cloud="aws", region="r", lots=()))
COLONY = {"metadata": {"namespace": "acme", "name": "train", "uid": "c1", "resourceVersion": "1"}, "spec": {}}

pytestmark = pytest.mark.looptime


class FakeKube:
    """Has one Colony, and nothing ever changes."""

    async def watch(self, resource, **_):
        yield Listed((COLONY,) if resource is COLONIES else (), "1")
        await asyncio.Event().wait()

    async def create(self, *_, **__):
        raise Denied("it takes no Events", "Forbidden")


class House:
    """A gateway whose looks at a Colony are noted, each with its time, and take as long as is said."""

    running: asyncio.Task[None]

    def __init__(self, kube=None, clouds=None):
        self.bus, self.looks, self.takes = MemoryBus(), [], 0.0
        self.shown, self.faults = 0, []
        self.gateway = Gateway(
            context(self.bus, lambda: NOW),
            kube or FakeKube(),
            clouds or {},
            backend="capi",
            cost_every=timedelta(minutes=1),
        )
        self.gateway._colonies.reconcile = self._look
        self.store = EntityStore(context(self.bus, lambda: NOW), cluster.LIFECYCLE)
        self.levels = LevelPublisher(context(self.bus, lambda: NOW), ClusterSeen, InfraSeen)

    async def _look(self, name):
        assert name == NAME
        self.looks.append(asyncio.get_running_loop().time())
        await asyncio.sleep(self.takes)
        if self.faults:
            raise self.faults.pop(0)
        self.shown += 1

    async def leave(self):
        self.running.cancel()
        await asyncio.gather(self.running, return_exceptions=True)

    async def decided(self, kind, **more):
        await self.store.write(KEY, kind(uid="c1.1", wish=WISH, **more), cause="", cancels_timer=False)

    async def launching(self):
        await self.decided(Launching, attempt=ATTEMPT, attempts=1, billed_since=NOW, deadline=NOW)
        await asyncio.sleep(1)

    async def seen(self, nodes):
        await self.levels.publish(ClusterSeen(cluster="train-a", uid="c1.1", nodes=nodes), "acme", "train-a")

    async def told(self, **more):
        await self.levels.publish(
            InfraSeen(cluster="train-a", uid="c1.1", attempt=1, **more), "acme", "k0rdent", "train-a-1"
        )

    async def since(self, began):
        """When it was looked at within a second from then, in milliseconds."""
        await asyncio.sleep(1)
        return [round(1000 * (at - began)) for at in self.looks if at >= began]


@asynccontextmanager
async def at_work(*of):
    """Not a fixture: its time would be another one."""
    made = House(*of)
    made.running = asyncio.create_task(made.gateway.run())
    await made.decided(Pending)
    await asyncio.sleep(1)
    yield made
    await made.leave()


async def test_what_an_owner_decided_is_shown_at_once():
    async with at_work() as house:
        began = asyncio.get_running_loop().time()
        await house.decided(Stalled, reason="A", message="")
        assert await house.since(began) == [0]


async def test_what_asks_the_market_is_shown_with_its_answer():
    async with at_work() as house:
        began = asyncio.get_running_loop().time()
        await house.decided(Pending)
        await asyncio.sleep(0.004)
        await house.decided(Stalled, reason="A", message="")
        assert await house.since(began) == [4]


async def test_what_is_seen_of_a_cluster_is_shown_with_what_its_owner_makes_of_it():
    async with at_work() as house:
        house.takes = 0.02
        began = asyncio.get_running_loop().time()
        await house.seen(1)
        await asyncio.sleep(0.004)
        await house.decided(Stalled, reason="A", message="")
        assert await house.since(began) == [4]


async def test_what_is_seen_and_nobody_decides_on_is_shown_soon():
    async with at_work() as house:
        began = asyncio.get_running_loop().time()
        await house.seen(1)
        assert await house.since(began) == [1000 * SOON]


@pytest.mark.parametrize(("clusters", "waits"), [(1, SOON), (20, 20 * SOON), (300, LATEST)])
async def test_the_more_clusters_are_founded_the_longer_news_are_gathered(clusters, waits):
    async with at_work() as house:
        for number in range(1, clusters):
            other = msgspec.structs.replace(WISH, cluster=str(number))
            state = Pending(uid="c1.1", wish=other)
            await house.store.write(Key("cluster", "acme", other.name), state, cause="", cancels_timer=False)
        await asyncio.sleep(2 * LATEST)
        began = asyncio.get_running_loop().time()
        await house.seen(1)
        await asyncio.sleep(waits / 2)
        await house.seen(2)
        await asyncio.sleep(LATEST)
        assert await house.since(began) == [1000 * waits]


async def test_words_of_a_back_end_that_nobody_decides_on_are_gathered_for_longer():
    async with at_work() as house:
        await house.launching()
        began = asyncio.get_running_loop().time()
        for words in ("no network yet", "no machine yet"):
            await house.told(message=words)
            await asyncio.sleep(SOON)
        assert await house.since(began) == [1000 * SOON * PROGRESS]


@pytest.mark.parametrize("news", [{"reachable": True}, {"present": False}, {"failure": "Quota"}, {"deleting": True}])
async def test_what_a_launch_waits_for_does_not_wait_for_words(news):
    async with at_work() as house:
        await house.launching()
        await house.told(message="no network yet")
        began = asyncio.get_running_loop().time()
        await house.told(**news)
        await asyncio.sleep(SOON / 2)
        await house.told(message="no machine yet")
        assert await house.since(began) == [1000 * SOON]


async def test_words_of_a_cluster_that_is_no_launch_wait_no_longer_than_other_news():
    async with at_work() as house:
        began = asyncio.get_running_loop().time()
        await house.told(message="no network yet")
        assert await house.since(began) == [1000 * SOON]


async def test_what_is_over_is_waited_for_by_nobody():
    async with at_work() as house:
        other = msgspec.structs.replace(WISH, cluster="b")
        for state in (Pending(uid="c1.1", wish=other), Stalled(uid="c1.1", wish=other, reason="A", message="")):
            await house.store.write(Key("cluster", "acme", other.name), state, cause="", cancels_timer=False)
        await asyncio.sleep(1)
        began = asyncio.get_running_loop().time()
        await house.seen(1)
        assert await house.since(began) == [1000 * SOON]


async def test_many_news_during_one_look_need_one_more():
    async with at_work() as house:
        house.takes = 0.1
        began = asyncio.get_running_loop().time()
        for reason in ("A", "B", "C"):
            await house.decided(Stalled, reason=reason, message="")
            await asyncio.sleep(0.01)
        assert await house.since(began) == [0, 100]


async def test_who_has_left_ends_no_look_and_begins_none():
    async with at_work() as house:
        house.takes, before = 5.0, house.shown
        await house.decided(Stalled, reason="A", message="")
        await house.seen(1)
        await asyncio.sleep(1)
        began = len(house.looks)
        await house.leave()
        await asyncio.sleep(60)
        assert (len(house.looks), house.shown) == (began, before)


async def test_what_was_put_off_is_left_to_the_next_one():
    async with at_work() as house:
        house.faults = [TryLater("busy")]
        await house.decided(Stalled, reason="A", message="")
        await asyncio.sleep(0.1)
        began = len(house.looks)
        await house.leave()
        await asyncio.sleep(60)
        assert (len(house.looks), house.faults) == (began, [])


class Backend:
    """One whose objects nobody may list until a minute after the start; or anybody may."""

    def __init__(self, name, *, refused):
        self.name, self.watched = name, CLUSTERS if refused else CLUSTERDEPLOYMENTS


class HalfKube(FakeKube):
    """Refuses to list the objects of one back end for a minute."""

    def __init__(self):
        self.discovered = {}

    async def read(self, path):
        return {"resources": [{"name": "clusters", "kind": "Cluster", "namespaced": True}]}

    async def watch(self, resource, **more):
        if resource is CLUSTERS:
            yield Lost("clusters is forbidden")
            await asyncio.sleep(60)
        async for sight in super().watch(resource, **more):
            yield sight


async def test_a_back_end_that_cannot_be_listed_stops_no_other_and_once_it_can_all_are_looked_at_again():
    clouds = {name: Backend(name, refused=name == "capi") for name in ("capi", "k0rdent")}
    async with at_work(HalfKube(), clouds) as house:
        assert house.looks == [0.0]
        assert house.gateway._why_unknown("capi") == "the objects in back end capi are not known: clusters is forbidden"
        assert house.gateway._why_unknown("k0rdent") == ""
        await asyncio.sleep(60)
        assert house.looks == [0.0, 60.0]


async def test_how_old_all_that_stands_is_is_measured_again_and_again():
    async with at_work() as house:
        await asyncio.sleep(MEASURE)
        meters = house.gateway._meters
        assert ({"domain": "cluster", "state": "pending"}, NOW.timestamp()) in meters.gauges(OLDEST)
        assert ({"domain": "cluster", "state": "pending"}, 1.0) in meters.gauges(COUNT)
        assert ({"domain": "teardown", "state": "stuck"}, 0.0) in meters.gauges(COUNT)
        await house.decided(Stalled, reason="A", message="")
        await asyncio.sleep(MEASURE)
        assert ({"domain": "cluster", "state": "pending"}, 0.0) in meters.gauges(COUNT)
        assert not [labels for labels, _ in meters.gauges(OLDEST) if labels["state"] == "pending"]


async def test_a_colony_that_cannot_be_followed_for_long_is_looked_at_less_and_less_often():
    async with at_work() as house:
        house.faults = [Unavailable("no answer"), TryLater("no answer")] * 50
        await house.decided(Stalled, reason="A", message="")
        before = len(house.looks)
        await asyncio.sleep(600)
        assert 20 < len(house.looks) - before < 40
        house.faults.clear()
        await asyncio.sleep(60)
        assert not house.running.done()
        assert house.shown == 2
