"""A market, a back end and its machines: full, slow, mute, half, away or working, as a seed will have it."""

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from datetime import timedelta
from random import Random
from typing import Any

import msgspec

from events.bus import Message
from events.faults import Denied, NoCapacity, NotFound, TryLater
from events.memory import MemoryBus
from schemas import cluster
from schemas.cluster import ClusterState
from schemas.infra import InfraSeen
from schemas.inventory import ClusterSeen, Offer, Offers
from schemas.placement import Attempt
from schemas.registry import declared
from schemas.subjects import Key
from schemas.teardown import Releasing as ReleaseOrdered
from schemas.wish import Need, Pool, Spot, Wish
from services.provisioning.holds import holds
from tests.services.crash.conftest import Life, clock
from tests.services.leaks.history import CLUSTERS

TENANT = "acme"
KINDS = {declared(kind).event: kind for kind in cluster.LIFECYCLE.states}
FATES = {
    "works": 8, "slow": 2, "full": 3, "full-late": 2, "full-after": 1, "denied": 1, "denied-late": 1, "bad": 1,
    "mute": 1, "half": 1, "again": 2, "broken": 1, "lagging": 2,
}  # fmt: skip
ELASTIC = {"train-b": (1, 4), "infer-a": (2, 5)}
"""The fewest and the most nodes of those whose pools follow their pods."""
LONGEST_END = timedelta(days=2)


@dataclass
class Thing:
    """One attempt's objects at the back end."""

    cluster: str
    uid: str
    number: int
    since: float
    """When it was made."""
    asked: float = 0.0
    """When it was first asked to go."""
    going: bool = False
    nodes: int = 0
    """So many it was told to have last."""


