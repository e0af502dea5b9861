"""One sandbox in this process, under virtual time: the API, its clouds, and somebody who watches everything."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import asynccontextmanager, suppress
from copy import deepcopy
from datetime import UTC, datetime, timedelta
from itertools import count
from string import Template

import pytest
import yaml

from events.kube.client import Changed, Kube, Object, Resource
from events.kube.discovery import find
from events.kube.resources import CLUSTERS, CONFIGMAPS, MACHINEDEPLOYMENTS, MACHINES, MACHINESETS, NAMESPACES
from services.sandbox.api.server.app import MANAGEMENT, Api
from services.sandbox.api.server.kubeconfig import kubeconfig
from services.sandbox.api.server.local import LocalTransport
from services.sandbox.api.store.journal import MemoryJournal
from services.sandbox.clouds.engine.manager import Clouds
from services.sandbox.clouds.engine.workload_manager import WorkloadSimulation
from services.sandbox.clouds.model.annotations import CONTROL_PLANE, CONTROLPLANES, DEVCLUSTERS
from services.sandbox.clouds.model.shapes import MachineShape
from services.sandbox.clouds.model.snapshot import SimulationRules
from services.sandbox.seeds.plant import seed

# Before 3.14 pytest-asyncio's look at "the loop before" makes one that nobody closes; None says there is none.
asyncio.set_event_loop(None)

EPOCH = datetime(2030, 1, 1, tzinfo=UTC)
ALIVE = (CLUSTERS, CONTROLPLANES, DEVCLUSTERS, MACHINEDEPLOYMENTS, MACHINESETS, MACHINES)
SHAPES = {"p5.48xlarge": MachineShape(192.0, 2048.0, "H100", 8)}
VALUES = {
    "NAMESPACE": "default", "KUBERNETES_VERSION": "v1.34.0", "REGION": "us-east-1", "ZONE": "use1-az1",
    "POOL": "md", "REPLICAS": "3", "INSTANCE_TYPE": "p5.48xlarge", "SPOT": "true", "NODE_LABELS": "alate.dev/pool=md",
    "NODE_TAINTS": "[]",
}  # fmt: skip
UID = "alate.dev/uid"


def clock() -> datetime:
    """The loop's own time, so that virtual time moves it."""
    return EPOCH + timedelta(seconds=asyncio.get_running_loop().time())


class LocalWorld:
    """Founded clusters in the same API, without sockets."""

    def __init__(self, api: Api) -> None:
        self._api = api

    async def found(self, place: str) -> str:
        await self._api.found(place)
        return kubeconfig("https://sandbox", place, "an authority")

    async def drop(self, place: str) -> None:
        if place in self._api.clusters:
            await self._api.drop(place)

    def kube(self, place: str) -> Kube:
        return Kube(LocalTransport(self._api, place), random=lambda: 0.5)


def sequences(seen: list[Object]) -> dict[str, list[list[str]]]:
    """Each condition's ways through its states, one for each object that went another way, by kind and type."""
    ways: dict[str, dict[str, list[str]]] = {}
    for each in seen:
        head = CONTROL_PLANE in each["metadata"].get("labels", {})
        kind = each["kind"] if each["kind"] != "Machine" else "Machine of the control plane" if head else "Machine"
        for one in each.get("status", {}).get("conditions", ()):
            way = ways.setdefault(f"{kind} {one['type']}", {}).setdefault(each["metadata"]["uid"], [])
            if way[-1:] != [f"{one['status']} {one['reason']}"]:
                way.append(f"{one['status']} {one['reason']}")
    return {key: sorted({tuple(way): list(way) for way in of.values()}.values()) for key, of in sorted(ways.items())}


def milestones(seen: list[Object]) -> list[str]:
    """What one object came to show, in its order."""
    shown: dict[str, str] = {}
    reached: list[str] = []
    for each in seen:
        status = each.get("status", {})
        now = {one["type"]: f"{one['status']} {one['reason']}" for one in status.get("conditions", ())}
        now |= dict.fromkeys(status.get("initialization", {}), "true")
        now |= {"phase": status["phase"]} if "phase" in status else {}
        reached += [f"{key}: {value}" for key, value in now.items() if shown.get(key) != value]
        shown |= now
    return reached


