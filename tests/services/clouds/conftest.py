"""An API server in this process, with a way in that counts what it is asked."""

from collections.abc import AsyncIterator
from datetime import UTC, datetime
from itertools import count

import pytest

from events.kube.client import Kube, Request, Response
from events.kube.resources import COLONIES
from schemas.wish import Need, Wish
from services.sandbox.api.server.app import MANAGEMENT, Api
from services.sandbox.api.server.local import LocalTransport
from services.sandbox.api.store.journal import MemoryJournal
from services.sandbox.seeds.plant import seed
from tests.samples import POOL


class Counting:
    """Notes every request; answers instead of the server where it is told to."""

    def __init__(self, beyond: LocalTransport) -> None:
        self._beyond = beyond
        self.asked: list[str] = []
        self.answered: list[bytes] = []
        self.instead: dict[str, Response] = {}
        """By method."""

    async def send(self, request: Request) -> Response:
        self.asked.append(f"{request.method} {request.path.rpartition('/')[2]}")
        response = self.instead.get(request.method) or await self._beyond.send(request)
        self.answered.append(response.body)
        return response

    async def stream(self, request: Request) -> AsyncIterator[bytes | Response]:
        async for line in self._beyond.stream(request):
            yield line

    async def close(self) -> None:
        await self._beyond.close()


@pytest.fixture
async def server() -> AsyncIterator[Kube]:
    """A client of a management cluster with templates and kinds; its transport counts."""
    uids = count(1)
    api = Api(MemoryJournal(), lambda: datetime(2030, 1, 1, tzinfo=UTC), lambda: f"u-{next(uids)}")
    await api.start()
    counted = Counting(LocalTransport(api, MANAGEMENT))
    kube = Kube(counted, random=lambda: 0.5)
    await seed(kube)
    counted.asked.clear()
    yield kube
    await api.close()


@pytest.fixture
async def wish(server: Kube) -> Wish:
    """What a Colony asks for that is there: its objects have an owner."""
    colony = {
        "metadata": {"name": "train", "namespace": "default"},
        "spec": {"clusters": [{"name": "a", "pools": [{"accelerator": "H100", "acceleratorsPerNode": 8, "nodes": 2}]}]},
    }
    uid = (await server.create(COLONIES, colony))["metadata"]["uid"]
    return Wish(tenant="default", colony="train", cluster="a", uid=uid, generation=1, need=Need(pools=(POOL,)))
