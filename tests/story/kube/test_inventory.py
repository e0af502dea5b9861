"""On a real API server the inventory counts what is there, and while the server is dead what was there stays told."""

import asyncio
import random
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import aclosing, asynccontextmanager
from datetime import UTC, datetime

import msgspec
import pytest

from events.bus import CaughtUp
from events.kube.client import Kube
from events.kube.resources import NODES, PODS
from events.memory.bus import MemoryBus
from schemas.inventory import Amount, ClusterSeen, NodeSeen, StorageSeen
from schemas.subjects import Key
from services.inventory.read.labels import labels_of, no_labels
from services.inventory.watch.outputs import ClusterPublisher
from services.inventory.watch.watcher import Watcher
from services.runtime.level_publisher import LevelPublisher
from tests.context import context
from tests.kube.fixtures import needs
from tests.kube.plane import ControlPlane

pytestmark = [pytest.mark.kube, pytest.mark.timeout(400)]
GPU = "nvidia.com/gpu"
KEY = Key("cluster", "acme", "real")
ROUNDS, WRITES = 15, 20
WITHIN = 60.0
OUTAGE = 60.0
"""Seconds the API server is away."""
SEED = 20261121
NONE = Amount()
H100 = {f"{GPU}.product": "NVIDIA-H100-80GB-HBM3", f"{GPU}.count": "8"}


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ControlPlane]:
    """etcd and an API server that nobody else writes to."""
    needs("etcd", "kube-apiserver")
    with ControlPlane(tmp_path_factory.mktemp("inventory")) as running:
        yield running


@pytest.fixture
async def kube(server) -> AsyncIterator[Kube]:
    """A test's own way in, to a server without nodes and pods."""
    kube = Kube(server.transport(), random=random.random)
    for pod in (await kube.list(PODS)).items:
        await end(kube, pod["metadata"]["name"])
        await kube.delete(PODS, pod["metadata"]["name"], "default")
    for node in (await kube.list(NODES)).items:
        await kube.delete(NODES, node["metadata"]["name"])
    yield kube
    await kube.close()


@asynccontextmanager
async def watching(server: ControlPlane, bus: MemoryBus, labels=no_labels) -> AsyncIterator[None]:
    """The inventory's watcher, on the bus."""
    kube, clock = Kube(server.transport(), random=random.random), lambda: datetime.now(UTC)
    levels = LevelPublisher(context(bus, clock), NodeSeen, StorageSeen, ClusterSeen)
    await levels.refresh()
    blank = ClusterSeen(cluster=KEY.name, uid="real")
    watcher = Watcher(context(bus, clock), blank, ClusterPublisher(levels, KEY, clock), labels=labels)
    task = asyncio.ensure_future(watcher.run(lambda: asyncio.sleep(0, kube)))
    await asyncio.wait_for(watcher.settled.wait(), WITHIN)
    try:
        yield
    finally:
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
        await kube.close()


async def until(holds: Callable[[], object]) -> None:
    async with asyncio.timeout(WITHIN):
        while not await holds():  # noqa: ASYNC110 - what changes is another process
            await asyncio.sleep(0.05)


async def told(bus: MemoryBus) -> tuple[dict[str, NodeSeen], ClusterSeen | None]:
    """The nodes that are there, and the cluster, as the bus has them."""
    nodes, whole = {}, None
    async with aclosing(bus.feed("LEVELS", "inventory.nodes.>", "inventory.cluster.>")) as feed:
        async for stored in feed:
            if isinstance(stored, CaughtUp):
                return nodes, whole
            if stored.subject.startswith("inventory.nodes"):
                seen = msgspec.json.decode(stored.data, type=NodeSeen)
                nodes |= {seen.node: seen} if seen.present else {}
            else:
                whole = msgspec.json.decode(stored.data, type=ClusterSeen)
    raise AssertionError("a feed never ends")


async def add_node(kube: Kube, name: str, gpus: int = 8, **labels: str) -> None:
    await kube.create(NODES, {"metadata": {"name": name, "labels": H100 | labels}})
    offered = {"cpu": "64", "pods": "110", GPU: str(gpus)}
    ready = {"type": "Ready", "status": "True", "reason": "KubeletReady", "message": "", "lastHeartbeatTime": None}
    status = {"capacity": offered, "allocatable": offered, "conditions": [ready]}
    await kube.patch(NODES, name, None, {"status": status}, subresource="status")


