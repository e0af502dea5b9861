"""How fast the inventory sees what changes, and what it costs to know a large cluster, against bare loops."""

import asyncio
import gc
import tracemalloc
from collections.abc import AsyncIterator
from contextlib import aclosing, asynccontextmanager
from datetime import UTC, datetime
from itertools import count
from pathlib import Path
from time import perf_counter

import msgspec

from events.bus import Bus, CaughtUp, Message
from events.jetstream import connect
from events.kinds import NODES, PODS
from events.kube import Changed, Kube, Object
from events.nats_server import NatsServer
from events.telemetry import Meters
from schemas.inventory import ClusterSeen, NodeSeen, StorageSeen
from schemas.subjects import Key
from services.inventory.book import Book
from services.inventory.voice import Voice
from services.inventory.watcher import Watcher
from services.levels import Levels
from services.sandbox.api.app import MANAGEMENT, Api
from services.sandbox.api.journal import MemoryJournal
from services.sandbox.api.local import LocalTransport
from tests.bench.figure import Figure, Goal, alternate, of_pairs, quantile

COLD, SEEN = Goal("ratio", 3.0), Goal("ratio", 2.0)
NODES_COLD, PODS_COLD = 1523, 8152
"""The size of the openb trace."""
PAIRS = 5
CHANGES = 200
BLANK = ClusterSeen(cluster="bench", uid="bench")


async def measure(folder: Path) -> list[Figure]:
    """Cold load (seconds), pod change to the bus (milliseconds), memory (MiB)."""
    async with _api() as kube:
        await _fill(kube, NODES_COLD, PODS_COLD)
        cold = await _cold(kube)
    return [cold, await _seen(folder), await _memory()]


@asynccontextmanager
async def _api() -> AsyncIterator[Kube]:
    uids = count(1)
    api = Api(MemoryJournal(), lambda: datetime.now(UTC), lambda: f"uid-{next(uids)}")
    await api.start()
    try:
        yield Kube(LocalTransport(api, MANAGEMENT), random=lambda: 0.0)
    finally:
        await api.close()


async def _fill(kube: Kube, nodes: int, pods: int) -> None:
    for number in range(nodes):
        made = _node(number)
        status = made.pop("status")
        await kube.create(NODES, made)
        await kube.patch(NODES, f"n{number}", None, {"status": status}, subresource="status")
    for number in range(pods):
        await kube.create(PODS, _pod(number, number % nodes))


def _node(number: int) -> Object:
    labels = {"nvidia.com/gpu.product": "NVIDIA-H100-80GB-HBM3", "nvidia.com/gpu.count": "8"}
    offered = {"cpu": "192", "memory": "2048Gi", "pods": "110", "nvidia.com/gpu": "8"}
    conditions = [{"type": "Ready", "status": "True", "reason": "KubeletReady", "message": ""}]
    status = {"capacity": offered, "allocatable": offered, "conditions": conditions}
    return {"metadata": {"name": f"n{number}", "labels": labels}, "spec": {}, "status": status}


def _pod(number: int, node: int) -> Object:
    asked = {"cpu": "4", "memory": "16Gi", "nvidia.com/gpu": "1"}
    container = {"name": "main", "image": "i", "resources": {"requests": asked, "limits": asked}}
    spec = {"nodeName": f"n{node}", "containers": [container], "restartPolicy": "Never"}
    return {"metadata": {"name": f"p{number}", "namespace": "default"}, "spec": spec}


async def _cold(kube: Kube) -> Figure:
    async def ours() -> float:
        began = perf_counter()
        book = Book(BLANK)
        for resource in (NODES, PODS):
            book.take(resource, await kube.list(resource))
        book.changed()
        book.cluster(None, datetime.now(UTC))
        return perf_counter() - began

    async def bare() -> float:
        began = perf_counter()
        for resource in (NODES, PODS):
            await kube.list(resource)
        return perf_counter() - began

    name = f"cold load of {NODES_COLD:,} nodes and {PODS_COLD:,} pods, against list-and-decode"
    return of_pairs(name, "s", await alternate(ours, bare, PAIRS), COLD)


async def _seen(folder: Path) -> Figure:
    async with NatsServer(folder / "nats") as server, _api() as kube:
        bus = await connect(server.url, name="bench")
        try:
            await _fill(kube, 20, 100)
            ours = await _changes(bus, kube, "inventory.nodes.>", _watcher)
            bare = await _changes(bus, kube, "observed.>", _bare)
        finally:
            await bus.close()
    p50 = 1000 * quantile(ours, 0.5), 1000 * quantile(bare, 0.5)
    return Figure("pod change on the bus (p50), against watch and publish", "ms", *p50, p50[0] / p50[1], SEEN)


async def _watcher(bus: Bus, kube: Kube) -> None:
    levels = Levels(bus, lambda: datetime.now(UTC), Meters(), NodeSeen, StorageSeen, ClusterSeen)
    await levels.boot()
    key = Key("cluster", "bench", "bench")
    voice = Voice(levels, key, lambda: datetime.now(UTC))

    async def opened() -> Kube:
        return kube

    await Watcher(key, BLANK, voice, clock=lambda: datetime.now(UTC), meters=Meters()).run(opened)


async def _bare(bus: Bus, kube: Kube) -> None:
    async for sight in kube.watch(PODS):
        if isinstance(sight, Changed):
            name = sight.object["metadata"]["name"]
            await bus.publish(Message(f"observed.infra.bench.{name}", msgspec.json.encode(sight.object)))


async def _changes(bus: Bus, kube: Kube, subjects: str, say) -> list[float]:
    """Seconds from the write's answer… begun, to the word on the bus, change by change."""
    saying = asyncio.create_task(say(bus, kube))
    heard: asyncio.Queue[float] = asyncio.Queue()
    hearing = asyncio.create_task(_hear(bus, subjects, heard))
    await asyncio.sleep(1.0)
    while not heard.empty():
        heard.get_nowait()
    took = []
    for number in range(CHANGES):
        name = f"x{next(_names)}"
        await kube.create(PODS, _pod(0, number % 20) | {"metadata": {"name": name, "namespace": "default"}})
        written = perf_counter()
        took.append(await heard.get() - written)
        await asyncio.sleep(0.005)
    for task in (saying, hearing):
        task.cancel()
    await asyncio.gather(saying, hearing, return_exceptions=True)
    return took


_names = count()


async def _hear(bus: Bus, subjects: str, heard: asyncio.Queue[float]) -> None:
    async with aclosing(bus.feed("LEVELS", subjects)) as feed:
        async for stored in feed:
            if not isinstance(stored, CaughtUp):
                heard.put_nowait(perf_counter())


async def _memory() -> Figure:
    async with _api() as kube:
        await _fill(kube, 1000, 10_000)
        tracemalloc.start()
        listed = [(resource, await kube.list(resource)) for resource in (NODES, PODS)]
        bare = tracemalloc.get_traced_memory()[0]
        book = Book(BLANK)
        for resource, sight in listed:
            book.take(resource, sight)
        book.changed()
        del listed, sight
        gc.collect()
        ours = tracemalloc.get_traced_memory()[0]
        tracemalloc.stop()
    name = "memory of 1,000 nodes and 10,000 pods, against the decoded objects"
    return Figure(name, "MiB", ours / 2**20, bare / 2**20, ours / bare)
