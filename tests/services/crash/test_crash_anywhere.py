"""A crash at any await is invisible: whatever died, and wherever, the story ends as if nothing had happened."""

import asyncio
import os
from collections.abc import AsyncIterator, Iterable
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from itertools import count, groupby
from typing import Any

import msgspec
import pytest

from events.bus import Message, Stored, Unavailable
from events.errors import NoCapacity, NotFound, TryLater
from events.memory.bus import MemoryBus
from schemas import addon, cluster, teardown
from schemas.entity import EPOCH
from schemas.infra import InfraSeen
from schemas.inventory import ClusterSeen, Offer, Offers
from schemas.placement import Attempt
from schemas.registry import declared
from schemas.subjects import Key
from schemas.wish import AddonRef, Need, Pool, Wish
from services.addons import service as addons
from services.addons.decide import decide as addon_decide
from services.addons.todo import todo as addon_todo
from services.provisioning.service import service as provisioning
from services.runtime.loop import Runtime, Service, acts
from services.runtime.machine import Event
from services.teardown import service as ending
from services.teardown.act import _read_withdrawn
from services.teardown.decide import decide as teardown_decide
from services.teardown.todo import todo as teardown_todo
from tests.context import context

pytestmark = [pytest.mark.looptime, pytest.mark.timeout(60)]

SERVICES = ("provisioning", "addons", "teardown")
EVERY = int(os.environ.get("ALATE_TEST_CRASH_EVERY", "3"))
"""At each how-many-eth await it dies; `make test-slow` has it die at every one."""
NEED = Need(pools=(Pool(name="gpu", accelerator="H100", accelerators_per_node=8, nodes=2),), backend="fake")
LARGER = msgspec.structs.replace(NEED, pools=(msgspec.structs.replace(NEED.pools[0], nodes=3),))
WIDER = msgspec.structs.replace(
    LARGER, pools=(*LARGER.pools, msgspec.structs.replace(NEED.pools[0], name="more", nodes=1))
)
ASLEEP = msgspec.structs.replace(LARGER, hibernate=True)
RISEN = msgspec.structs.replace(LARGER, kubernetes_version="v1.35.0")
WISH = Wish(
    tenant="acme", colony="train", cluster="a", uid="c1", generation=1,
    need=NEED, addons=(AddonRef("driver", "d1"),),
)  # fmt: skip
OFFERS = tuple(
    Offer(cloud=cloud, region="r", instance="x8", accelerator="H100", accelerators=8, price=price)
    for cloud, price in (("full", 1.0), ("lame", 2.0), ("good", 3.0))
)
KEYS = (
    Key("cluster", "acme", "train-a"), Key("addon", "acme", "train-a.driver"), Key("teardown", "acme", "train-a"),
)  # fmt: skip


@dataclass
class World:
    """All that outlives our processes: the bus, the clouds, the clusters, and whoever watches those."""

    bus: MemoryBus
    standing: set[int] = field(default_factory=set)
    """Attempts whose machines cost money."""
    launched: set[int] = field(default_factory=set)
    running: set[str] = field(default_factory=set)
    """Add-ons on the cluster."""
    done: set[str] = field(default_factory=set)

    def cloud(self, life: Any) -> Any:
        """The back end, as one process sees it."""
        return FakeCloud(self, life)

    async def say(self, level: msgspec.Struct, *names: str) -> None:
        await self.bus.publish(Message(declared(type(level)).at(*names), msgspec.json.encode(level)))

    async def infra(self, uid: str, attempt: Attempt, **shown: Any) -> None:
        seen = InfraSeen(cluster="train-a", uid=uid, attempt=attempt.number, **shown)
        await self.say(seen, "acme", "fake", attempt.object_name("train-a"))

    async def count(self, uid: str, attempt: Attempt, nodes: int) -> None:
        seen = ClusterSeen(cluster="train-a", uid=uid, attempt=attempt.number, nodes=nodes, accelerators=8 * nodes)
        await self.say(seen, "acme", "train-a")

    async def settled(self, kind: type[cluster.Placed], need: Need) -> None:
        """Wait until the cluster is so and all that is needed, for at most a day."""
        for _ in range(86_400):
            stored = await self.last(KEYS[0])
            if stored is not None and stored.subject == KEYS[0].state(declared(kind).event):
                state = msgspec.json.decode(stored.data, type=kind)
                if (state.wish.need, state.resizing, state.upgrading) == (need, None, None):
                    return
            await asyncio.sleep(1)
        raise AssertionError(f"it never settled as {need}")

    async def last(self, key: Key) -> Stored | None:
        return await self.bus.last("EVENTS", key.history)

    async def until(self, key: Key, event: str) -> None:
        """Wait until an entity's last word is this, for at most a day."""
        for _ in range(86_400):
            stored = await self.last(key)
            if stored is not None and stored.subject == key.state(event):
                return
            await asyncio.sleep(1)
        raise AssertionError(f"{key.domain} never was {event}, its last word is {stored and stored.subject}")