async def add_pod(kube: Kube, name: str, node: str, gpus: int) -> None:
    asked = {GPU: str(gpus)}
    container = {"name": "c", "image": "i", "resources": {"requests": asked, "limits": asked}}
    spec = {"nodeName": node, "containers": [container], "automountServiceAccountToken": False}
    await kube.create(PODS, {"metadata": {"name": name, "namespace": "default"}, "spec": spec})


async def end(kube: Kube, name: str, phase: str = "Failed") -> None:
    """A pod that has ended can be deleted without its kubelet."""
    await kube.patch(PODS, name, "default", {"status": {"phase": phase}}, subresource="status")


class World:
    """Nodes and pods that come, end and go by dice, and a count of them that knows none of our code."""

    def __init__(self, kube: Kube) -> None:
        self._kube, self._dice = kube, random.Random(SEED)  # noqa: S311 - dice
        self.nodes: dict[str, int] = {}
        self.pods: dict[str, tuple[str, int]] = {}
        self.finished = 0
        self._made = 0

    async def write(self) -> None:
        await self._dice.choice(
            (self._node, self._pod, self._pod, self._pod, self._finish, self._unpod, self._unnode)
        )()

    def held(self) -> dict[str, tuple[int, int, int]]:
        """By node: accelerators offered and held, and pods."""
        on = {name: [gpus for node, gpus in self.pods.values() if node == name] for name in self.nodes}
        return {name: (gpus, min(gpus, sum(on[name])), len(on[name])) for name, gpus in self.nodes.items()}

    def taken(self) -> tuple[int, int, int]:
        """Accelerators held on all nodes, pods that hold or want some, pods that held some."""
        return sum(held for _, held, _ in self.held().values()), len(self.pods), self.finished

    def _name(self) -> str:
        self._made += 1
        return f"x{self._made}"

    async def _node(self) -> None:
        name, gpus = self._name(), self._dice.randint(0, 8)
        await add_node(self._kube, name, gpus)
        self.nodes[name] = gpus

    async def _pod(self) -> None:
        if self.nodes:
            name, node, gpus = self._name(), self._dice.choice(list(self.nodes)), self._dice.randint(1, 3)
            await add_pod(self._kube, name, node, gpus)
            self.pods[name] = (node, gpus)

    async def _finish(self) -> None:
        if self.pods:
            name = self._dice.choice(list(self.pods))
            await end(self._kube, name, self._dice.choice(("Succeeded", "Failed")))
            del self.pods[name]
            self.finished += 1

    async def _unpod(self) -> None:
        if self.pods:
            name = self._dice.choice(list(self.pods))
            await end(self._kube, name)
            await self._kube.delete(PODS, name, "default")
            del self.pods[name]

    async def _unnode(self) -> None:
        if len(self.nodes) > 3:
            name = self._dice.choice(list(self.nodes))
            await self._kube.delete(NODES, name)
            del self.nodes[name]


