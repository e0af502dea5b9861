"""Nodes, pods and slices as an API server gives them, and a cluster that can be watched in this process."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import aclosing
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from itertools import count
from types import SimpleNamespace

import msgspec
import pytest

from events.errors import TryLater
from events.kube.client import Kube, Request, Response
from events.kube.port import Changed, Listed
from events.kube.resources import NODES, PODS
from events.memory.bus import MemoryBus
from schemas.inventory import ClusterSeen, NodeSeen, StorageSeen
from schemas.registry import declared
from schemas.subjects import Key
from services.inventory.read.labels import no_labels
from services.inventory.watch.cluster_state import ClusterContents
from services.inventory.watch.outputs import ClusterPublisher
from services.inventory.watch.watcher import Watcher
from services.runtime.level_publisher import LevelPublisher
from services.sandbox.api.server.app import Api
from services.sandbox.api.server.local import LocalTransport
from services.sandbox.api.store.journal import MemoryJournal
from tests.context import context

T0 = datetime(2026, 1, 1, tzinfo=UTC)
KEY = Key("cluster", "acme", "train")
BLANK = ClusterSeen(cluster="train", uid="c1.1", attempt=1)
GPU = "nvidia.com/gpu"
H100 = {
    f"{GPU}.product": "NVIDIA-H100-80GB-HBM3",
    f"{GPU}.count": "8",
    f"{GPU}.memory": "81559",
    f"{GPU}.replicas": "1",
    "nvidia.com/cuda.driver-version.full": "570.86.15",
}
_numbers = count(1)


def node(name="n1", *, gpus="8", labels=None, ready=True, cpu="64", uid=None, version=None, **more):
    offered = {"cpu": cpu, "memory": "512Gi", "pods": "110"} | ({GPU: gpus} if gpus is not None else {})
    offered |= more.pop("allocatable", {})
    status = {
        "capacity": more.pop("capacity", offered),
        "allocatable": offered,
        "conditions": [{"type": "Ready", "status": "True" if ready else "False"}],
    }
    meta = {"name": name, "uid": uid or f"node-{name}", "labels": H100 if labels is None else labels}
    return {"metadata": meta | {"resourceVersion": str(version or next(_numbers))}, "spec": more, "status": status}


def pod(name="p1", on="n1", *, namespace="default", phase="Running", uid=None, version=None, init=(), **asked):
    names = {"gpu": GPU, "mig": "nvidia.com/mig-1g.10gb"}
    requests = {names.get(k, k): str(v) for k, v in asked.items()}
    meta = {"name": name, "namespace": namespace, "uid": uid or f"pod-{namespace}-{name}"}
    spec = {"nodeName": on, "containers": [{"name": "c", "image": "i", "resources": {"requests": requests}}]}
    return {
        "metadata": meta | {"resourceVersion": str(version or next(_numbers))},
        "spec": spec | ({"initContainers": list(init)} if init else {}),
        "status": {"phase": phase},
    }


def listed(*items) -> Listed:
    return Listed(tuple(items), str(next(_numbers)))


def book(nodes=(), pods=()) -> ClusterContents:
    made = ClusterContents(BLANK)
    made.take(NODES, listed(*nodes))
    made.take(PODS, listed(*pods))
    return made


def add(to: ClusterContents, resource, *items) -> None:
    for item in items:
        to.take(resource, Changed(item))


def drop(of: ClusterContents, resource, item) -> None:
    later = item | {"metadata": item["metadata"] | {"resourceVersion": str(next(_numbers))}}
    of.take(resource, Changed(later, gone=True))


def only(of: ClusterContents, name="n1"):
    of.changed()
    return of.nodes[name]


def whole(of: ClusterContents) -> ClusterSeen:
    of.changed()
    return of.cluster(None, T0)


def reasons(level) -> list[str]:
    return [trouble.reason for trouble in level.degraded]


@pytest.fixture(scope="session")
def make() -> SimpleNamespace:
    """Everything above."""
    return SimpleNamespace(
        node=node, pod=pod, listed=listed, book=book, add=add, drop=drop, only=only, whole=whole, reasons=reasons,
        H100=H100, GPU=GPU, T0=T0, BLANK=BLANK, KEY=KEY,
    )  # fmt: skip


class Flaky:
    """The way to the API server, which can be cut, or answer 401."""

    def __init__(self, inner: LocalTransport) -> None:
        self._inner = inner
        self.refuses: str | None = None
        self.only = ""
        """What a refused path must hold."""
        self._cut = asyncio.Event()

    def cut(self, why: str = "connection refused", *, only: str = "") -> None:
        self.refuses, self.only = why, only
        self._cut.set()

    def mend(self) -> None:
        self.refuses = None
        self._cut = asyncio.Event()

    async def send(self, request: Request) -> Response:
        if self.refuses and self.only in request.path:
            raise TryLater(self.refuses)
        return await self._inner.send(request)

    async def stream(self, request: Request) -> AsyncIterator[bytes | Response]:
        if self.refuses and self.only in request.path:
            raise TryLater(self.refuses)
        cut = asyncio.ensure_future(self._cut.wait())
        async with aclosing(self._inner.stream(request)) as lines:
            while True:
                line = asyncio.ensure_future(anext(lines, None))
                try:
                    await asyncio.wait((line, cut), return_when=asyncio.FIRST_COMPLETED)
                    if not line.done():
                        raise TryLater("connection reset")
                    if line.result() is None:
                        return
                    yield line.result()
                finally:
                    await _ended(line)
                    if self._cut.is_set():
                        cut.cancel()

    async def close(self) -> None:
        """Nothing is held."""


@dataclass
class Stage:
    """A cluster in a sandbox in this process, a bus, and whoever watches the one for the other."""

    api: Api
    bus: MemoryBus
    kube: Kube
    server: Flaky
    tasks: list[asyncio.Task[None]] = field(default_factory=list)

    async def watch(self, key: Key = KEY, blank: ClusterSeen = BLANK, open_=None, labels=no_labels) -> Watcher:
        """A process begins: it knows what was said before."""
        clock = lambda: T0 + timedelta(seconds=asyncio.get_running_loop().time())  # noqa: E731 - one line
        levels = LevelPublisher(context(self.bus, clock), NodeSeen, StorageSeen, ClusterSeen, retries=True)
        await levels.refresh()
        watcher = Watcher(context(self.bus, clock), blank, ClusterPublisher(levels, key, clock), labels=labels)

        async def opened() -> Kube:
            return self.kube

        self.tasks.append(asyncio.create_task(watcher.run(open_ or opened)))
        return watcher

    async def stop(self) -> None:
        """It ends."""
        for task in self.tasks:
            task.cancel()
        await asyncio.gather(*self.tasks, return_exceptions=True)
        self.tasks.clear()

    async def settled(self, seconds: float = 3.0) -> None:
        """Let everything happen that happens in so many (virtual) seconds."""
        await asyncio.sleep(seconds)

    async def last(self, kind, *names):
        stored = await self.bus.last("LEVELS", declared(kind).at("acme", "train", *names))
        return msgspec.json.decode(stored.data, type=kind) if stored else None

    async def words(self) -> int:
        """The number of the last word on the bus: the same means that nothing was said."""
        stored = await self.bus.last("LEVELS", "inventory.>")
        return stored.sequence if stored else 0


async def _ended(task: asyncio.Future) -> None:
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)


@pytest.fixture
async def stage() -> AsyncIterator[Stage]:
    uids = count(1)
    api = Api(MemoryJournal(), lambda: T0, lambda: f"uid-{next(uids)}")
    await api.start()
    server = Flaky(LocalTransport(api, "management"))
    bus = MemoryBus()
    made = Stage(api, bus, Kube(server, random=lambda: 0.5), server)
    yield made
    await made.stop()
    await bus.close()
    await api.close()
