"""What the management cluster lacks is told in one sentence, waited for, and no offer's fault."""

import asyncio
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from itertools import count

import msgspec
import pytest

from events.bus import Message
from events.errors import Denied, TryLater
from events.kube.client import Kube
from events.kube.resources import CLUSTERDEPLOYMENTS, CLUSTERS, COLONIES, CRDS
from events.memory.bus import MemoryBus
from schemas import cluster
from schemas.attempts import Observe
from schemas.changes import Rolling, Upgrade
from schemas.cluster import Launching, Placing, Released
from schemas.infra import InfraSeen
from schemas.inventory import Offer, Offers
from schemas.placement import Attempt, Placement
from schemas.registry import declared
from schemas.subjects import Key
from schemas.teardown import TeardownReleasing
from schemas.wish import Need, Pool, Wish
from services.clouds.port import backends
from services.provisioning.act import INSTALL_RECHECK, ROLLOUT_RECHECK, ProvisioningCalls
from services.provisioning.lifecycle.launch import LAUNCH_LIMIT
from services.provisioning.service import service
from services.runtime.loop import Runtime
from services.sandbox.api.server.app import MANAGEMENT, Api
from services.sandbox.api.server.local import LocalTransport
from services.sandbox.api.store.journal import MemoryJournal
from services.sandbox.seeds.plant import seed
from tests.context import context

pytestmark = [pytest.mark.looptime, pytest.mark.timeout(60)]

START = datetime(2026, 1, 1, tzinfo=UTC)
KEY = Key("cluster", "default", "train-a")
POOLS = (Pool(name="gpu", accelerator="H100", accelerators_per_node=8, nodes=2),)
OFFERS = tuple(
    Offer(cloud="aws", region="r", instance=name, accelerator="H100", accelerators=8, price=price)
    for name, price in (("cheap", 1.0), ("dear", 2.0))
)
WATCHED = {"capi": CLUSTERS, "k0rdent": CLUSTERDEPLOYMENTS}


def missing(resource) -> str:
    kind = f"{resource.kind} in {resource.api_version}"
    return f"the API server does not serve {kind}: install its CRD, and it goes on by itself"


def clock() -> datetime:
    return START + timedelta(seconds=asyncio.get_running_loop().time())


class House:
    """Provisioning over a sandbox's API, until it is stopped."""

    def __init__(self, backend):
        self.backend, self.resource = backend, WATCHED[backend]
        self.bus, self.tasks = MemoryBus(clock=clock), []
        uids = count()
        self.api = Api(MemoryJournal(), clock, lambda: f"00000000-0000-0000-0000-{next(uids):012d}")
        self.kube = Kube(LocalTransport(self.api, MANAGEMENT), random=lambda: 0.5)
        self.clouds = backends(self.kube)

    async def start(self):
        await self.api.start()
        await seed(self.kube)
        await self.say(Offers(cloud="aws", region="r", offers=OFFERS), "aws", "r")
        self.tasks.append(asyncio.create_task(self._run()))

    async def _run(self):
        provisioning, views = service(context(self.bus, clock), self.clouds)
        runtime = Runtime(provisioning, context(self.bus, clock))
        async with asyncio.TaskGroup() as group:
            for view in views:
                group.create_task(view.run())
                await view.ready.wait()
            group.create_task(runtime.run())

    async def stop(self):
        for task in self.tasks:
            task.cancel()
            with suppress(asyncio.CancelledError, BaseExceptionGroup):
                await task
        await self.api.close()

    async def serve(self, *, served):
        """An administrator takes the kind away, or brings it back."""
        name = f"{self.resource.plural}.{self.resource.group}"
        versions = (await self.kube.get(CRDS, name))["spec"]["versions"]
        wanted = {"spec": {"versions": [each | {"served": served} for each in versions]}}
        await self.kube.patch(CRDS, name, None, wanted)

    async def say(self, level, *names):
        await self.bus.publish(Message(declared(type(level)).at(*names), msgspec.json.encode(level)))

    async def say_state(self, state):
        subject = declared(type(state)).at("default", "train-a")
        await self.bus.publish(Message(subject, msgspec.json.encode(state)))

    def reachable(self):
        """It goes away after the market was asked."""
        for cloud in self.clouds.values():

            async def reach(_):
                return {"aws": False}

            cloud.reach = reach

    async def ask(self):
        pools = [{"name": "gpu", "accelerator": "H100", "acceleratorsPerNode": 8, "nodes": 2}]
        colony = {
            "metadata": {"name": "train", "namespace": "default"},
            "spec": {"clusters": [{"name": "a", "pools": pools}]},
        }
        uid = (await self.kube.create(COLONIES, colony))["metadata"]["uid"]
        need = Need(pools=POOLS, backend=self.backend, clouds=("aws",))
        wish = Wish(tenant="default", colony="train", cluster="a", uid=uid, generation=1, need=need)
        await self.say(wish, "default", "train-a")

    async def history(self):
        kinds = {declared(kind).event: kind for kind in cluster.LIFECYCLE.states}
        stored = await self.bus.read("EVENTS", KEY.history)
        return [msgspec.json.decode(each.data, type=kinds[each.subject.split(".")[1]]) for each in stored]

    async def there(self):
        return [each["metadata"]["name"] for each in (await self.kube.list(self.resource, "default")).items]


