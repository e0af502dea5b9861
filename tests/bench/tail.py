"""How many events a second `alate events tail -o json` keeps up with, against nats-py's own ordered consumer."""

import asyncio
import os
from contextlib import suppress
from pathlib import Path
from time import perf_counter

from nats.aio.client import Client

from events.bus import EPOCH
from events.jetstream.bus import connect
from events.jetstream.server import NatsServer
from services.cli.events.tail import BufferedOutput, tail
from services.eventlog.filters import Which
from tests.bench.figure import Figure, Goal, alternate, of_pairs
from tests.corpus import corpus

GOAL = Goal("ours", 20_000, at_least=True)
EVENTS = 60_000
PAIRS = 3
NOWHERE = Path(os.devnull).open("w")  # noqa: SIM115 - open as long as this process
ENTITIES = 2_000
"""Among which the events are spread."""


async def measure(folder: Path) -> list[Figure]:
    """One figure: events per second, written to nowhere."""
    async with NatsServer(folder / "nats") as server:
        await (await connect(server.url, name="bench")).close()
        await _fill(server.url)
        pairs = await alternate(lambda: _ours(server.url), lambda: _bare(server.url), PAIRS)
    return [of_pairs("alate events tail", "events/s", pairs, GOAL)]


async def _fill(url: str) -> None:
    """Events as a cluster's life has them, each some 1.5 KB."""
    ready = next(said.stored for said in corpus("0.1.0") if said.type.endswith("cluster.ready"))
    client = Client()
    await client.connect(url)
    for number in range(EVENTS):
        subject = f"cluster.ready.acme.n{number % ENTITIES}"
        await client.publish(subject, ready.data, headers={**ready.headers, "ce-id": f"n.{number}"})
    stream = client.jetstream()
    while (await stream.stream_info("EVENTS")).state.messages < EVENTS:  # asking takes a while, too
        await client.flush()
    await client.close()


async def _ours(url: str) -> float:
    bus = await connect(url, name="bench")
    over, left = asyncio.Event(), EVENTS

    def write(line: str) -> None:
        nonlocal left
        NOWHERE.write(line)
        left -= 1
        if not left:
            over.set()

    began = perf_counter()
    task = asyncio.create_task(tail(bus, Which(), EPOCH, form="json", out=BufferedOutput(write, NOWHERE.flush)))
    await over.wait()
    seconds = perf_counter() - began
    task.cancel()
    with suppress(asyncio.CancelledError):
        await task
    await bus.close()
    return EVENTS / seconds


async def _bare(url: str) -> float:
    client = Client()
    await client.connect(url)
    began = perf_counter()
    messages = await client.jetstream().subscribe("cluster.>", stream="EVENTS", ordered_consumer=True)
    for _ in range(EVENTS):
        await messages.next_msg(timeout=30)
    seconds = perf_counter() - began
    await client.close()
    return EVENTS / seconds
