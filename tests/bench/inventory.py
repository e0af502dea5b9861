"""How fast the inventory sees what changes, and what it costs to know a large cluster, against bare loops."""

import asyncio
import gc
import sys
import tracemalloc
from collections.abc import AsyncIterator, Callable, Coroutine
from contextlib import aclosing, asynccontextmanager, suppress
from datetime import UTC, datetime
from itertools import count
from pathlib import Path
from random import random
from time import perf_counter

import msgspec

from events.bus import Bus, Message
from events.jetstream.bus import connect
from events.jetstream.server import NatsServer
from events.kube.client import Changed, Kube, Object, Request, Response, Transport
from events.kube.resources import NODES, PODS
from events.telemetry import Meters
from schemas.inventory import ClusterSeen, NodeSeen, StorageSeen
from schemas.subjects import Key
from services.inventory.watch.cluster_state import ClusterContents
from services.inventory.watch.outputs import ClusterPublisher
from services.inventory.watch.watcher import Watcher
from services.runtime.context import Context
from services.runtime.level_publisher import LevelPublisher
from services.sandbox.api.server.app import MANAGEMENT, Api
from services.sandbox.api.server.local import LocalTransport
from services.sandbox.api.store.journal import MemoryJournal
from tests.bench.figure import Figure, Goal, alternate, of_pairs, quantile
from tests.context import context

COLD, SEEN = Goal("ratio", 3.0), Goal("ratio", 2.0)
NODES_COLD, PODS_COLD = 1523, 8152
"""The size of the openb trace."""
PAIRS = 5
CHANGES = 100
QUIET = 0.5
"""Seconds without a word after which everything was said."""
Say = Callable[[Bus, Kube], Coroutine[None, None, None]]
"""Watches and publishes, for ever."""
Heard = asyncio.Queue[float]
"""When each word came, in seconds of `perf_counter`."""
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
        book = ClusterContents(BLANK)
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


class Stamped:
    """The way to the API, which notes when the last event came."""

    def __init__(self, inner: Transport) -> None:
        self._inner = inner
        self.send, self.close = inner.send, inner.close
        self.came = 0.0

    async def stream(self, request: Request) -> AsyncIterator[bytes | Response]:
        async with aclosing(self._inner.stream(request)) as lines:
            async for line in lines:
                self.came = perf_counter()
                yield line


async def _seen(folder: Path) -> Figure:
    async with NatsServer(folder / "nats") as server, _api() as writer:
        bus, way = await connect(server.url, name="bench"), Stamped(writer.transport)
        kube = Kube(way, random=lambda: 0.0)

        async def changes(subjects: str, say: Say) -> float:
            async with _heard(server.url, subjects) as heard, _at_work(say(bus, kube)):
                return await _changes(kube, way, heard)

        try:
            await _fill(writer, NODES_COLD, PODS_COLD)
            ours = lambda: changes("inventory.nodes.>", _watcher)  # noqa: E731 - one line says it
            bare = lambda: changes("observed.>", _bare)  # noqa: E731 - one line says it
            pairs = await alternate(ours, bare, PAIRS)
        finally:
            await bus.close()
    name = f"pod change among {PODS_COLD:,} on the bus (p50), against watch and publish"
    return of_pairs(name, "ms", pairs, SEEN)


async def _watcher(bus: Bus, kube: Kube) -> None:
    levels = LevelPublisher(context(bus, lambda: datetime.now(UTC)), NodeSeen, StorageSeen, ClusterSeen)
    await levels.refresh()
    key = Key("cluster", "bench", "bench")
    voice = ClusterPublisher(levels, key, lambda: datetime.now(UTC))

    async def opened() -> Kube:
        return kube

    await Watcher(Context(bus, lambda: datetime.now(UTC), random, Meters()), BLANK, voice).run(opened)


async def _bare(bus: Bus, kube: Kube) -> None:
    async for sight in kube.watch(PODS):
        if isinstance(sight, Changed):
            name = sight.object["metadata"]["name"]
            await bus.publish(Message(f"observed.infra.bench.kube.{name}", msgspec.json.encode(sight.object)))


async def _changes(kube: Kube, way: Stamped, heard: Heard) -> float:
    """Milliseconds (p50) from the watch's event, as it comes from the API, to the word on the bus."""
    await _begun(kube, heard)
    took = []
    for number in range(CHANGES):
        name = f"x{number // 2}"
        if number % 2:
            await kube.delete(PODS, name, "default")
        else:
            await kube.create(PODS, _pod(0, number) | {"metadata": {"name": name, "namespace": "default"}})
        took.append(await heard.get() - way.came)
        await asyncio.sleep(0.005)
    return 1000 * quantile(took, 0.5)


async def _begun(kube: Kube, heard: Heard) -> None:
    """Change something until that is said, then wait until all has been."""
    while heard.empty():
        await kube.create(PODS, _pod(0, 0) | {"metadata": {"name": "first", "namespace": "default"}})
        await kube.delete(PODS, "first", "default")
        await asyncio.sleep(QUIET)
    with suppress(TimeoutError):
        while True:
            await asyncio.wait_for(heard.get(), QUIET)


@asynccontextmanager
async def _at_work(what: Coroutine[None, None, None]) -> AsyncIterator[None]:
    task = asyncio.ensure_future(what)
    try:
        yield
    finally:
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)


@asynccontextmanager
async def _heard(url: str, subjects: str) -> AsyncIterator[Heard]:
    """When words come to somebody else: whoever says them must not slow down who hears them."""
    pipe, words = asyncio.subprocess.PIPE, (sys.executable, "-m", "tests.bench.listener", url, subjects)
    listener = await asyncio.create_subprocess_exec(*words, stdout=pipe)
    heard: Heard = asyncio.Queue()

    async def read() -> None:
        while line := await listener.stdout.readline():
            heard.put_nowait(float(line))

    await listener.stdout.readline()
    async with _at_work(read()):
        yield heard
        listener.terminate()
        await listener.wait()


async def _memory() -> Figure:
    async with _api() as kube:
        await _fill(kube, 1000, 10_000)
        tracemalloc.start()
        listed = [(resource, await kube.list(resource)) for resource in (NODES, PODS)]
        bare = tracemalloc.get_traced_memory()[0]
        book = ClusterContents(BLANK)
        for resource, sight in listed:
            book.take(resource, sight)
        book.changed()
        del listed, sight
        gc.collect()
        ours = tracemalloc.get_traced_memory()[0]
        tracemalloc.stop()
    name = "memory of 1,000 nodes and 10,000 pods, against the decoded objects"
    return Figure(name, "MiB", ours / 2**20, bare / 2**20, ours / bare)