@pytest.fixture(params=WATCHED)
async def house(request):
    made = House(request.param)
    await made.start()
    yield made
    await made.stop()


def names(history):
    return [type(each).__name__ for each in history]


async def test_a_back_end_that_is_not_installed_is_told_once_and_taken_up_when_it_is(house):
    await house.serve(served=False)
    await house.ask()
    await asyncio.sleep(3600)
    _, stalled = await house.history()
    assert (stalled.reason, stalled.message) == (cluster.NOT_INSTALLED, missing(house.resource))
    await house.serve(served=True)
    await asyncio.sleep(INSTALL_RECHECK * 1.2)
    *_, launching = await house.history()
    assert names(await house.history()) == ["Pending", "Stalled", "Launching"]
    assert launching.attempt.placement.lots[0].instance == "cheap"
    assert await house.there() == ["train-a-1"]


async def test_a_kind_that_is_away_for_a_moment_is_waited_for_with_the_same_offer(house):
    await house.serve(served=False)
    house.kube.discovered.clear()
    house.reachable()
    await house.ask()
    await asyncio.sleep(INSTALL_RECHECK * 4)
    assert names(await house.history()) == ["Pending", "Launching", "Launching"]
    assert (await house.history())[-1].blocked == missing(house.resource)
    await house.serve(served=True)
    await asyncio.sleep(INSTALL_RECHECK * 1.2)
    first, *_, last = (await house.history())[1:]
    assert (last.blocked, last.attempt) == ("", first.attempt)
    assert await house.there() == ["train-a-1"]


async def test_a_kind_that_stays_away_is_waited_for_no_longer_than_a_launch_may_take(house):
    await house.serve(served=False)
    house.reachable()
    await house.ask()
    await asyncio.sleep(LAUNCH_LIMIT.total_seconds() + 60)
    placing = (await house.history())[-1]
    assert isinstance(placing, Placing)
    assert (placing.attempt.reason, placing.attempt.message) == (cluster.NOT_INSTALLED, missing(house.resource))
    await house.serve(served=True)
    await asyncio.sleep(60)
    launching = (await house.history())[-1]
    assert (launching.attempt.number, launching.attempt.placement) == (2, placing.attempt.placement)


async def test_what_may_not_be_let_go_is_told_once_and_let_go_when_it_may(house):
    await house.ask()
    await asyncio.sleep(1)
    launching, backend = (await house.history())[-1], house.clouds[house.backend]
    allowed, backend.release = backend.release, forbidden
    await house.say_state(TeardownReleasing(uid=launching.uid, wish=launching.wish, reason="Deleted", deadline=START))
    await asyncio.sleep(600)
    *_, first, last = await house.history()
    assert (first.blocked, last.blocked) == ("", "alate may not delete it")
    backend.release = allowed
    await asyncio.sleep(60)
    assert isinstance((await house.history())[-1], Released)


async def forbidden(_, __):
    raise Denied("alate may not delete it", reason="Forbidden")