class FakeCloud:
    """A back end: one cloud has no room, one says so late, one works."""

    def __init__(self, world: World, life: Any) -> None:
        self._world, self._life = world, life

    async def reach(self, wish: Wish) -> dict[str, bool]:
        return await self._life.call(lambda: asyncio.sleep(0, {"full": False, "lame": False, "good": False}))

    async def launch(self, wish: Wish, attempt: Attempt, uid: str) -> None:
        await self._life.call(lambda: self._launch(attempt, uid))

    async def _launch(self, attempt: Attempt, uid: str) -> None:
        if attempt.placement.cloud == "full":
            raise NoCapacity("no room")
        if attempt.number not in self._world.standing:
            self._world.standing.add(attempt.number)
            self._world.launched.add(attempt.number)
            lame = {"failure": "NoCapacity"} if attempt.placement.cloud == "lame" else {"reachable": True}
            await self._world.infra(uid, attempt, **lame)
            if attempt.placement.cloud == "good":
                await self._world.count(uid, attempt, 2)

    async def resize(self, wish: Wish, attempt: Attempt, uid: str) -> None:
        await self._life.call(lambda: self._resize(attempt, uid))

    async def _resize(self, attempt: Attempt, uid: str) -> None:
        nodes = attempt.placement.nodes
        self._world.done.add(f"{nodes} nodes")
        await self._world.count(uid, attempt, nodes)

    async def upgrade(self, wish: Wish, attempt: Attempt, uid: str) -> str:
        return await self._life.call(lambda: self._upgrade(wish.need.kubernetes_version))

    async def _upgrade(self, version: str) -> str:
        known = version in self._world.done
        self._world.done.add(version)
        return "" if known else f"0 machines run {version}"

    async def release(self, wish: Wish, attempt: Attempt) -> None:
        await self._life.call(lambda: self._release(attempt))

    async def _release(self, attempt: Attempt) -> None:
        if attempt.number not in self._world.standing:
            raise NotFound("nothing is left")
        self._world.standing.discard(attempt.number)


def provisioning_of(world: World, bus: MemoryBus, life: Any):
    return provisioning(context(bus, lambda: EPOCH), {"fake": world.cloud(life)})


def addons_of(world: World, bus: MemoryBus, life: Any):
    async def apply(command: addon.ApplyAddon) -> tuple[Event, ...]:
        await life.call(lambda: asyncio.sleep(0, world.running.add(command.addon)))
        world.done.add(f"applied {command.digest} on {command.kubeconfig}")
        return (addon.AddonHealthy(command.digest),)

    async def withdraw(command: addon.WithdrawAddon) -> tuple[Event, ...]:
        await life.call(lambda: asyncio.sleep(0, world.running.discard(command.addon)))
        world.done.add("withdrawn")
        return (addon.AddonRemoved(),)

    async def check(_: addon.CheckAddon) -> tuple[Event, ...]:
        raise TryLater("it is there", 60.0)

    act = acts({addon.ApplyAddon: apply, addon.CheckAddon: check, addon.WithdrawAddon: withdraw})
    return Service("addons", addon_decide, addon_todo, addons.SUBSCRIPTIONS, act), ()


