"""A desk is found by NATS' own service protocol, and outlives its server."""

import asyncio
import json

import pytest

from events.bus import Unavailable
from events.jetstream.bus import connect
from events.rpc import Endpoint, RpcService


async def answer(data: bytes) -> bytes:
    return data


DESK = RpcService("alate-test", "1.0.0", "For a test.", (Endpoint("echo", "ask.test.echo", answer),))


@pytest.fixture
async def bus(nats_server):
    bus = await connect(nats_server.url, name="desk")
    task = asyncio.ensure_future(bus.answer(DESK))
    await answered(bus)
    yield bus
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)
    await bus.close()


async def answered(bus) -> None:
    async with asyncio.timeout(30):
        while True:
            try:
                await bus.ask("ask.test.echo")
            except Unavailable:
                await asyncio.sleep(0.05)
            else:
                return


async def test_a_desk_is_found_by_ping_told_by_info_and_counted_by_stats(bus):
    await bus.ask("ask.test.echo", b"one more")
    ping = json.loads(await bus.ask("$SRV.PING"))
    info = json.loads(await bus.ask("$SRV.INFO.alate-test"))
    stats = json.loads(await bus.ask("$SRV.STATS.alate-test"))
    assert (ping["name"], ping["version"]) == ("alate-test", "1.0.0")
    assert info["description"] == "For a test."
    assert [(each["name"], each["subject"]) for each in info["endpoints"]] == [("echo", "ask.test.echo")]
    assert stats["endpoints"][0]["num_requests"] >= 2


async def test_a_desk_is_there_again_when_the_server_is(bus, nats_server):
    await nats_server.kill()
    with pytest.raises(Unavailable):
        await bus.ask("ask.test.echo")
    await nats_server.start()
    await answered(bus)
    assert await bus.ask("ask.test.echo", b"so") == b"so"
