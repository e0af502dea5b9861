"""A NATS of three servers: streams move there with one command, and go on when the server that leads them dies."""

import asyncio
import json
from contextlib import AsyncExitStack
from dataclasses import replace
from typing import Any

import msgspec
import pytest

from events.bus import Expect, Message, Unavailable
from events.errors import Denied
from events.jetstream.api import StreamInfo, call
from events.jetstream.bus import connect
from events.jetstream.server import HOST, NatsServer, free_port
from events.streams import STREAMS

SUBJECT = "cluster.ready.acme.train"
HISTORY = "cluster.*.acme.train"

pytestmark = pytest.mark.timeout(180)


@pytest.fixture
async def servers(tmp_path):
    ports = [free_port() for _ in range(3)]
    routes = ", ".join(json.dumps(f"nats://{HOST}:{port}") for port in ports)
    made = []
    for number, port in enumerate(ports):
        cluster = f"cluster {{ name: three, listen: {json.dumps(f'{HOST}:{port}')}, routes: [{routes}] }}\n"
        made.append(NatsServer(tmp_path / str(number), extra=f"server_name: s{number}\n{cluster}"))
    async with AsyncExitStack() as stack:
        for each in made:
            await stack.enter_async_context(each)
        yield {f"s{number}": each for number, each in enumerate(made)}


async def joined(servers, replicas):
    """Connects and makes the streams; a cluster that begins has no leader for a moment."""
    streams = [replace(spec, replicas=replicas) for spec in STREAMS]
    async with asyncio.timeout(60):
        while True:
            try:
                return await connect(",".join(each.url for each in servers.values()), name="three", streams=streams)
            except (Denied, Unavailable):
                await asyncio.sleep(0.1)


class ClusterInfo(StreamInfo, frozen=True):
    """With the servers that store the stream."""

    cluster: dict[str, Any] = msgspec.field(default_factory=dict)


async def info(bus, stream="EVENTS"):
    return await call(bus._wire, f"STREAM.INFO.{stream}", None, ClusterInfo)


async def published(bus, data, after):
    async with asyncio.timeout(60):
        while True:
            try:
                return await bus.publish(Message(SUBJECT, data), expect=Expect(HISTORY, after), msg_id=data.decode())
            except Unavailable:
                await asyncio.sleep(0.1)


async def leader_of_copies(bus):
    """The server that leads, once the two others have all that it has."""
    async with asyncio.timeout(60):
        while True:
            led = (await info(bus)).cluster
            copies = led.get("replicas", ())  # none are told while no server leads
            if led.get("leader") and len(copies) == 2 and all(each["current"] for each in copies):
                return led["leader"]
            await asyncio.sleep(0.1)


async def test_streams_of_one_server_move_to_three_and_outlive_their_leader(servers):
    bus = await joined(servers, 0)
    assert (await info(bus)).config["num_replicas"] == 1
    first = await published(bus, b"one", 0)
    await bus.close()

    bus = await joined(servers, 3)
    for spec in STREAMS:
        assert (await info(bus, spec.name)).config["num_replicas"] == 3, spec.name
    second = await published(bus, b"two", first)
    leader = await leader_of_copies(bus)
    await servers[leader].kill()
    third = await published(bus, b"three", second)
    assert [each.data for each in await bus.read("EVENTS", HISTORY)] == [b"one", b"two", b"three"]
    assert third > second > first
    await bus.close()


async def test_who_asks_for_no_number_leaves_the_streams_as_they_are(servers):
    await (await joined(servers, 3)).close()
    bus = await joined(servers, 0)
    assert (await info(bus)).config["num_replicas"] == 3
    await bus.close()