def teardown_of(world: World, bus: MemoryBus, life: Any):
    async def do(what: str, event: Event) -> tuple[Event, ...]:
        await life.call(lambda: asyncio.sleep(0, world.done.add(what)))
        return (event,)

    async def tally(command: teardown.CountAddons) -> tuple[Event, ...]:
        found = [await _read_withdrawn(bus, command, name) for name in command.addons]
        return tuple(event for event in found if event is not None)

    async def audit(command: teardown.AuditCluster) -> tuple[Event, ...]:
        left = {"machines": len(world.standing), "addons": len(world.running)}
        return await do("audited", teardown.Audited(left))

    async def no_profiles(_: teardown.ListAddons) -> tuple[Event, ...]:
        return ()

    act = acts({
        teardown.ListAddons: no_profiles,
        teardown.Drain: lambda _: do("drained", teardown.Drained()),
        teardown.CleanUp: lambda _: do("swept", teardown.CleanedUp()),
        teardown.CountAddons: tally,
        teardown.AuditCluster: audit,
    })  # fmt: skip
    return Service("teardown", teardown_decide, teardown_todo, ending.SUBSCRIPTIONS, act), ()


MAKERS = dict(zip(SERVICES, (provisioning_of, addons_of, teardown_of), strict=True))


async def live(mortal: Any, world: World, name: str, life: Any) -> None:
    """One process of a service, until it dies or is cancelled."""
    bus = mortal.Bus(world.bus, life)
    service, views = MAKERS[name](world, bus, life)
    runtime = Runtime(service, context(bus, mortal.clock))
    async with asyncio.TaskGroup() as group:
        for view in views:
            group.create_task(view.run())
            await view.ready.wait()
        group.create_task(runtime.run())
        await life.over.wait()
        raise mortal.Died


async def supervised(mortal: Any, world: World, name: str, lives: Iterable[Any]) -> None:
    """Start it again whenever it has died."""
    for life in lives:
        with suppress(BaseExceptionGroup, Unavailable, mortal.Died):
            await live(mortal, world, name, life)


@dataclass(frozen=True)
class Ending:
    """What is the same after every run."""

    histories: tuple[tuple[str, ...], ...]
    launched: frozenset[int]
    standing: frozenset[int]
    done: frozenset[str]
    tried: tuple[str, ...]
    proof: tuple[tuple[str, int], ...]
    timers: int


@asynccontextmanager
async def at_work(mortal: Any, world: World, lives: dict[str, Any]) -> AsyncIterator[None]:
    """Every service, as long as the block lasts; each again after each of its lives."""
    tasks = [
        asyncio.create_task(supervised(mortal, world, name, lives.get(name, [mortal.Life()]))) for name in SERVICES
    ]
    for offer in OFFERS:
        await world.say(Offers(cloud=offer.cloud, region=offer.region, offers=(offer,)), offer.cloud, offer.region)
    try:
        yield
    finally:
        for task in tasks:
            task.cancel()
        ends = await asyncio.gather(*tasks, return_exceptions=True)
    wrong = [end for end in ends if isinstance(end, Exception)]
    assert not wrong  # a process that could not even start