async def test_what_is_there_is_not_taken_for_gone_while_its_kind_is_not_served(house):
    await house.ask()
    await asyncio.sleep(1)
    launching = (await house.history())[-1]
    await house.serve(served=False)
    order = TeardownReleasing(uid=launching.uid, wish=launching.wish, reason="Deleted", deadline=START)
    await house.say_state(order)
    await asyncio.sleep(600)
    assert names(await house.history()) == ["Pending", "Launching", "Releasing", "Releasing"]
    assert (await house.history())[-1].blocked == missing(house.resource)
    await house.serve(served=True)
    await asyncio.sleep(60)
    *_, going, released = await house.history()
    assert (going.blocked, type(released)) == ("", Released)
    assert await house.there() == []


async def test_what_somebody_deletes_while_it_is_launched_is_founded_anew_elsewhere(house):
    await house.ask()
    await asyncio.sleep(1)
    first = (await house.history())[-1]
    await house.kube.delete(house.resource, "train-a-1", "default")
    await house.say(
        InfraSeen(cluster="train-a", uid=first.uid, attempt=1, present=False), "default", house.backend, "train-a-1"
    )
    await asyncio.sleep(60)
    second = (await house.history())[-1]
    assert (type(second), second.attempt.number, second.attempt.placement.lots[0].instance) == (Launching, 2, "dear")
    assert await house.there() == ["train-a-2"]


async def test_what_an_earlier_incarnation_left_at_another_back_end_is_released_there(house):
    await house.ask()
    await asyncio.sleep(1)
    own, other = (await house.history())[-1], next(name for name in WATCHED if name != house.backend)
    await house.clouds[other].launch(own.wish, own.attempt, "earlier")
    seen = InfraSeen(cluster="train-a", uid="earlier", attempt=1, backend=other)
    await house.say(seen, "default", other, "train-a-1")
    await asyncio.sleep(60)
    left = (await house.kube.list(WATCHED[other], "default")).items
    assert (left, await house.there()) == ((), ["train-a-1"])
    assert ((await house.history())[-1].attempt, (await house.history())[-1].orphans) == (own.attempt, ())


async def test_what_an_object_of_others_showed_for_an_earlier_attempt_is_not_seen_of_this_one():
    """It was a stray at every look, and forgotten at every release of it, as fast as one can."""
    shown = {
        declared(InfraSeen).at("default", "capi", "theirs"): InfraSeen(
            cluster="train-a", uid="c1.1", attempt=1, adopted="theirs"
        )
    }
    calls = ProvisioningCalls({}, None, shown, {})
    wish = Wish(
        tenant="default", colony="train", cluster="a", uid="c1", generation=1, need=Need(pools=POOLS, backend="capi")
    )
    for number, told in ((1, 1), (2, 0)):
        attempt = Attempt(number=number, placement=Placement(cloud="aws", region="r", lots=()), adopts="theirs")
        assert len(await calls.look(Observe(wish, attempt))) == told


class Rolls:
    """A back end whose machines get another version."""

    progress = "0 of 2 machines"

    async def upgrade(self, *_):
        return self.progress


async def looked_again(calls, command, times):
    """After how many seconds each look asks for the next, while nothing changes."""
    waits = []
    for _ in range(times):
        with pytest.raises(TryLater) as later:
            await calls.upgrade(command)
        waits.append(later.value.after)
    return waits


async def test_an_upgrade_is_looked_at_less_and_less_often_until_it_gets_on():
    cloud, need = Rolls(), Need(pools=POOLS, backend="fake", kubernetes_version="v1.35.0")
    calls = ProvisioningCalls({"fake": cloud}, None, {}, {})
    wish = Wish(tenant="default", colony="train", cluster="a", uid="c1", generation=1, need=need)
    attempt = Attempt(number=1, placement=Placement(cloud="aws", region="r", lots=()))
    command = Upgrade(wish, attempt, "c1.1", told=Rolls.progress)
    assert await looked_again(calls, command, 6) == [1.0, 2.0, 4.0, 8.0, ROLLOUT_RECHECK, ROLLOUT_RECHECK]
    cloud.progress = "1 of 2 machines"
    assert await calls.upgrade(command) == (Rolling(1, "v1.35.0", cloud.progress),)
    assert await looked_again(calls, msgspec.structs.replace(command, told=cloud.progress), 2) == [1.0, 2.0]
