"""Whatever is sent to whichever endpoint, the answer is no fault of ours, and quotes no secret."""

import asyncio
import re
import resource
from collections.abc import Iterator
from contextlib import AsyncExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import quote

import pytest
from hypothesis import given, seed, settings
from hypothesis import strategies as st

from events.memory import MemoryBus
from events.telemetry import Meters
from services.edge.callers import Callers
from services.edge.door import Route, opened
from services.edge.hooks import Hooks
from services.edge.inventory import Questions
from services.edge.limit import Rate
from services.edge.page.site import Site
from services.edge.page.visitors import Visitors
from services.edge.providers import PROVIDERS
from services.edge.secrets import Secrets
from services.roles import SERVICES
from tests.fuzz.test_targets import INPUTS
from tests.services.edge.house import NOW, SECRET, WHSEC, bearer, github, standard
from tests.services.edge.page.hall import TOKEN
from tests.services.edge.test_hostile import HEADERS, bodies
from tests.services.edge.test_senders import SENDS

FAIR = frozenset({200, 202, 204, 304, 400, 401, 403, 404, 405, 408, 409, 413, 415, 422, 429})
"""What an answer may be: never a redirect, never a fault, never an excuse."""
GROWTH = 300
"""MiB the process may grow by, whatever comes: not the edge alone, but senders, dice and a bus in memory as well."""
BATCH = 2_000
"""Inputs between two breaths."""

pytestmark = pytest.mark.timeout(3600)


@dataclass
class Door:
    """Every endpoint of the edge, on an empty bus."""

    folder: Path
    bus: MemoryBus = field(default_factory=MemoryBus)
    stack: AsyncExitStack = field(default_factory=AsyncExitStack)
    port: int = 0

    def routes(self) -> tuple[Route, ...]:
        for name in (*(f"{provider}.acme.ci" for provider in PROVIDERS), "operator.jo"):
            (self.folder / name).write_text(f"{TOKEN}\n" if name.startswith("operator") else f"{SECRET}\n{WHSEC}\n")
        bus, secrets = self.bus, Secrets(self.folder)
        hooks = Hooks(bus, secrets, Rate(1e6, 10**6), clock=lambda: NOW, meters=Meters())
        visitors = Visitors(Callers(secrets), clock=lambda: NOW, is_open=True)
        self.site = Site(bus, visitors, SERVICES, clock=lambda: NOW, jitter=lambda: 0.0)
        routes = (*hooks.routes(), *Questions(bus, Callers(secrets)).routes(), *self.site.routes())
        return tuple(route for route in routes if not route.lasts)

    async def open(self, routes: tuple[Route, ...]) -> None:
        url = await self.stack.enter_async_context(opened("127.0.0.1:0", routes))
        self.port = int(url.rpartition(":")[2])
        following = asyncio.ensure_future(self.site.run())
        self.stack.callback(following.cancel)
        await asyncio.sleep(0.1)  # the fleet is read

    async def forget(self) -> None:
        """Drop what was taken."""
        await self.bus.purge("HOOKS", ">")

    async def ask(self, request: bytes) -> bytes:
        """The whole answer."""
        reader, writer = await asyncio.open_connection("127.0.0.1", self.port)
        try:
            writer.write(request)
            async with asyncio.timeout(10):
                return await reader.read()
        finally:
            writer.close()


@contextmanager
def open_door(folder: Path) -> Iterator[tuple[asyncio.Runner, Door, tuple[Route, ...]]]:
    """One for all inputs, and the loop it is open on."""
    door = Door(folder)
    routes = door.routes()
    with asyncio.Runner() as runner:
        runner.run(door.open(routes))
        try:
            yield runner, door, routes
        finally:
            runner.run(door.stack.aclose())


PARTS = st.sampled_from(["acme", "ci", "jo", "1", *PROVIDERS]) | st.text(max_size=12).map(lambda text: quote(text, ""))
TEMPLATE = re.compile(r"\{[^{}]*(?:\{[^{}]*\}[^{}]*)*\}")


@st.composite
def requests(draw: st.DrawFn, routes: tuple[Route, ...]) -> bytes:
    """To one endpoint: an honest body bent, well signed or not, with headers of others."""
    route = draw(st.sampled_from(routes))
    sent = draw(st.sampled_from(list(SENDS.values())))
    hook = route.path.startswith("/hooks") and draw(st.booleans())
    path = sent.path if hook else TEMPLATE.sub(lambda _: draw(PARTS), route.path)
    body = draw(bodies(sent.body)) if route.method == "POST" else b""
    prove = {"github": github, "standard": standard}.get(sent.provider, bearer)
    proof = prove(body) if hook else draw(st.sampled_from([{}, {"Authorization": f"Bearer {TOKEN}"}]))
    method = draw(st.sampled_from([route.method] * 8 + ["GET", "POST", "PUT", "HEAD", "OPTIONS"]))
    query = draw(st.just("") | st.text(max_size=12).map(lambda text: "?" + quote(text, "=&")))
    headers = {**sent.headers, **proof, **draw(HEADERS), "Host": "x", "Connection": "close"}
    headers["Content-Length"] = str(len(body))
    lines = "".join(f"{name}: {value}\r\n" for name, value in headers.items() if SECRET not in value or name in proof)
    return f"{method} {path}{query} HTTP/1.1\r\n{lines}\r\n".encode("utf-8", "replace") + body


def test_no_answer_is_a_fault_or_quotes_a_secret_and_memory_stays_bounded(tmp_path):
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    with open_door(tmp_path) as (runner, door, routes):
        for first in range(0, INPUTS, BATCH):
            # What hypothesis remembers of a test, and the bus of what it took, grows with both: neither is the edge's.
            ask_all(runner, door, routes, first)
            runner.run(door.forget())
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < GROWTH * 1024


def ask_all(runner: asyncio.Runner, door: Door, routes: tuple[Route, ...], first: int) -> None:
    """One batch, with dice of its own."""

    @seed(first)
    @settings(max_examples=min(BATCH, INPUTS - first), deadline=None, database=None)
    @given(request=requests(routes))
    def holds(request: bytes) -> None:
        answer = runner.run(door.ask(request))
        assert int(answer[9:12]) in FAIR, (request, answer)
        assert not any(each.encode() in answer for each in (SECRET, WHSEC, TOKEN)), (request, answer)

    holds()
