"""One history is lived through by the real services, which die and come back in it, up to its very end."""

import asyncio
from collections.abc import Callable
from contextlib import suppress
from random import Random
from typing import Any

import looptime

from events.bus import Unavailable
from schemas.cluster import Placed
from schemas.inventory import Demand, PoolSeen
from schemas.wish import OnRelease
from services.addons.service import service as addons
from services.provisioning.service import service as provisioning
from services.runtime.loop import Runtime, Service
from services.runtime.read_model import ReadModel
from services.teardown.service import service as teardown
from tests.context import context
from tests.services.crash.conftest import Died, Life, MortalBus, clock
from tests.services.leaks.asked import Asked
from tests.services.leaks.befall import Befalls
from tests.services.leaks.cloud import Cloud
from tests.services.leaks.history import CLUSTERS, THEIRS, History, Step
from tests.services.leaks.record import Record
from tests.services.leaks.world import Thing, World

REPLICAS = 2
COMES_BACK = 5.0
"""Seconds until a process that died is started again."""
LOOKS = 24
"""How often, at the end, it is looked whether all is over."""
PAUSE = 600.0
"""Seconds between two of these looks."""
Made = tuple[Service, tuple[ReadModel[Any, Any], ...]]


def _provisioning(world: World, bus: MortalBus, life: Life) -> Made:
    return provisioning(context(bus, clock), {"fake": Cloud(world, life)})


def _addons(world: World, bus: MortalBus, life: Life) -> Made:
    return addons(context(bus, clock), *world.inside.workloads(life))[:2]


def _teardown(world: World, bus: MortalBus, life: Life) -> Made:
    return teardown(bus, world.inside.workloads(life)[1], {"fake": Cloud(world, life)}), ()


PROCESSES: tuple[Callable[[World, MortalBus, Life], Made], ...] = REPLICAS * (_provisioning, _addons, _teardown)


