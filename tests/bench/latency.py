"""How long a Colony's status takes to answer what was written, against the same clients without a thought between."""

import asyncio
import random
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path

from events.bus import Bus
from events.jetstream.bus import connect
from events.jetstream.server import NatsServer
from events.kube.auth import transport
from events.kube.client import Kube, Object, Resource
from events.kube.resources import COLONIES
from services.local.folder import Folder
from services.local.programs import Wiring, choose_ports, stages
from services.local.supervisor import Supervisor
from tests.bench.bare_watch import TWINS, BareWatch
from tests.bench.figure import Figure, Goal, of_pairs, quantile
from tests.bench.onlooker import Is, Onlooker, answered, there

GOAL = Goal("ratio", 1.5)
PAIRS = 150
RUNNING = ("gateway", "provisioning")
SETTLED = 0.02
"""Seconds of rest before each write: what the one before it set going must not be measured with it."""


def colony(resource: Resource, name: str, price: float) -> Object:
    """A Colony that stays stalled: its template is not there, so that nothing is founded that would take time."""
    pools = [{"name": "workers", "accelerator": "H100", "acceleratorsPerNode": 8, "nodes": 2}]
    cluster = {"name": "gpu", "pools": pools, "maxPricePerHour": price, "template": "nowhere"}
    meta = {"name": name, "namespace": "default"}
    return {
        "apiVersion": resource.api_version,
        "kind": resource.kind,
        "metadata": meta,
        "spec": {"clusters": [cluster]},
    }


class Person:
    """Writes Colonies of one kind, and watches them."""

    def __init__(self, kube: Kube, resource: Resource) -> None:
        self._kube = kube
        self._resource = resource
        self.eye = Onlooker(kube, resource)

    async def write(self, name: str, price: float, *answers: Is) -> list[float]:
        """Apply a Colony; for each answer, milliseconds between the sights of it and of a status saying so."""
        await asyncio.sleep(SETTLED)
        written = await self._kube.apply(self._resource, colony(self._resource, name, price), manager="bench")
        generation = written["metadata"]["generation"]

        async def when(true: Is) -> float:
            return await self.eye.when(name, lambda seen: seen["metadata"]["generation"] == generation and true(seen))

        began = await when(there)
        return [1000 * (await when(answer) - began) for answer in answers]


def placed(colony: Object) -> bool:
    """Whether the status shows what provisioning said of it."""
    return bool(colony.get("status", {}).get("phase") == "Stalled")


@asynccontextmanager
async def client(wiring: Wiring, name: str) -> AsyncIterator[tuple[Bus, Kube]]:
    """Connections to both sides."""
    kube = Kube(await transport(str(wiring.management)), random=random.random)
    bus = await connect(wiring.bus, name=name)
    try:
        yield bus, kube
    finally:
        await bus.close()
        await kube.close()


async def measure(folder: Path) -> list[Figure]:
    """A first sight, an amendment, a decision, each at the median and at the 99th percentile: milliseconds."""
    place = Folder(folder / "stack")
    place.take()
    async with AsyncExitStack() as stack:
        stack.callback(place.leave)
        # An open NATS for both sides: no role of the local stack may do what the bare loop does.
        server = await stack.enter_async_context(NatsServer(folder / "nats"))
        wiring = Wiring(place, choose_ports(None, None), server.url)
        *ground, services = stages(wiring)
        await stack.enter_async_context(Supervisor([*ground, [each for each in services if each.name in RUNNING]]))
        bus, kube = await stack.enter_async_context(client(wiring, "bench"))
        group = await stack.enter_async_context(asyncio.TaskGroup())
        ours, twins = Person(kube, COLONIES), Person(kube, TWINS)
        tasks = [await _started(group, ours)]
        await ours.write("first", 1.0, placed)
        bare = BareWatch(bus, kube, (await kube.get(COLONIES, "first", "default"))["status"])
        await bare.set_up()
        tasks += [await _started(group, twins), group.create_task(bare.run())]
        figures = await _figures(ours, twins)
        for task in tasks:
            task.cancel()
    return figures


async def _started(group: asyncio.TaskGroup, one: Person) -> asyncio.Task[None]:
    task = group.create_task(one.eye.run())
    await one.eye.ready.wait()
    return task


async def _figures(ours: Person, twins: Person) -> list[Figure]:
    taken = [[], [], []]
    await twins.write("first", 1.0, answered)
    for number in range(PAIRS):
        name = f"colony-{number}"
        first, decided = await ours.write(name, 1.0, answered, placed)
        (bare,) = await twins.write(name, 1.0, answered)
        (amended,) = await ours.write(name, 2.0, answered)
        (bare_amended,) = await twins.write(name, 2.0, answered)
        for pairs, pair in zip(taken, ((first, bare), (amended, bare_amended), (decided, bare)), strict=True):
            pairs.append(pair)
    new, amended_ones, decided_ones = taken
    return [
        *_of("a new Colony has its status", new, GOAL),
        *_of("an amended one has its status", amended_ones, GOAL),
        *_of("a new one shows what was decided", decided_ones),
    ]


def _of(what: str, pairs: list[tuple[float, float]], goal: Goal | None = None) -> list[Figure]:
    ours, bare = (quantile(side, 0.99) for side in zip(*pairs, strict=True))
    return [
        of_pairs(f"{what}, p50", "ms", pairs, goal),
        Figure(f"{what}, p99", "ms", ours, bare, ours / bare),
    ]