@dataclass
class World:
    """All that outlives the processes."""

    seed: int
    bus: MemoryBus = field(default_factory=lambda: MemoryBus(clock=clock))
    standing: dict[str, Thing] = field(default_factory=dict)
    """What costs money, by its name."""
    wishes: dict[str, Wish] = field(default_factory=dict)
    said: list[tuple[msgspec.Struct, tuple[str, ...]]] = field(default_factory=list)
    away_until: float = 0.0
    installed: bool = True
    kind: bool = False
    """Everything works from now on."""
    made: int = 0
    """How many things were ever made."""
    sizes: list[int] = field(default_factory=list)
    """Every number of nodes that anything was ever told to have."""
    tasks: set[asyncio.Task[None]] = field(default_factory=set)

    async def say(self, message: msgspec.Struct, *names: str) -> None:
        self.said.append((message, names))
        await self.bus.publish(Message(declared(type(message)).at(*names), msgspec.json.encode(message)))

    async def seen(self, thing: Thing, **shown: Any) -> None:
        told = InfraSeen(cluster=thing.cluster, uid=thing.uid, attempt=thing.number, **shown)
        await self.say(told, TENANT, f"{thing.cluster}-{thing.number}")

    async def counted(self, thing: Thing, nodes: int, **more: Any) -> None:
        told = ClusterSeen(
            cluster=thing.cluster, uid=thing.uid, attempt=thing.number, nodes=nodes, accelerators=8 * nodes, **more
        )
        await self.say(told, TENANT, thing.cluster)

    def later(self, seconds: float, do: Callable[[], Awaitable[None]]) -> None:
        async def wait() -> None:
            await asyncio.sleep(seconds)
            await do()

        task = asyncio.create_task(wait())
        self.tasks.add(task)
        task.add_done_callback(self.tasks.discard)

    async def state(self, name: str) -> ClusterState | None:
        stored = await self.bus.last("EVENTS", Key("cluster", TENANT, name).history)
        return msgspec.json.decode(stored.data, type=KINDS[stored.subject.split(".")[1]]) if stored else None

    async def leaks(self) -> list[str]:
        """What stands, and is neither current nor being released; at the instant it is made, nobody has heard of it."""
        found, now = [], asyncio.get_running_loop().time()
        for name, thing in self.standing.items():
            if thing.since == now:
                continue
            state = await self.state(thing.cluster)
            held = None if state is None or state.uid != thing.uid else holds(state)
            strays = {stray.number for stray in state.strays} if state is not None else set()
            strayed = thing.number in strays
            if not thing.going and not strayed and (held is None or held.number != thing.number):
                found.append(f"{name} of {thing.uid}, while {thing.cluster} is {type(state).__name__} of {state.uid}")
        return found

    async def market(self, dice: int) -> None:
        """Four regions offer the machine at prices of the day; own nodes are limited."""
        drawn = Random(f"{self.seed}/{dice}")
        for cloud, region, limit in (("aws", "r1", None), ("aws", "r2", None), ("gcp", "r1", None), ("own", "r", 3)):
            price = drawn.randint(1, 9)
            offer = Offer(
                cloud=cloud, region=region, instance="x8", accelerator="H100", accelerators=8, price=price,
                spot_price=price / 2 if cloud == "aws" else None, limit=limit,
            )  # fmt: skip
            await self.say(Offers(cloud=cloud, region=region, offers=(offer,)), cloud, region)

    async def wish(
        self, name: str, *, deleting: bool = False, nodes: int = 2, hibernate: bool = False, wide: bool = False
    ) -> None:
        """The next generation of what is wanted; of another Colony, once the last one's is over."""
        before, state = self.wishes.get(name), await self.state(name)
        over = before is None or (before.deleting and (state is None or isinstance(state, cluster.Released)))
        if over and deleting:
            return
        uid = f"c{len(self.said)}" if over else before.uid
        least, most = ELASTIC.get(name, (0, 0))
        pool = Pool(
            name="gpu", accelerator="H100", accelerators_per_node=8, nodes=max(nodes, least), min_nodes=least,
            max_nodes=most, spot=Spot.PREFERRED,
        )  # fmt: skip
        more = msgspec.structs.replace(pool, name="more", nodes=1, min_nodes=0, max_nodes=0)
        pools = (pool, more) if wide else (pool,)
        colony, part = name.split("-")
        self.wishes[name] = Wish(
            tenant=TENANT, colony=colony, cluster=part, uid=uid, generation=1 if over else before.generation + 1,
            deleting=deleting, need=Need(pools=pools, backend="fake", hibernate=hibernate),
        )  # fmt: skip
        await self.say(self.wishes[name], TENANT, name)

    async def order(self, name: str) -> None:
        """Teardown's word, as it says it whenever it comes to that step."""
        state = await self.state(name)
        if state is not None and not isinstance(state, cluster.Released):
            order = ReleaseOrdered(uid=state.uid, wish=state.wish, why="Deleted", deadline=clock())
            await self.say(order, TENANT, name)

    async def all_over(self) -> bool:
        states = [await self.state(name) for name in CLUSTERS]
        over = (state is None or (isinstance(state, cluster.Released) and not state.strays) for state in states)
        return all(over) and not self.standing


class Cloud:
    """The back end, as one process sees it."""

    def __init__(self, world: World, life: Life) -> None:
        self._world, self._life = world, life

    async def reach(self, wish: Wish) -> dict[str, bool]:
        return await self._life.call(self._reach)

    async def launch(self, wish: Wish, attempt: Attempt, uid: str) -> None:
        await self._life.call(lambda: self._launch(wish, attempt, uid))

    async def resize(self, wish: Wish, attempt: Attempt, uid: str) -> None:
        await self._life.call(lambda: self._resize(f"{wish.name}-{attempt.number}", uid, attempt.placement.nodes))

    async def release(self, wish: Wish, attempt: Attempt) -> None:
        await self._life.call(lambda: self._release(f"{wish.name}-{attempt.number}"))

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
            self._world.later(dice.choice((0.0, 4.0, 60.0, 400.0)), lambda: self._gone(name))

    async def _gone(self, name: str) -> None:
        thing = self._world.standing.pop(name, None)
        if thing is not None:
            await self._world.seen(thing, present=False)