async def tell(mortal: Any, lives: dict[str, Any]) -> Ending:
    """The whole story: wished for, two clouds in vain, founded, fitted out, stripped, fitted out again, grown, wider,
    asleep, awake, upgraded, taken back.
    """
    world = World(MemoryBus(clock=mortal.clock))
    async with at_work(mortal, world, lives):
        await world.say(WISH, "acme", "train-a")
        await world.until(KEYS[0], "ready")
        await world.until(KEYS[1], "applied")
        await world.until(KEYS[2], "armed")
        without = msgspec.structs.replace(WISH, generation=2, addons=(), dropped=("driver",))
        await world.say(without, "acme", "train-a")
        await world.until(KEYS[1], "withdrawn")
        await world.say(msgspec.structs.replace(WISH, generation=3), "acme", "train-a")
        await world.until(KEYS[1], "applied")
        await world.say(msgspec.structs.replace(WISH, generation=4, need=LARGER), "acme", "train-a")
        await world.settled(cluster.Ready, LARGER)
        await world.say(msgspec.structs.replace(WISH, generation=5, need=WIDER), "acme", "train-a")
        await world.settled(cluster.Ready, WIDER)
        await world.say(msgspec.structs.replace(WISH, generation=6, need=ASLEEP), "acme", "train-a")
        await world.settled(cluster.Hibernated, ASLEEP)
        await world.say(msgspec.structs.replace(WISH, generation=7, need=LARGER), "acme", "train-a")
        await world.settled(cluster.Ready, LARGER)
        await world.say(msgspec.structs.replace(WISH, generation=8, need=RISEN), "acme", "train-a")
        await world.settled(cluster.Ready, RISEN)
        await world.say(msgspec.structs.replace(WISH, generation=9, need=RISEN, deleting=True), "acme", "train-a")
        for key, end in zip(KEYS, ("released", "withdrawn", "gone"), strict=True):
            await world.until(key, end)
    return await look(world)


async def look(world: World) -> Ending:
    released, gone = await world.last(KEYS[0]), await world.last(KEYS[2])
    tried = msgspec.json.decode(released.data, type=cluster.Released).failed_attempts
    proof = msgspec.json.decode(gone.data, type=teardown.Gone).proof
    return Ending(
        histories=tuple([await history(world, key) for key in KEYS]),
        launched=frozenset(world.launched),
        standing=frozenset(world.standing),
        done=frozenset(world.done),
        tried=tuple(f"{attempt.number} {attempt.placement.cloud} {attempt.reason}" for attempt in tried),
        proof=tuple(proof.items()),
        timers=await world.bus.count("EVENTS", "timer.>"),
    )


async def history(world: World, key: Key) -> tuple[str, ...]:
    """The states of an entity, in order; and every revision once, without a gap."""
    kept = await world.bus.read("EVENTS", key.history)
    named = f"{key.domain}.{key.name}.c1.1"
    assert [stored.headers["ce-id"] for stored in kept] == [f"{named}.{n + 1}" for n in range(len(kept))]
    return tuple(event for event, _ in groupby(stored.subject.split(".")[1] for stored in kept))


async def test_the_calm_story_is_the_one_that_is_meant(mortal):
    calm = await tell(mortal, {})
    assert calm == Ending(
        histories=(
            ("pending", "launching", "placing", "launching", "placing", "launching",
             "provisioned", "ready", "hibernated", "provisioned", "ready", "releasing", "released"),
            ("planned", "applying", "applied", "withdrawing", "withdrawn",
             "applying", "applied", "withdrawing", "withdrawn"),
            ("armed", "draining", "cleaning", "releasing", "verifying", "gone"),
        ),
        launched=frozenset({2, 3}),
        standing=frozenset(),
        done=frozenset({
            "applied d1 on train-a-3-kubeconfig", "withdrawn", "3 nodes", "4 nodes", "0 nodes", "v1.35.0",
            "drained", "swept", "audited",
        }),
        tried=("1 full NoCapacity", "2 lame NoCapacity"),
        proof=(("machines", 0), ("addons", 0)),
        timers=0,
    )  # fmt: skip


@pytest.mark.parametrize("after", [False, True], ids=["before", "after"])
@pytest.mark.parametrize("name", SERVICES)
async def test_a_crash_at_any_await_is_invisible(mortal, name, after):
    calm = mortal.Life()
    ending = await tell(mortal, {name: [calm]})
    assert calm.calls > 20
    for number in range(1 + after, calm.calls + 1, EVERY):
        life = mortal.Life(at=number, after=after)
        assert await tell(mortal, {name: [life, mortal.Life()]}) == ending, f"died at call {number}"
        assert life.dead


@pytest.mark.parametrize("every", [13, 17, 23])
async def test_dying_again_and_again_is_invisible_too(mortal, every):
    ending = await tell(mortal, {})
    lives = {name: (mortal.Life(at=every + n, after=bool(n % 2)) for n in count()) for name in SERVICES}
    assert await tell(mortal, lives) == ending
