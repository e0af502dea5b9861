"""What every service does in Kubernetes and on the bus through one whole story, which is played once."""

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator, Mapping
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from itertools import count
from typing import Any

from events.bus import Consumer, Message, Timer
from events.kube.client import Kube, Request, Response
from events.kube.resources import STORAGECLASSES
from events.memory.bus import MemoryBus
from schemas.member import ServiceMember
from services.compose import SERVICES, Ports
from services.inventory.read.object_types import CAPACITIES, CLAIMS, SLICES, VOLUMES
from services.sandbox.api.server.app import MANAGEMENT, Api
from services.sandbox.api.server.local import LocalTransport
from services.sandbox.api.store.journal import MemoryJournal
from services.sandbox.seeds.plant import seed
from tests.deploy.rights import Right, of_request
from tests.deploy.story import Inside, Stage, play

EPOCH = datetime(2030, 1, 1, tzinfo=UTC)
REPLICA = ServiceMember(host="here", version="0", since=EPOCH)
POOL = {"name": "p", "generation": 1, "resourceSliceCount": 1}
FURNITURE = (
    (STORAGECLASSES, {"metadata": {"name": "x"}, "provisioner": "p"}),
    (VOLUMES, {"metadata": {"name": "x"}, "spec": {}}),
    (CAPACITIES, {"metadata": {"name": "x", "namespace": "default"}, "storageClassName": "x"}),
    (SLICES, {"metadata": {"name": "x"}, "spec": {"driver": "d", "nodeName": "n", "pool": POOL}}),
    (CLAIMS, {"metadata": {"name": "x", "namespace": "default"}, "spec": {}}),
)
"""One of each kind that is watched only where there is some of it."""


class RecordingTransport:
    """A transport that notes what an API server would have asked RBAC."""

    def __init__(self, inner: LocalTransport) -> None:
        self._inner = inner
        self.used: set[Right] = set()

    async def send(self, request: Request) -> Response:
        response = await self._inner.send(request)
        self.used |= of_request(request, response)
        return response

    async def stream(self, request: Request) -> AsyncIterator[bytes | Response]:
        self.used |= of_request(request, None)
        async for item in self._inner.stream(request):
            yield item

    async def close(self) -> None:
        await self._inner.close()


class RecordingBus:
    """A bus that notes what would need a right; all else is the bus's own."""

    def __init__(self, inner: MemoryBus) -> None:
        self._inner = inner
        self.said: set[str] = set()
        self.streams: set[str] = set()
        self.looked: set[str] = set()
        self.purged: set[str] = set()
        self.worked: set[Consumer] = set()

    def __getattr__(self, name: str) -> object:
        return getattr(self._inner, name)

    async def publish(self, message: Message, **how: Any) -> int:
        self.said.add(message.subject)
        return await self._inner.publish(message, **how)

    async def wake(self, timer: Timer) -> None:
        self.said.add(timer.subject)
        await self._inner.wake(timer)

    async def purge(self, stream: str, which: str) -> int:
        self.purged.add(stream)
        return await self._inner.purge(stream, which)

    async def last(self, stream: str, which: str) -> object:
        self.looked.add(stream)
        return await self._inner.last(stream, which)

    async def count(self, stream: str, which: str) -> int:
        self.looked.add(stream)
        return await self._inner.count(stream, which)

    async def read(self, stream: str, which: str) -> object:
        self.streams.add(stream)
        return await self._inner.read(stream, which)

    def feed(self, stream: str, *filters: str) -> AsyncGenerator:
        self.streams.add(stream)
        return self._inner.feed(stream, *filters)

    def follow(self, stream: str, *filters: str, since: datetime | None = None) -> AsyncGenerator:
        self.streams.add(stream)
        return self._inner.follow(stream, *filters, since=since)

    def consume(self, consumer: Consumer) -> AsyncGenerator:
        self.worked.add(consumer)
        return self._inner.consume(consumer)


@dataclass(frozen=True)
class Used:
    """What one service did from the first Colony to nothing left."""

    rights: set[Right]
    bus: RecordingBus


class Noted(Stage):
    """Each service on a bus that notes what it does."""

    recorders: Mapping[str, RecordingBus]

    def ports(self, service: str) -> Ports:
        ports = super().ports(service)
        return replace(ports, context=replace(ports.context, bus=self.recorders[service]), replica=("one", REPLICA))


PLAYED: dict[str, Used] = {}


async def recorded() -> dict[str, Used]:
    """What each service did; the story is played for the first who asks."""
    if not PLAYED:
        PLAYED.update(await _played())
    return PLAYED


async def _played() -> dict[str, Used]:
    uids = count(1)
    api = Api(MemoryJournal(), clock, lambda: f"00000000-0000-0000-0000-{next(uids):012d}")
    await api.start()
    try:
        transports = {name: RecordingTransport(LocalTransport(api, MANAGEMENT)) for name in SERVICES}
        kubes = {name: Kube(transport, random=lambda: 0.5) for name, transport in transports.items()}
        admin, bus = Kube(LocalTransport(api, MANAGEMENT), random=lambda: 0.5), MemoryBus(clock=clock)
        await seed(admin)
        for resource, one in FURNITURE:
            await admin.create(resource, one)
        stage = Noted(admin, Inside(api), bus.again, clock, kubes)
        stage.recorders = {name: RecordingBus(bus.again()) for name in SERVICES}
        async with stage.running():
            await stage.site.graph(None)  # somebody looks at the page: only then is it followed
            await play(stage)
    finally:
        await api.close()
    return {name: Used(transports[name].used, stage.recorders[name]) for name in SERVICES}


def clock() -> datetime:
    return EPOCH + timedelta(seconds=asyncio.get_running_loop().time())
