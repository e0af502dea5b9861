"""Every row of the roles is held against all that its service does on the bus through a whole story."""

import asyncio
from collections.abc import AsyncGenerator
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from itertools import count

import pytest

from events.bus import Consumer, Message, Timer
from events.kube.client import Kube
from events.memory.bus import MemoryBus
from schemas.subjects import matcher
from services.compose import SERVICES, Ports
from services.roles import ROLES
from services.sandbox.api.server.app import MANAGEMENT, Api
from services.sandbox.api.server.local import LocalTransport
from services.sandbox.api.store.journal import MemoryJournal
from services.sandbox.seeds.plant import seed
from tests.deploy.story import Inside, Stage, play

EPOCH = datetime(2030, 1, 1, tzinfo=UTC)
BY_NAME = {role.name: role for role in ROLES}


class Recorder:
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

    async def publish(self, message: Message, **how: object) -> int:
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


class Noted(Stage):
    """Each service on a bus that notes what it does."""

    def ports(self, service: str) -> Ports:
        ports = super().ports(service)
        return replace(ports, context=replace(ports.context, bus=self.recorders[service]))


async def recorded() -> dict[str, Recorder]:
    """What each service did from the first Colony to nothing left."""
    uids = count(1)
    api = Api(MemoryJournal(), clock, lambda: f"00000000-0000-0000-0000-{next(uids):012d}")
    await api.start()
    try:
        admin, bus = Kube(LocalTransport(api, MANAGEMENT), random=lambda: 0.5), MemoryBus(clock=clock)
        await seed(admin)
        stage = Noted(admin, Inside(api), bus.again, clock, dict.fromkeys(SERVICES, admin))
        stage.recorders = {name: Recorder(bus.again()) for name in SERVICES}
        async with stage.running():
            await stage.services["edge"]._site.graph(None)  # somebody looks at the page: only then is it followed
            await play(stage)
    finally:
        await api.close()
    return stage.recorders


def clock() -> datetime:
    return EPOCH + timedelta(seconds=asyncio.get_running_loop().time())


@pytest.mark.looptime
async def test_every_row_has_all_that_its_service_does_and_hardly_more():
    for name, used in (await recorded()).items():
        role = BY_NAME[name]
        assert {s for s in used.said if not any(matcher((says,))(s) for says in role.says)} == set(), name
        assert {(one.stream, one.name) for one in used.worked} == {(one.stream, one.name) for one in role.works}, name
        assert used.streams == set(role.reads), name
        assert used.looked <= {*role.reads, *role.looks}, name
        assert used.purged <= set(role.forgets), name
