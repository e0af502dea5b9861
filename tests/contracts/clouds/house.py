"""The whole house over one back end: every service that founds and ends clusters, and the simulated clouds beneath."""

import asyncio
import os
from base64 import b64decode, b64encode
from collections.abc import AsyncIterator, Callable, Coroutine, Iterable
from contextlib import aclosing, asynccontextmanager
from dataclasses import replace
from itertools import groupby
from typing import Any

import msgspec

from events.bus import Message, Stored
from events.errors import NotFound, TryLater
from events.kube.client import Kube, Object, Request, Resource, Response, Transport
from events.kube.kubeconfig import chosen, parsed
from events.kube.resources import CLUSTERCLASSES, COLONIES, SECRETS
from events.memory.bus import MemoryBus
from events.meters import Meters
from schemas.cluster import LIFECYCLE, ClusterState
from schemas.inventory import Offer, Offers
from schemas.registry import declared
from schemas.subjects import Key
from services.clouds.port import backends
from services.compose import SERVICES, Ports
from services.runtime.context import Context
from services.sandbox.clouds.model.billing import Billed, machines_ever
from services.sandbox.seeds.plant import plant
from tests.samples import cluster_class
from tests.services.sandbox.clouds.conftest import Sandbox, clock

WORK = ("gateway", "inventory", "provisioning", "addons", "teardown")
KINDS: dict[str, Any] = {declared(kind).event: kind for kind in LIFECYCLE.states}
FIRST = "default/train-gpu-1"
"""The cluster's first try, as faults name it."""
INSTANCE = "p5.48xlarge"
REGIONS = {"r1": 10.0, "r2": 20.0, "r3": 30.0}
"""Where the machine is offered, and for how much: the cheapest first."""
SECOND = 1.0
LONG = 7200.0
EVERY_STEP = "ALATE_TEST_EVERY_STEP" in os.environ
"""Every write of a simulated controller is one of its own, as with the real ones: `make test-slow` has it so."""


class Gate:
    """The way to the API server; while it is shut, nobody answers and every watch breaks."""

    def __init__(self, beyond: Transport) -> None:
        self._beyond = beyond
        self._open = asyncio.Event()
        self._shut = asyncio.Event()
        self.closed = False
        self.turn(open_=True)

    def turn(self, *, open_: bool) -> None:
        (self._open.set if open_ else self._open.clear)()
        (self._shut.clear if open_ else self._shut.set)()

    async def send(self, request: Request) -> Response:
        if not self._open.is_set():
            raise TryLater("the API server is away")
        return await self._beyond.send(request)

    async def stream(self, request: Request) -> AsyncIterator[bytes | Response]:
        async with aclosing(self._beyond.stream(request)) as lines:
            while self._open.is_set() and (line := await self._next(lines)) is not None:
                yield line
        if not self._open.is_set():
            raise TryLater("the API server is away")

    async def _next(self, lines: AsyncIterator[bytes | Response]) -> bytes | Response | None:
        """The next line; None at the end, and once the gate is shut."""
        line, shut = asyncio.ensure_future(anext(lines, None)), asyncio.ensure_future(self._shut.wait())
        try:
            await asyncio.wait((line, shut), return_when=asyncio.FIRST_COMPLETED)
        finally:
            for task in (line, shut):
                task.cancel()
            await asyncio.wait((line, shut))
        return None if line.cancelled() else line.result()

    async def close(self) -> None:
        self.closed = True
        await self._beyond.close()