class Sandbox:
    """What a test holds in its hands."""

    def __init__(self, api: Api) -> None:
        self.api = api
        self.kube = Kube(LocalTransport(api, MANAGEMENT), random=lambda: 0.5)
        self.world = LocalWorld(api)
        self.laws = SimulationRules(shapes=SHAPES)
        self.seen: list[Object] = []
        """Every shape of every object that anybody watching could have seen."""

    def clouds(self) -> Clouds:
        return Clouds(self.kube, self.world, self.laws, clock)

    @asynccontextmanager
    async def running(self, *also: Awaitable[None]) -> AsyncIterator[None]:
        """The clouds, and what else is given, at work for as long as the block lasts."""
        tasks = [asyncio.ensure_future(one) for one in (self.clouds().run(), *also)]
        try:
            yield
        finally:
            for task in tasks:
                task.cancel()
            for task in tasks:
                with suppress(asyncio.CancelledError):
                    await task

    def inside(self) -> Awaitable[None]:
        """The insides of founded clusters."""
        workloads = WorkloadSimulation(self.world, self.api.holds, clock, 4.0)
        self.api.follow(workloads.changed)
        return workloads.run(place for place in self.api.clusters if place != MANAGEMENT)

    @asynccontextmanager
    async def watched(self) -> AsyncIterator[None]:
        async def follow(resource: Resource) -> None:
            async for sight in self.kube.watch(resource, "default"):
                if isinstance(sight, Changed) and not sight.gone:
                    self.seen.append(sight.object)

        tasks = [asyncio.create_task(follow(resource)) for resource in ALIVE]
        await asyncio.sleep(0.01)
        try:
            yield
        finally:
            for task in tasks:
                task.cancel()
            await asyncio.wait(tasks)

    async def apply(self, name: str, cloud: str = "aws", **values: str) -> None:
        """A cluster from the seeded template."""
        text = (await self.kube.get(CONFIGMAPS, f"alate-capi-{cloud}", "default"))["data"]["cluster.yaml"]
        filled = Template(text).substitute(VALUES | {"CLUSTER_NAME": name} | values)
        for document in yaml.safe_load_all(filled):
            if document["kind"] == "Cluster":
                document["metadata"]["labels"] = {UID: f"uid-of-{name}"}
            resource = await find(self.kube, document["apiVersion"], document["kind"])
            await self.kube.create(resource, document)

    async def scale(self, pool: str, replicas: int) -> None:
        await self.kube.patch(MACHINEDEPLOYMENTS, pool, "default", {"spec": {"replicas": replicas}})

    async def all(self, resource: Resource, namespace: str | None = "default") -> tuple[Object, ...]:
        return (await self.kube.list(resource, namespace)).items

    async def condition(self, resource: Resource, name: str, type_: str) -> tuple[str, str, str]:
        """Status, reason and message; empty while it is not there."""
        found = await self.kube.get(resource, name, "default")
        conditions = {one["type"]: one for one in found.get("status", {}).get("conditions", ())}
        one = conditions.get(type_, {})
        return one.get("status", ""), one.get("reason", ""), one.get("message", "")

    async def until(self, resource: Resource, name: str, type_: str, status: str = "True") -> None:
        """Wait, in virtual time, until a condition is so."""
        async with asyncio.timeout(120):
            while (await self.condition(resource, name, type_))[0] != status:  # noqa: ASYNC110 - virtual time
                await asyncio.sleep(0.05)

    async def gone(self, resource: Resource) -> None:
        """Wait, in virtual time, until none is left."""
        async with asyncio.timeout(120):
            while await self.all(resource):  # noqa: ASYNC110 - virtual time
                await asyncio.sleep(0.05)

    async def faults(self, text: str) -> None:
        """Ask for faults as a user would."""
        config = {"metadata": {"name": "sandbox-faults", "namespace": "kube-system"}, "data": {"faults.yaml": text}}
        await self.kube.apply(CONFIGMAPS, config, manager="test")


SEEDED: list[tuple[MemoryJournal, Iterator[int]]] = []
"""What an API with the seeds has stored, and the uids that are left: made once, each test starts from a copy."""


async def _seeded() -> tuple[MemoryJournal, Iterator[int]]:
    journal, uids = MemoryJournal(), count(1)
    api = Api(journal, lambda: EPOCH, lambda: f"00000000-0000-0000-0000-{next(uids):012d}")
    await api.start()
    try:
        kube = Kube(LocalTransport(api, MANAGEMENT), random=lambda: 0.5)
        await seed(kube)
        await kube.create(NAMESPACES, {"metadata": {"name": "acme"}})
    finally:
        await api.close()
    return journal, uids


@asynccontextmanager
async def running_sandbox() -> AsyncIterator[Sandbox]:
    """An API with the seeds, for as long as the block lasts."""
    if not SEEDED:
        SEEDED.append(await _seeded())
    journal, uids = deepcopy(SEEDED[0])
    api = Api(journal, clock, lambda: f"00000000-0000-0000-0000-{next(uids):012d}")
    await api.start()
    try:
        yield Sandbox(api)
    finally:
        await api.close()


@pytest.fixture
async def sandbox() -> AsyncIterator[Sandbox]:
    async with running_sandbox() as found:
        yield found


@pytest.fixture
def ways() -> Callable[[list[Object]], dict[str, list[list[str]]]]:
    return sequences


@pytest.fixture
def reached() -> Callable[[list[Object]], list[str]]:
    return milestones


@pytest.fixture
def now() -> Callable[[], datetime]:
    return clock
