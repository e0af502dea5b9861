"""Whatever is sent to whichever endpoint, the answer is no fault of ours, and quotes no secret."""

import asyncio
import json
import re
import sys
from asyncio.subprocess import PIPE
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import quote

import pytest
from hypothesis import given, seed, settings
from hypothesis import strategies as st

from events.jetstream.server import NatsServer
from services.edge.webhooks.providers import PROVIDERS
from tests.fuzz.test_targets import INPUTS
from tests.services.edge.house import SECRET, WHSEC, bearer, github, standard
from tests.services.edge.page.page_server import TOKEN
from tests.services.edge.test_hostile import HEADERS, bodies
from tests.services.edge.test_senders import SENDS

FAIR = frozenset({200, 202, 204, 304, 400, 401, 403, 404, 405, 408, 409, 413, 415, 422, 429})
"""What an answer may be: never a redirect, never a fault, never an excuse."""
GROWTH = 64
"""MiB the edge may grow by, whatever comes: it is a process of its own, with the bus beyond it."""
BATCH = 2_000
"""Inputs of one run of hypothesis, which remembers much of each."""
PATIENCE = 30.0
"""Seconds for whatever the process of the edge is asked to do."""

pytestmark = [pytest.mark.timeout(3600), pytest.mark.stack]

Where = tuple[str, str]
"""Method and path of one endpoint."""


@dataclass
class Door:
    """Every endpoint of the edge, in a process of its own."""

    port: int
    routes: tuple[Where, ...]
    grown: int = 0
    """How many KiB its memory has grown by, once it is shut."""

    async def ask(self, request: bytes) -> bytes:
        """The whole answer."""
        reader, writer = await asyncio.open_connection("127.0.0.1", self.port)
        try:
            writer.write(request)
            async with asyncio.timeout(PATIENCE):
                return await reader.read()
        finally:
            writer.close()


@asynccontextmanager
async def door_process(folder: Path) -> AsyncIterator[Door]:
    """One for all inputs, on a bus of its own."""
    words = (sys.executable, "-m", "tests.fuzz.door", str(folder))
    async with NatsServer(folder / "nats") as server:
        process = await asyncio.create_subprocess_exec(*words, server.url, stdin=PIPE, stdout=PIPE)
        try:
            said = await heard(process)
            door = Door(said["port"], tuple((method, path) for method, path in said["routes"]))
            yield door
            process.stdin.close()
            door.grown = (await heard(process))["grown"]
        finally:
            if process.returncode is None:
                process.kill()
            await process.wait()


async def heard(process: asyncio.subprocess.Process) -> dict:
    """The next line it says."""
    async with asyncio.timeout(PATIENCE):
        return json.loads(await process.stdout.readline())


@contextmanager
def open_door(folder: Path) -> Iterator[tuple[asyncio.Runner, Door]]:
    """It, and the loop it is asked on."""
    with asyncio.Runner() as runner:
        process = door_process(folder)
        door = runner.run(process.__aenter__())
        try:
            yield runner, door
        finally:
            runner.run(process.__aexit__(*sys.exc_info()))


PARTS = st.sampled_from(["acme", "ci", "jo", "1", *PROVIDERS]) | st.text(max_size=12).map(lambda text: quote(text, ""))
TEMPLATE = re.compile(r"\{[^{}]*(?:\{[^{}]*\}[^{}]*)*\}")


@st.composite
def requests(draw: st.DrawFn, routes: tuple[Where, ...]) -> bytes:
    """To one endpoint: an honest body bent, well signed or not, with headers of others."""
    right, where = draw(st.sampled_from(routes))
    sent = draw(st.sampled_from(list(SENDS.values())))
    hook = where.startswith("/hooks") and draw(st.booleans())
    path = sent.path if hook else TEMPLATE.sub(lambda _: draw(PARTS), where)
    body = draw(bodies(sent.body)) if right == "POST" else b""
    prove = {"github": github, "standard": standard}.get(sent.provider, bearer)
    proof = prove(body) if hook else draw(st.sampled_from([{}, {"Authorization": f"Bearer {TOKEN}"}]))
    method = draw(st.sampled_from([right] * 8 + ["GET", "POST", "PUT", "HEAD", "OPTIONS"]))
    query = draw(st.just("") | st.text(max_size=12).map(lambda text: "?" + quote(text, "=&")))
    headers = {**sent.headers, **proof, **draw(HEADERS), "Host": "x", "Connection": "close"}
    headers["Content-Length"] = str(len(body))
    lines = "".join(f"{name}: {value}\r\n" for name, value in headers.items() if SECRET not in value or name in proof)
    return f"{method} {path}{query} HTTP/1.1\r\n{lines}\r\n".encode("utf-8", "replace") + body


def test_no_answer_is_a_fault_or_quotes_a_secret_and_memory_stays_bounded(tmp_path, record_property):
    with open_door(tmp_path) as (runner, door):
        for first in range(0, INPUTS, BATCH):
            ask_all(runner, door, first)
    record_property("grown", f"{door.grown // 1024} MiB")
    assert door.grown < GROWTH * 1024


def ask_all(runner: asyncio.Runner, door: Door, first: int) -> None:
    """One batch, with dice of its own."""

    @seed(first)
    @settings(max_examples=min(BATCH, INPUTS - first), deadline=None, database=None)
    @given(request=requests(door.routes))
    def holds(request: bytes) -> None:
        answer = runner.run(door.ask(request))
        assert int(answer[9:12]) in FAIR, (request, answer)
        assert not any(each.encode() in answer for each in (SECRET, WHSEC, TOKEN)), (request, answer)

    holds()
