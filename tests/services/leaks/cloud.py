"""The back end of a history: what it makes fares as a seed will have it, what others made is taken in for real."""

import asyncio
from collections.abc import Awaitable, Callable
from random import Random
from typing import Any

from events.errors import Denied, NoCapacity, NotFound, TryLater
from schemas.placement import Attempt
from schemas.wish import Wish
from services.clouds.existing_cluster import ExistingCluster
from tests.services.crash.conftest import Life
from tests.services.crash.theirs import Taker
from tests.services.leaks.world import Thing, World

FATES = {
    "works": 8, "slow": 2, "full": 3, "full-late": 2, "full-after": 1, "denied": 1, "denied-late": 1, "bad": 1,
    "mute": 1, "half": 1, "again": 2, "broken": 1, "lagging": 2,
}  # fmt: skip


class Cloud:
    """The back end, as one process sees it."""

    def __init__(self, world: World, life: Life) -> None:
        self._world, self._life = world, life
        self._taker = Taker(world.theirs, self._asked)

    async def reach(self, wish: Wish) -> dict[str, bool]:
        return await self._life.call(self._reach)

    async def launch(self, wish: Wish, attempt: Attempt, uid: str) -> None:
        await self._life.call(lambda: self._launch(wish, attempt, uid))

    async def read_existing(self, tenant: str, name: str) -> ExistingCluster:
        return await self._taker.read_existing(tenant, name)

    async def adopt(self, wish: Wish, attempt: Attempt, uid: str) -> None:
        if self._fate(f"{attempt.adopts}/{uid}") == "lagging":
            await asyncio.sleep(100.0)
        await self._taker.adopt(wish, attempt, uid)

    async def _asked(self, call: Callable[[], Awaitable[Any]]) -> Any:
        self._there()
        return await self._life.call(call)

    async def resize(self, wish: Wish, attempt: Attempt, uid: str) -> None:
        if attempt.adopts:
            await self._taker.resize(wish, attempt, uid)
            return
        await self._life.call(lambda: self._resize(f"{wish.name}-{attempt.number}", uid, attempt.placement.nodes))

    async def upgrade(self, wish: Wish, attempt: Attempt, uid: str) -> str:
        if attempt.adopts:
            raise Denied("its makers keep its version")
        version = wish.need.kubernetes_version
        return await self._life.call(lambda: self._upgrade(f"{wish.name}-{attempt.number}", uid, version))

    async def release(self, wish: Wish, attempt: Attempt) -> None:
        if attempt.adopts:
            await self._taker.release(wish, attempt)
            return
        await self._life.call(lambda: self._release(f"{wish.name}-{attempt.number}"))

    async def leftovers(self, tenant: str, name: str) -> dict[str, int]:
        return await self._life.call(lambda: self._leftovers(name))

    async def _leftovers(self, name: str) -> dict[str, int]:
        self._there()
        return {"machines": sum(thing.cluster == name for thing in self._world.ours.values())}

    async def _reach(self) -> dict[str, bool]:
        self._there()
        if not self._world.installed:
            raise Denied("there is no back end", "NotInstalled")
        return {"aws": True, "gcp": False, "own": False}

    def _there(self) -> None:
        if asyncio.get_running_loop().time() < self._world.away_until:
            raise TryLater("the API server is away", 5.0)

    async def _launch(self, wish: Wish, attempt: Attempt, uid: str) -> None:
        self._there()
        name, world = f"{wish.name}-{attempt.number}", self._world
        if wish.need.adopt is not None:
            world.made_anew.append(f"{name} was founded, while {wish.need.adopt.name} was to be taken in")
        there = world.standing.get(name)
        if there is not None and there.going:
            raise TryLater("its predecessor is still going", 2.0)
        if there is not None and there.uid != uid:
            raise Denied("it is there already, and not ours", "AlreadyExists")
        if there is None:
            fate = self._fate(f"{name}/{uid}")
            before = {
                "full": NoCapacity("no x8 left"),
                "denied": Denied("no such role"),
                "bad": Denied("?", "BadTemplate"),
            }
            if fate in before:
                raise before[fate]
            if fate == "lagging":
                await asyncio.sleep(100.0)
            thing = Thing(wish.name, uid, attempt.number, asyncio.get_running_loop().time())
            await self._make(name, thing, fate, attempt.placement.nodes)

    async def _resize(self, name: str, uid: str, nodes: int) -> None:
        self._there()
        thing = self._world.standing.get(name)
        if thing is None or thing.uid != uid:
            raise NotFound("it is not there")
        if Random(f"{self._world.seed}/{name}/{nodes}").randrange(4) == 0 and not self._world.kind:
            raise Denied("no such size")
        self._told(thing, nodes)
        self._world.later(20.0, lambda: self._up(name, thing, nodes))

    async def _upgrade(self, name: str, uid: str, version: str) -> str:
        self._there()
        thing, dice = self._world.standing.get(name), Random(f"{self._world.seed}/{name}/{version}")
        if thing is None or thing.uid != uid:
            raise NotFound("it is not there")
        if dice.randrange(4) == 0 and not self._world.kind:
            raise Denied("no such version")
        asked = thing.versions[version] = thing.versions.get(version, 0) + 1
        return "" if asked > dice.choice((0, 2, 2, 500)) else f"{asked} machines run {version}"

    def _told(self, thing: Thing, nodes: int) -> None:
        thing.nodes = nodes
        self._world.sizes.append(nodes)

    def _fate(self, name: str) -> str:
        dice = Random(f"{self._world.seed}/{name}")
        return "works" if self._world.kind else dice.choices(tuple(FATES), tuple(FATES.values()))[0]

    async def _make(self, name: str, thing: Thing, fate: str, nodes: int) -> None:
        world = self._world
        world.standing[name] = thing
        world.made += 1
        self._told(thing, nodes)
        await world.seen(thing)
        after = {"slow": 1700.0}.get(fate, 20.0)
        if fate in ("works", "slow", "half", "again", "broken", "lagging"):
            world.later(after, lambda: self._up(name, thing, 1 if fate == "half" else nodes))
        if fate in ("full-late", "denied-late"):
            why = "NoCapacity" if fate == "full-late" else "Denied"
            world.later(40.0, lambda: self._shown(name, thing, failure=why, message="no x8 left"))
        after_all = {
            "full-after": NoCapacity("no x8 left, after all"), "again": TryLater("was it made?", 3.0),
            "broken": RuntimeError("a fault of ours"),
        }  # fmt: skip
        if fate in after_all:
            raise after_all[fate]

    async def _shown(self, name: str, thing: Thing, **shown: Any) -> None:
        if self._world.standing.get(name) is thing:
            await self._world.seen(thing, **shown)

    async def _up(self, name: str, thing: Thing, nodes: int) -> None:
        if self._world.standing.get(name) is thing:
            await self._world.inside.found(name, thing.uid, nodes)
            await self._world.inside.size(name, nodes)
        await self._shown(name, thing, reachable=True)
        if self._world.standing.get(name) is thing:
            await self._world.counted(thing, nodes)

    async def _release(self, name: str) -> None:
        self._there()
        thing = self._world.standing.get(name)
        if thing is None:
            raise NotFound("nothing is left")
        dice, now = Random(f"{self._world.seed}/{name}/{thing.uid}"), asyncio.get_running_loop().time()
        thing.asked = thing.asked or now
        if now < thing.asked + dice.choice((0.0, 0.0, 30.0, 300.0)):
            raise TryLater("it cannot be deleted now", 3.0)
        if not thing.going:
            thing.going = True
            self._world.later(dice.choice((0.0, 4.0, 60.0, 400.0, 2000.0)), lambda: self._gone(name))

    async def _gone(self, name: str) -> None:
        thing = self._world.standing.pop(name, None)
        if thing is not None:
            await self._world.inside.drop(name)
            await self._world.seen(thing, present=False)
