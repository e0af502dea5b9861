"""How soon a webhook is a wish on the bus, and how much memory the edge holds after very many of them."""

import asyncio
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import AsyncExitStack, aclosing, asynccontextmanager
from dataclasses import dataclass
from itertools import count
from pathlib import Path
from time import perf_counter

from events.bus import Bus, CaughtUp
from events.jetstream.bus import connect
from events.jetstream.server import NatsServer
from events.kube.client import Changed, Kube, Object
from events.kube.resources import TRIGGERS
from services.cli.connection import management, operator
from services.cli.up.stack import OPERATOR
from services.local.folder import Folder
from services.local.programs import EDGE, Wiring, choose_ports, stages
from services.local.supervisor import Supervisor
from services.process.secret_file import write_private
from tests.bench.figure import Figure, Goal, of_pairs, quantile
from tests.bench.hooks import DELIVERIES, bare, load, send
from tests.bench.hooks import request as signed
from tests.bench.memory import resident
from tests.services.edge.house import SECRET

GOAL = Goal("ours", 5.0)
FLAT = Goal("ratio", 1.1)
PAIRS = 300
FEW, MANY = 10_000, 100_000
"""Webhooks after which the memory is looked at."""
PATH = "/hooks/github/default/ci"
CLUSTER = {"name": "gpu", "pools": [{"accelerator": "H100", "acceleratorsPerNode": 8, "nodes": 2}]}
RULE = {"name": "start", "when": "data.number >= 0", "then": "Request", "colony": {"clusters": [CLUSTER]}}
SPEC = {
    "provider": "github",
    "name": "run-${data.number}",
    "rules": [RULE],
    "limit": {"requests": 10 * PAIRS, "every": "1s"},
}
TRIGGER = {
    "apiVersion": TRIGGERS.api_version,
    "kind": TRIGGERS.kind,
    "metadata": {"name": "bench", "namespace": "default"},
    "spec": SPEC,
}


async def measure(folder: Path) -> list[Figure]:
    """Milliseconds from a webhook's first byte until its wish is seen, and MiB resident."""
    numbers = count()
    async with AsyncExitStack() as stack:
        edge = await stack.enter_async_context(running(folder / "stack"))
        server = await stack.enter_async_context(NatsServer(folder / "nats"))
        nats = await connect(server.url, name="bench")
        stack.push_async_callback(nats.close)
        theirs = await stack.enter_async_context(bare(server.url))
        async with seen(edge.bus, "INTAKE", "cluster.requested.*") as wish, seen(nats, "HOOKS", "hook.>") as hook:
            pairs = [
                (await until(edge.port, numbers, wish), await until(theirs, numbers, hook)) for _ in range(PAIRS + 1)
            ][1:]
        few, many = await edge.memory(numbers)
    slow, reference = (quantile(side, 0.99) for side in zip(*pairs, strict=True))
    return [
        of_pairs("webhook to its wish on the bus, p50", "ms", pairs, GOAL),
        Figure("webhook to its wish on the bus, p99", "ms", slow, reference, slow / reference),
        Figure(f"memory after {MANY:,} webhooks against {FEW:,}", "MiB", many, few, many / few, FLAT),
    ]


async def until(port: int, numbers: Iterator[int], seen: asyncio.Queue[float]) -> float:
    """Milliseconds from when one is sent until what comes of it is seen."""
    began = perf_counter()
    await send(port, iter([signed(next(numbers), PATH)]), [])
    return 1000 * (await seen.get() - began)


@asynccontextmanager
async def seen(bus: Bus, stream: str, subject: str) -> AsyncIterator[asyncio.Queue[float]]:
    """When each message came that somebody who follows the bus is given."""
    times: asyncio.Queue[float] = asyncio.Queue()
    ready = asyncio.Event()

    async def look() -> None:
        async with aclosing(bus.follow(stream, subject)) as feed:
            async for one in feed:
                ready.set() if isinstance(one, CaughtUp) else times.put_nowait(perf_counter())

    async with asyncio.TaskGroup() as group:
        looking = group.create_task(look())
        await ready.wait()
        yield times
        looking.cancel()


@dataclass(frozen=True)
class Edge:
    """The edge of a stack in which nothing else runs but what it needs."""

    port: int
    bus: Bus
    pid: Callable[[], int]

    async def memory(self, numbers: Iterator[int]) -> list[float]:
        """MiB after few and after many webhooks, with the rules still followed."""
        found, sent = [], 0
        for wanted in (FEW, MANY):
            while sent < wanted:
                await load(self.port, numbers, PATH)
                sent += DELIVERIES
            found.append(await resident(self.pid()))
        return found


@asynccontextmanager
async def running(folder: Path) -> AsyncIterator[Edge]:
    """It, with one Trigger that makes a wish of every webhook."""
    place = Folder(folder)
    place.take()
    wiring = Wiring(place, choose_ports(None, None), settings={"ALATE_EDGE_RATE": "1000000"})
    *ground, services = stages(wiring)
    write_private(place.hooks / "github.default.ci", SECRET.encode())
    async with AsyncExitStack() as stack:
        stack.callback(place.leave)
        own = Supervisor([*ground, [each for each in services if each.name == EDGE]])
        await stack.enter_async_context(own)
        bus = await connect(wiring.bus, name="bench", streams=(), credentials=operator(wiring.key(OPERATOR)))
        stack.push_async_callback(bus.close)
        await follow(await stack.enter_async_context(management(str(wiring.management))))
        yield Edge(wiring.ports.edge, bus, lambda: next(c.pid or 0 for c in own.children if c.program.name == EDGE))


async def follow(kube: Kube) -> None:
    """Apply the Trigger, and wait until it is followed."""
    await kube.apply(TRIGGERS, TRIGGER, manager="bench")
    async with asyncio.timeout(30):
        async for sight in kube.watch(TRIGGERS):
            if isinstance(sight, Changed) and _accepted(sight.object):
                return


def _accepted(trigger: Object) -> bool:
    conditions = trigger.get("status", {}).get("conditions", ())
    return {each["type"]: each["status"] for each in conditions if each["type"] == "Ready"} == {"Ready": "True"}
