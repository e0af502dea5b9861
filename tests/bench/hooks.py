"""Webhooks taken: the edge against a handler that publishes the same bytes and waits, each a process of its own."""

import asyncio
import json
import os
import sys
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from itertools import count
from pathlib import Path
from time import perf_counter

import yaml

from events.jetstream.server import NatsServer, free_port
from tests.bench.figure import Figure, Goal, of_pairs, quantile
from tests.services.edge.house import RUN, SECRET, github

SENDERS = 32
DELIVERIES = 4_000
PAIRS = 5
TAKEN = Goal("ratio", 0.6, at_least=True)
PATH = "/hooks/github/acme/ci"
NOBODY = {
    "current-context": "x",
    "contexts": [{"name": "x", "context": {"cluster": "x"}}],
    "clusters": [{"name": "x", "cluster": {"server": "http://127.0.0.1:9"}}],
}
"""No management cluster: what is measured is the way in."""


async def measure(folder: Path) -> list[Figure]:
    """Two figures: deliveries a second, and the 99th percentile of an answer in milliseconds."""
    numbers = count()
    async with NatsServer(folder / "nats") as server, edge(folder, server.url) as ours, bare(server.url) as theirs:
        taken = [(await load(ours, numbers), await load(theirs, numbers)) for _ in range(PAIRS + 1)][1:]
    rates = [(a[0], b[0]) for a, b in taken]
    slowest = [(a[1], b[1]) for a, b in taken]
    size = len(json.dumps(RUN))
    return [
        of_pairs(f"webhooks taken, {size} B, {SENDERS} senders", "1/s", rates, TAKEN),
        of_pairs("webhook to its 202, p99", "ms", slowest),
    ]


async def load(port: int, numbers: Iterator[int], path: str = PATH) -> tuple[float, float]:
    """Deliveries a second and the 99th percentile in milliseconds."""
    # Signed beforehand: a sender is not what is measured.
    waiting = iter([request(next(numbers), path) for _ in range(DELIVERIES)])
    times: list[float] = []
    began = perf_counter()
    async with asyncio.TaskGroup() as group:
        for _ in range(SENDERS):
            group.create_task(send(port, waiting, times))
    return DELIVERIES / (perf_counter() - began), quantile(times, 0.99) * 1000


def request(number: int, path: str) -> bytes:
    """One signed delivery, as it goes over the wire."""
    body = json.dumps(RUN | {"number": number}).encode()
    headers = github(body, delivery=f"d-{number}") | {"Host": "x", "Content-Length": str(len(body))}
    lines = "".join(f"{name}: {value}\r\n" for name, value in headers.items())
    return f"POST {path} HTTP/1.1\r\n{lines}\r\n".encode() + body


async def send(port: int, waiting: Iterator[bytes], times: list[float]) -> None:
    """One connection, one request after another."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    for each in waiting:
        began = perf_counter()
        writer.write(each)
        head = await reader.readuntil(b"\r\n\r\n")
        if b" 202 " not in head[:16]:
            raise RuntimeError(f"not taken: {head[:200]!r}")
        length = head.lower().partition(b"content-length: ")[2].partition(b"\r\n")[0]
        await reader.readexactly(int(length or 0))
        times.append(perf_counter() - began)
    writer.close()
    await writer.wait_closed()


@asynccontextmanager
async def edge(folder: Path, nats: str) -> AsyncIterator[int]:
    """The real service."""
    port = free_port()
    (folder / "kubeconfig").write_text(yaml.safe_dump(NOBODY))
    (folder / "hooks").mkdir()
    (folder / "hooks" / "github.acme.ci").write_text(SECRET)
    told = {
        "NATS_URL": nats,
        "KUBECONFIG": str(folder / "kubeconfig"),
        "EDGE_ADDRESS": f"127.0.0.1:{port}",
        "EDGE_SECRETS": str(folder / "hooks"),
        "EDGE_RATE": "1000000",
        "LOG_FORMAT": "json",
    }
    async with started(("services", "edge"), port, {f"ALATE_{name}": value for name, value in told.items()}):
        yield port


@asynccontextmanager
async def bare(nats: str) -> AsyncIterator[int]:
    """The reference."""
    port = free_port()
    async with started(("tests.bench.bare_hook", str(port), nats), port, {}):
        yield port


@asynccontextmanager
async def started(words: tuple[str, ...], port: int, env: dict[str, str]) -> AsyncIterator[None]:
    """A process, from when it answers."""
    nowhere = asyncio.subprocess.DEVNULL
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-m", *words, env=os.environ | env, stdout=nowhere, stderr=nowhere
    )
    try:
        await answers(port)
        yield
    finally:
        process.kill()
        await process.wait()


async def answers(port: int) -> None:
    """Wait until somebody listens. Raises TimeoutError."""
    async with asyncio.timeout(30):
        while True:
            try:
                _, writer = await asyncio.open_connection("127.0.0.1", port)
            except OSError:
                await asyncio.sleep(0.05)
            else:
                writer.close()
                return