async def test_whatever_is_written_the_bus_has_the_count_and_a_restart_says_nothing(server, kube):
    bus, world = MemoryBus(), World(kube)

    async def counted() -> bool:
        nodes, whole = await told(bus)
        seen = {
            name: (each.accelerators, each.resources.get(GPU, NONE).allocated // 1000, each.pods)
            for name, each in nodes.items()
        }
        pods = (whole.allocated, whole.pods, whole.finished) if whole else ()
        return (seen, pods) == (world.held(), world.taken())

    for _ in range(ROUNDS):
        words = await bus.last("LEVELS", "inventory.>")
        async with watching(server, bus):
            assert words is None or (await bus.last("LEVELS", "inventory.>")).sequence == words.sequence
            for _ in range(WRITES):
                await world.write()
            await until(counted)
    assert len(world.nodes) > 3
    assert world.pods
    await bus.close()


async def test_a_pod_whose_affinity_compares_with_a_word_is_let_in_and_ends_no_inventory(server, kube):
    bus = MemoryBus()
    await add_node(kube, "n1")
    await add_pod(kube, "good", "n1", 2)
    term = {"matchExpressions": [{"key": f"{GPU}.count", "operator": "Gt", "values": ["abc"]}]}
    affinity = {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": [term]}}}
    asked = {GPU: "8"}
    container = {"name": "c", "image": "i", "resources": {"requests": asked, "limits": asked}}
    spec = {"affinity": affinity, "containers": [container], "automountServiceAccountToken": False}
    await kube.create(PODS, {"metadata": {"name": "odd", "namespace": "default"}, "spec": spec})
    unschedulable = {"type": "PodScheduled", "status": "False", "reason": "Unschedulable"}
    status = {"phase": "Pending", "conditions": [unschedulable]}
    await kube.patch(PODS, "odd", "default", {"status": status}, subresource="status")
    async with watching(server, bus):
        _, whole = await told(bus)
        assert (whole.known, whole.accelerators, whole.allocated, whole.pods, whole.degraded) == (True, 8, 2, 2, ())
        assert [(one.accelerators, one.pools) for one in whole.demand] == [(8, ())]
        await add_node(kube, "n2")
        await until(lambda: _counts(bus, 16))
    await bus.close()


async def _counts(bus: MemoryBus, accelerators: int) -> bool:
    return (await told(bus))[1].accelerators == accelerators


async def test_labels_of_ours_come_and_go_and_nobody_elses_is_touched(server, kube):
    bus = MemoryBus()
    await add_node(kube, "n1", zone="a", **{"alate.dev/team": "vision"})
    theirs = H100 | {"zone": "a", "alate.dev/team": "vision"}

    async def labels() -> dict[str, str]:
        return (await kube.get(NODES, "n1"))["metadata"]["labels"]

    async def put_right() -> bool:
        return (await labels()).get("alate.dev/accelerator") == "H100"

    async with watching(server, bus, labels_of):
        await until(put_right)
        ours = {
            "alate.dev/accelerator": "H100",
            "alate.dev/accelerator-count": "8",
            "alate.dev/accelerator-source": "gfd",
            "alate.dev/accelerator.H100": "8",
        }
        assert await labels() == theirs | ours
        await kube.patch(NODES, "n1", None, {"metadata": {"labels": {"alate.dev/accelerator": "mine", "zone": "b"}}})
        await until(put_right)
        assert await labels() == theirs | ours | {"zone": "b"}

    async def gone() -> bool:
        return await labels() == theirs | {"zone": "b"}

    async with watching(server, bus):
        await until(gone)
    await bus.close()


@pytest.mark.faults
async def test_an_api_server_dead_for_a_minute_makes_data_stale_never_empty_and_then_known_again(server, kube):
    bus = MemoryBus()
    for number in range(3):
        await add_node(kube, f"n{number}")
        await add_pod(kube, f"p{number}", f"n{number}", number)

    async def known() -> bool:
        nodes, whole = await told(bus)
        return bool(whole and whole.known and len(nodes) == 3 and whole.allocated == 3)

    words: list[NodeSeen] = []
    async with watching(server, bus):
        await until(known)
        before, _ = await told(bus)
        listening = asyncio.ensure_future(listen(bus, words))
        process = server.processes["kube-apiserver"]
        process.kill()
        await asyncio.sleep(OUTAGE)
        stale, whole = await told(bus)
        assert {each.freshness for each in stale.values()} == {"stale"}
        assert (numbers(stale), whole.known, whole.nodes) == (numbers(before), False, 3)
        process.start()
        await asyncio.to_thread(process.wait, server._ready["kube-apiserver"])
        await until(known)
        after, _ = await told(bus)
        assert {each.freshness for each in after.values()} == {"known"}
        listening.cancel()
        await asyncio.gather(listening, return_exceptions=True)
    assert numbers(after) == numbers(before)
    assert {each.node: [word.freshness for word in words if word.node == each.node] for each in words} == {
        name: ["known", "stale", "known"] for name in before
    }
    assert all(numbers({word.node: word}).items() <= numbers(before).items() for word in words)
    await bus.close()


async def listen(bus: MemoryBus, words: list[NodeSeen]) -> None:
    """Every word on a node: the last one first, then all that come."""
    async with aclosing(bus.feed("LEVELS", "inventory.nodes.>")) as feed:
        async for stored in feed:
            words += () if isinstance(stored, CaughtUp) else (msgspec.json.decode(stored.data, type=NodeSeen),)


def numbers(nodes: dict[str, NodeSeen]) -> dict[str, tuple[object, ...]]:
    """What must not differ, whatever happens to the API server."""
    amounts = {name: sorted((key, str(value)) for key, value in each.models.items()) for name, each in nodes.items()}
    return {name: (each.present, each.accelerators, str(amounts[name]), each.pods) for name, each in nodes.items()}
