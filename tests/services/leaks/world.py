"""A market, a back end and its machines: full, slow, mute, half, away or working, as a seed will have it."""

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from random import Random
from typing import Any

import msgspec

from events.bus import Message
from events.memory.bus import MemoryBus
from schemas import cluster
from schemas.cluster import ClusterState
from schemas.infra import InfraSeen
from schemas.inventory import ClusterSeen, Offer, Offers
from schemas.registry import declared
from schemas.subjects import Key
from schemas.wish import OnRelease, Wish
from services.provisioning.placement.supply import held_attempt
from tests.services.crash.conftest import clock
from tests.services.crash.theirs import Theirs
from tests.services.leaks.history import CLUSTERS, THEIRS
from tests.services.leaks.inside import TENANT, Inside

KINDS: dict[str, Any] = {declared(kind).event: kind for kind in cluster.LIFECYCLE.states}


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
    versions: dict[str, int] = field(default_factory=dict)
    """Each that it was told to run, with how often it was asked how far it is."""


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
    made_anew: list[str] = field(default_factory=list)
    """What was founded though something that stands was to be taken in."""

    def __post_init__(self) -> None:
        self.inside = Inside(self.seed)
        self.theirs = Theirs(self._told_of_theirs)
        for name in THEIRS:
            self.theirs.make(name)

    async def _told_of_theirs(self, name: str, seen: InfraSeen) -> None:
        if name not in self.theirs.objects:
            await self.inside.drop(name)
        elif seen.reachable:
            await self.inside.found(name, seen.uid, self.theirs.objects[name]["spec"]["nodes"])
        await self.say(seen, TENANT, "fake", name)
        if (thing := self._marked(name)) is not None:
            self.later(20.0, lambda: self._count_if_same(name, thing))

    async def _count_if_same(self, name: str, thing: Thing) -> None:
        if self._marked(name) == thing:
            await self.counted(thing, thing.nodes)

    def _marked(self, name: str) -> Thing | None:
        seen = self.theirs.marks(name)
        if seen is None:
            return None
        since, nodes = self.theirs.changed[name], self.theirs.objects[name]["spec"]["nodes"]
        return Thing(seen.cluster, seen.uid, seen.attempt, since, going=seen.deleting, nodes=nodes)

    @property
    def ours(self) -> dict[str, Thing]:
        """What was made for us, and what others made and bears our marks."""
        marked = {name: thing for name in THEIRS if (thing := self._marked(name)) is not None}
        return self.standing | marked

    def wrongs(self) -> list[str]:
        """What was done to what others made, and must never be."""
        kept = {name for name, end in THEIRS.items() if end is OnRelease.KEEP}
        deleted = [f"{name} was deleted, which is to be kept" for name in self.theirs.asked_to_end & kept]
        return [*deleted, *self.made_anew]

    async def say(self, message: msgspec.Struct, *names: str) -> None:
        self.said.append((message, names))
        await self.bus.publish(Message(declared(type(message)).at(*names), msgspec.json.encode(message)))

    async def seen(self, thing: Thing, **shown: Any) -> None:
        told = InfraSeen(cluster=thing.cluster, uid=thing.uid, attempt=thing.number, **shown)
        await self.say(told, TENANT, "fake", f"{thing.cluster}-{thing.number}")

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
        if stored is None:
            return None
        state: ClusterState = msgspec.json.decode(stored.data, type=KINDS[stored.subject.split(".")[1]])
        return state

    async def leaks(self) -> list[str]:
        """What stands, and is neither current nor being released; at the instant it is made, nobody has heard of it."""
        found, now = [], asyncio.get_running_loop().time()
        for name, thing in self.ours.items():
            if thing.since == now:
                continue
            state = await self.state(thing.cluster)
            held = None if state is None or state.uid != thing.uid else held_attempt(state)
            known = (*(state.orphans if state is not None else ()), *((held,) if held is not None else ()))
            if not thing.going and (name, thing.number) not in {
                (one.object_name(thing.cluster), one.number) for one in known
            }:
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

    async def over(self, name: str) -> bool:
        """What is asked for next is another Colony's."""
        before, state = self.wishes.get(name), await self.state(name)
        return before is None or (before.deleting and (state is None or isinstance(state, cluster.Released)))

    async def all_over(self) -> bool:
        states = [await self.state(name) for name in CLUSTERS]
        over = (state is None or (isinstance(state, cluster.Released) and not state.orphans) for state in states)
        return all(over) and not self.ours
