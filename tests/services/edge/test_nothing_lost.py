"""Nothing lost, nothing twice: every delivery that was answered 202 is on the stream once, whatever was killed."""

import asyncio
import json
import os
import sys
from collections import Counter
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from pathlib import Path

import aiohttp
import pytest
import yaml

from events.bus import Bus
from events.cloudevents import decode
from events.jetstream.bus import connect
from events.jetstream.server import NatsServer, free_port
from tests.services.edge.house import RUN, SECRET, github

pytestmark = pytest.mark.stack

SENDERS = 64
TRIES = 200
NOBODY = {
    "current-context": "x",
    "contexts": [{"name": "x", "context": {"cluster": "x"}}],
    "clusters": [{"name": "x", "cluster": {"server": "http://127.0.0.1:9"}}],
}
"""A management cluster that is not there: the door is open all the same."""


class EdgeProcess:
    """The real service, killed and started again at the same address."""

    def __init__(self, folder: Path, nats: str) -> None:
        self.port = free_port()
        self._folder = folder
        (folder / "kubeconfig").write_text(yaml.safe_dump(NOBODY))
        (folder / "hooks").mkdir()
        (folder / "hooks" / "github.acme.ci").write_text(SECRET)
        self._env = os.environ | {
            "ALATE_NATS_URL": nats,
            "ALATE_KUBECONFIG": str(folder / "kubeconfig"),
            "ALATE_EDGE_ADDRESS": f"127.0.0.1:{self.port}",
            "ALATE_EDGE_SECRETS": str(folder / "hooks"),
            "ALATE_EDGE_RATE": "100000",
            "ALATE_LOG_FORMAT": "json",
        }

    async def start(self) -> None:
        with (self._folder / "edge.log").open("ab") as log:
            self._process = await asyncio.create_subprocess_exec(
                sys.executable, "-m", "services", "edge", env=self._env, stdout=log, stderr=log
            )

    async def kill(self) -> None:
        self._process.kill()
        await self._process.wait()


@asynccontextmanager
async def running(folder: Path) -> AsyncIterator[tuple[NatsServer, EdgeProcess]]:
    async with NatsServer(folder / "nats") as server:
        edge = EdgeProcess(folder, server.url)
        await edge.start()
        try:
            yield server, edge
        finally:
            await edge.kill()


class Senders:
    """Send deliveries until each is answered 202, and every third of them once more."""

    def __init__(self, port: int, total: int) -> None:
        self.answers: Counter[int] = Counter()
        """By status; 0: the connection broke."""
        self.accepted: set[str] = set()
        self.moved = asyncio.Event()
        self._url = f"http://127.0.0.1:{port}/hooks/github/acme/ci"
        self._left = iter(range(total))

    async def run(self) -> None:
        timeout = aiohttp.ClientTimeout(total=10)
        async with aiohttp.ClientSession(timeout=timeout) as session, asyncio.TaskGroup() as group:
            for _ in range(SENDERS):
                group.create_task(self._send_all(session, self._left))

    async def _send_all(self, session: aiohttp.ClientSession, left: Iterator[int]) -> None:
        for number in left:
            for _ in range(2 if number % 3 == 0 else 1):
                await self._insist(session, f"d-{number}", json.dumps(RUN | {"number": number}).encode())

    async def _insist(self, session: aiohttp.ClientSession, name: str, body: bytes) -> None:
        for _ in range(TRIES):
            status = await self._send(session, github(body, delivery=name), body)
            self.answers[status] += 1
            if status == 202:
                self.accepted.add(name)
                self.moved.set()
                return
            await asyncio.sleep(0.1)

    async def _send(self, session: aiohttp.ClientSession, headers: dict[str, str], body: bytes) -> int:
        try:
            async with session.post(self._url, data=body, headers=headers) as got:
                return got.status
        except (aiohttp.ClientError, TimeoutError):
            return 0

    async def reached(self, count: int) -> None:
        while len(self.accepted) < count:
            self.moved.clear()
            await self.moved.wait()


async def trouble(senders: Senders, server: NatsServer, edge: EdgeProcess, total: int) -> None:
    """The bus is killed three times, the edge twice, in between."""
    victims: tuple[NatsServer | EdgeProcess, ...] = (server, edge, server, edge, server)
    for step, victim in enumerate(victims, 1):
        await senders.reached(step * total // 6)
        await victim.kill()
        await victim.start()


async def kept(bus: Bus) -> Counter[str]:
    """How often each delivery is on the stream."""
    return Counter(decode(each.headers, each.data).id for each in await bus.read("HOOKS", "hook.>"))


@pytest.mark.parametrize(
    "total",
    [
        pytest.param(500, marks=pytest.mark.timeout(120)),
        pytest.param(10_000, marks=[pytest.mark.faults, pytest.mark.timeout(600)]),
    ],
)
async def test_every_delivery_that_was_answered_202_is_on_the_stream_once(tmp_path, total, record_property):
    async with running(tmp_path) as (server, edge):
        senders = Senders(edge.port, total)
        async with asyncio.TaskGroup() as group:
            group.create_task(senders.run())
            group.create_task(trouble(senders, server, edge, total))
        bus = await connect(server.url, name="test")
        found = await kept(bus)
        await bus.close()
    record_property("answers", dict(senders.answers))
    assert len(senders.accepted) == total
    assert found == Counter(dict.fromkeys(senders.accepted, 1))
    assert set(senders.answers) <= {0, 202, 503}
    assert SECRET not in (tmp_path / "edge.log").read_text()