class House:
    """What a scenario holds in its hands: a management cluster, a market, and all our services over one back end."""

    def __init__(self, sandbox: Sandbox, backend: str, *, of_a_class: bool = False) -> None:
        self.sandbox, self.backend, self.of_a_class = sandbox, backend, of_a_class
        sandbox.laws = replace(sandbox.laws, every_step=EVERY_STEP)
        self.kube = sandbox.kube
        """A person's way in, which is never shut."""
        self.gate = Gate(sandbox.kube.transport)
        self.bus = MemoryBus(clock=clock)
        self._ours = Kube(self.gate, random=lambda: 0.5)
        self._insides: dict[str, Gate] = {}
        """The ways into founded clusters, by kubeconfig."""
        self.ways: list[Gate] = []
        """Every way into a founded cluster that a service ever opened."""
        self.ports = Ports(
            context=Context(self.bus, clock, lambda: 0.5, Meters()),
            management=self._ours,
            open_cluster=self._inside,
            clouds=backends(self._ours),
            sources=(),
            backend=backend,
        )

    def show_every_step(self) -> None:
        """Let every write of a simulated controller be one of its own, for who looks at their order."""
        self.sandbox.laws = replace(self.sandbox.laws, every_step=True)

    async def _inside(self, kubeconfig: str) -> Kube:
        place = chosen(parsed(kubeconfig, "it"), "it").cluster["server"].rpartition("/")[2]
        gate = self._insides[kubeconfig] = Gate(self.sandbox.world.kube(place).transport)
        self.ways.append(gate)
        return Kube(gate, random=lambda: 0.5)

    @asynccontextmanager
    async def at_work(self, *more: Coroutine[Any, Any, None]) -> AsyncIterator[None]:
        """Services, clouds and whatever else run as long as the block lasts; whoever ends of itself ends the test."""
        for region, price in REGIONS.items():
            await self.offer(region, price)
        if self.of_a_class:
            await self.plant(CLUSTERCLASSES, cluster_class())
        async with self.sandbox.running(*(SERVICES[name](self.ports).run() for name in WORK), *more):
            yield

    async def offer(
        self, region: str, price: float, cloud: str = "aws", *, limit: int | None = None, spot: float | None = None,
        zones: int = 1,
    ) -> None:  # fmt: skip
        """From now on the region offers the machine, in so many zones: in each a little dearer than in the last."""
        offers = tuple(
            Offer(
                cloud=cloud, region=region, zone=f"{region}-z{zone}", instance=INSTANCE, accelerator="H100",
                accelerators=8, cpu=192.0, memory_gib=2048.0, price=price + zone - 1, limit=limit, spot_price=spot,
            )
            for zone in range(1, zones + 1)
        )  # fmt: skip
        said = Offers(cloud=cloud, region=region, offers=offers)
        await self.bus.publish(Message(declared(Offers).at(cloud, region), msgspec.json.encode(said)))

    async def plant(self, resource: Resource, seed: Object) -> None:
        """Somebody puts something into the namespace."""
        await plant(self.kube, [(resource, seed | {"metadata": seed["metadata"] | {"namespace": "default"}})])

    async def ask(self, nodes: int = 1, name: str = "train", labels: dict[str, str] | None = None, **more: Any) -> None:
        """Somebody wants a cluster named ``gpu``, its nodes with labels."""
        pool = {"name": "md", "accelerator": "H100", "acceleratorsPerNode": 8, "nodes": nodes, "spot": "never"}
        pool |= {"labels": labels or {}}
        cluster = {"name": "gpu", "pools": [pool], "backend": self.backend} | more
        meta = {"name": name, "namespace": "default"}
        await self.kube.create(COLONIES, {"metadata": meta, "spec": {"clusters": [cluster]}}, manager="person")

    async def let_go(self, name: str = "train") -> None:
        await self.kube.delete(COLONIES, name, "default")

    async def force_away(self, name: str) -> None:
        """Somebody deletes the Colony, and waits for nobody."""
        await self.let_go(name)
        await self.kube.patch(COLONIES, name, "default", {"metadata": {"finalizers": []}}, manager="person")

    async def delete_by_hand(self, name: str) -> None:
        await self.kube.delete(self._watched, name, "default")

    async def edit_by_hand(self, name: str, patch: Object) -> None:
        await self.kube.patch(self._watched, name, "default", patch, manager="person")

    async def rotate(self, secret: str, *, refused: bool = True) -> None:
        """A cluster gets another kubeconfig; the one before is good for nothing any more, if it is `refused`."""
        old = await self._held(secret)
        value = b64encode(old.replace("token: ", "token: another-").encode()).decode()
        await self.kube.patch(SECRETS, secret, "default", {"data": {"value": value}}, manager="person")
        self._insides[old].turn(open_=not refused)

    async def shut(self, secret: str) -> None:
        """Nobody answers where a Secret's kubeconfig leads, until somebody opens it anew."""
        self._insides[await self._held(secret)].turn(open_=False)

    async def _held(self, secret: str) -> str:
        return b64decode((await self.kube.get(SECRETS, secret, "default"))["data"]["value"]).decode()

    async def shown(self, name: str = "train") -> Object:
        """What the Colony's status says of the cluster."""
        return (await self.kube.get(COLONIES, name, "default"))["status"]["clusters"][0]

    async def said(self) -> int:
        """How much was ever said of any entity."""
        return len(await self.bus.read("EVENTS", ">"))

    async def state(self, name: str = "train") -> ClusterState | None:
        stored = await self.bus.last("EVENTS", Key("cluster", "default", f"{name}-gpu").history)
        return _decoded(stored) if stored else None

    async def states(self) -> list[ClusterState]:
        """All that was said of it."""
        return [
            _decoded(each) for each in await self.bus.read("EVENTS", Key("cluster", "default", "train-gpu").history)
        ]

    async def life(self) -> list[str]:
        """The names of its states; one that only says more of itself is not told twice."""
        return [name for name, _ in groupby(type(state).__name__ for state in await self.states())]

    async def until(
        self, kind: type[ClusterState], holds: Callable[[Any], bool] = lambda _: True, name: str = "train"
    ) -> Any:
        """Wait until the Colony's cluster is so; gives its state."""
        async with asyncio.timeout(LONG):
            while not isinstance(state := await self.state(name), kind) or not holds(state):  # noqa: ASYNC110 - virtual time
                await asyncio.sleep(SECOND)
        return state

    async def gone(self, name: str = "train") -> None:
        """Wait until the Colony is not there any more."""
        async with asyncio.timeout(LONG):
            while await self._there(COLONIES, name):  # noqa: ASYNC110 - virtual time
                await asyncio.sleep(SECOND)

    async def _there(self, resource: Resource, name: str) -> bool:
        try:
            await self.kube.get(resource, name, "default")
        except NotFound:
            return False
        return True

    async def paid(self) -> list[Billed]:
        """Machines that cost money now."""
        return [line for line in await machines_ever(self.kube) if line.end is None]

    async def objects(self) -> tuple[str, ...]:
        """The names of the back end's objects."""
        return tuple(sorted(each["metadata"]["name"] for each in await self.sandbox.all(self._watched)))

    @property
    def _watched(self) -> Resource:
        return self.ports.clouds[self.backend].watched

    async def faults(self, *lines: str) -> None:
        """What goes wrong from now on."""
        await self.sandbox.faults("\n".join(lines))


def _decoded(stored: Stored) -> ClusterState:
    state: ClusterState = msgspec.json.decode(stored.data, type=KINDS[stored.subject.split(".")[1]])
    return state


def full(regions: Iterable[str]) -> str:
    """A fault: no machine is left in these regions."""
    return f"stockouts: [{', '.join(f'{{cloud: aws, region: {region}}}' for region in regions)}]"