class Play:
    """A world, and the replicas that work in it."""

    def __init__(self, seed: int) -> None:
        self.world = World(seed)
        self.asked = Asked(self.world)
        self.record = Record(self.world)
        self.lives: list[Life] = []
        self._befalls = Befalls(self.world, self.asked, self.record)
        self._tasks: list[asyncio.Task[None]] = []

    async def start(self) -> None:
        await self.world.inside.start()
        await self.world.market(0)
        self._tasks = [asyncio.create_task(self.record.run()), *self.world.inside.tasks]
        for number, make in enumerate(PROCESSES):
            self.lives.append(Life())
            self._tasks.append(asyncio.create_task(self._supervised(number, make)))
        await asyncio.sleep(1)

    async def stop(self) -> None:
        tasks = (*self._tasks, *self.world.tasks)
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        await self.world.inside.stop()

    async def _supervised(self, number: int, make: Callable[[World, MortalBus, Life], Made]) -> None:
        while True:
            try:
                await self._live(self.lives[number], make)
            except (BaseExceptionGroup, Unavailable, Died):
                if not self.lives[number].dead:
                    raise
            await asyncio.sleep(COMES_BACK)
            self.lives[number] = Life()

    async def _live(self, life: Life, make: Callable[[World, MortalBus, Life], Made]) -> None:
        bus = MortalBus(self.world.bus, life)
        service, views = make(self.world, bus, life)
        runtime = Runtime(service, context(bus, clock))
        async with asyncio.TaskGroup() as group:
            for view in views:
                group.create_task(view.run())
                await view.ready.wait()
            group.create_task(runtime.run())
            await life.over.wait()
            raise Died

    async def happen(self, step: Step) -> None:
        """What a step says; a process that ended of itself ends the test."""
        for task in self._tasks:
            if task.done():
                task.result()
        befall = getattr(self, f"_{step.what}", None) or getattr(self._befalls, step.what)
        await befall(step)
        await asyncio.sleep(step.pause)

    async def _ask(self, step: Step) -> None:
        await self.asked.wish(step.who, nodes=1 + step.dice % 3, adopt="", again=True)

    async def _adopt(self, step: Step) -> None:
        """What others made shall be taken in, be it another Colony's already."""
        await self.asked.wish(step.who, adopt=_of_theirs(step), again=True)

    async def _unmake(self, step: Step) -> None:
        """Its makers delete it."""
        await self.world.theirs.unmake(_of_theirs(step))
        await self.world.inside.drop(_of_theirs(step))

    async def _remake(self, step: Step) -> None:
        """Its makers make it, if it is not there."""
        if _of_theirs(step) not in self.world.theirs.objects:
            self.world.theirs.make(_of_theirs(step))

    async def _strip(self, step: Step) -> None:
        """Somebody takes our marks off it by hand."""
        await self.world.theirs.strip(_of_theirs(step))

    async def _amend(self, step: Step) -> None:
        if step.who in self.world.wishes:
            await self.asked.wish(step.who, nodes=self.world.wishes[step.who].need.nodes)

    async def _resize(self, step: Step) -> None:
        if step.who in self.world.wishes:
            await self.asked.wish(step.who, nodes=1 + step.dice % 3)

    async def _widen(self, step: Step) -> None:
        """It shall have a second pool."""
        if step.who in self.world.wishes:
            await self.asked.wish(step.who, nodes=1 + step.dice % 3, wide=True)

    async def _doze(self, step: Step) -> None:
        """It hibernates, or it wakes."""
        if step.who in self.world.wishes:
            need = self.world.wishes[step.who].need
            pools = sum(pool.nodes for pool in need.pools)
            await self.asked.wish(step.who, nodes=pools, hibernate=not need.hibernate)

    async def _rise(self, step: Step) -> None:
        """It shall run a later version; now and then one that cannot follow."""
        if step.who in self.world.wishes:
            need = self.world.wishes[step.who].need
            minor = int(need.kubernetes_version.split(".")[1]) + (1, 1, 1, 2, -1)[step.dice % 5]
            nodes = sum(pool.nodes for pool in need.pools)
            await self.asked.wish(step.who, nodes=nodes, hibernate=need.hibernate, version=f"v1.{minor}.0")

    async def _end(self, step: Step) -> None:
        await self.asked.end(step.who)

    async def _force(self, step: Step) -> None:
        await self.asked.end(step.who, force=True)

    async def _vanish(self, step: Step) -> None:
        """Somebody deletes it by hand."""
        for name, thing in tuple(self.world.standing.items()):
            if thing.cluster == step.who:
                del self.world.standing[name]
                await self.world.seen(thing, present=False)

    async def _shrink(self, step: Step) -> None:
        await self._count(step, step.dice % 2)

    async def _grow(self, step: Step) -> None:
        await self._count(step, 3)

    async def _count(self, step: Step, nodes: int) -> None:
        for thing in self._standing(step.who):
            if isinstance(await self.world.state(step.who), Placed):
                await self.world.counted(thing, nodes)

    async def _queue(self, step: Step) -> None:
        """Pods find no node."""
        for thing in self._standing(step.who):
            await self.world.counted(thing, thing.nodes, demand=(Demand(accelerators=8, pods=1 + step.dice % 6),))

    async def _lull(self, step: Step) -> None:
        """Nothing is used any more; now and then of one of its pools alone."""
        for thing in self._standing(step.who):
            if step.dice % 2:
                await self.world.counted(thing, thing.nodes, idle_since=clock())
            else:
                await self.world.counted(thing, thing.nodes, pools=self._one_idle(step.who, thing.nodes))

    def _one_idle(self, who: str, nodes: int) -> dict[str, PoolSeen]:
        wish = self.world.wishes.get(who)
        others = len(wish.need.pools) - 1 if wish is not None else 0
        busy = {"more": PoolSeen(nodes=others, accelerators=8 * others, pods=1)} if others else {}
        return busy | {"gpu": PoolSeen(nodes=nodes - others, accelerators=8 * (nodes - others), idle_since=clock())}

    def _standing(self, who: str) -> list[Thing]:
        return [thing for thing in self.world.ours.values() if thing.cluster == who]

    async def _repeat(self, step: Step) -> None:
        """Something is heard again, late."""
        message, names = self.world.said[step.dice % len(self.world.said)]
        await self.world.say(message, *names)

    async def _die(self, step: Step) -> None:
        """A process ends: now, or at one of its next calls, before it or after."""
        life = self.lives[step.dice % len(PROCESSES)]
        if step.dice % 3:
            life.at, life.after = life.calls + 1 + step.dice % 5, bool(step.dice % 2)
        elif not life.dead:
            with suppress(Died):
                life.die()

    async def _outage(self, step: Step) -> None:
        self.world.away_until = asyncio.get_running_loop().time() + step.dice % 3600

    async def _uninstall(self, step: Step) -> None:
        self.world.installed = bool(step.dice % 2)

    async def _market(self, step: Step) -> None:
        await self.world.market(step.dice)

    async def _full(self, step: Step) -> None:
        """Whatever is made from here on has another fate."""
        self.world.seed = Random(f"{self.world.seed}/{step.dice}").randrange(10_000)

    async def _pass(self, step: Step) -> None:
        await asyncio.sleep(step.dice % 4000)

    async def finish(self) -> None:
        """The back end works again, everything is asked to go; whatever ails the clusters' insides stays as it is."""
        self.world.away_until, self.world.installed, self.world.kind = 0.0, True, True
        for _ in range(LOOKS):
            for name in CLUSTERS:
                await self.asked.end(name)
            await asyncio.sleep(PAUSE)
            if await self.world.all_over() and not self.record.going():
                return

    async def wrongs(self) -> list[str]:
        """What must never be, and is."""
        kept = [name for name, end in THEIRS.items() if end is OnRelease.KEEP]
        harmed = [each for name in kept for each in await self.world.inside.harmed(name)]
        return [*self.world.wrongs(), *harmed, *await self.world.leaks(), *self.record.wrongs()]


def _of_theirs(step: Step) -> str:
    return tuple(THEIRS)[step.dice % len(THEIRS)]


async def play(seed: int, history: History) -> tuple[list[str], int]:
    """What leaked, and how many things were made at all."""
    scene = Play(seed)
    await scene.start()
    try:
        for step in history:
            await scene.happen(step)
            if found := await scene.wrongs():
                return [f"after {step}: {each}" for each in found], scene.world.made
        await scene.finish()
        standing = [f"{name} of {thing.uid}" for name, thing in scene.world.ours.items()]
        states = {name: type(await scene.world.state(name)).__name__ for name in CLUSTERS}
        over = [] if await scene.world.all_over() else [f"not over: {states}"]
        left = [*standing, *over, *scene.record.going(), *await scene.wrongs()]
        return [f"at the end: {each}" for each in left], scene.world.made
    finally:
        await scene.stop()


def own_time() -> asyncio.Runner:
    """A time of its own, so that a seed tells the same story after any other; nothing in it waits for other threads."""
    return asyncio.Runner(loop_factory=lambda: looptime.new_event_loop(noop_cycles=3))


def lived(seed: int, history: History) -> tuple[list[str], int]:
    """See `play`."""
    with own_time() as runner:
        return runner.run(play(seed, history))
