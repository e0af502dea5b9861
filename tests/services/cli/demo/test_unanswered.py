"""What nats-server has not had answered is read off its monitoring port."""

import asyncio

import pytest

from events.bus import Consumer, Message
from events.jetstream.bus import connect
from events.jetstream.server import NatsServer, config
from services.cli.demo.unanswered import unanswered
from services.errors import Failed
from services.local.probe import HOST, free_ports


@pytest.fixture
async def watched(tmp_path):
    """A nats-server with a monitoring port, and that port."""
    nats, monitor = free_ports(2)

    server = NatsServer(tmp_path, nats)
    original = config(nats, tmp_path / "jetstream")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("events.jetstream.server.config", lambda *_: f'{original}http: "{HOST}:{monitor}"\n')
        async with server:
            yield server, monitor


async def test_what_a_durable_consumer_has_not_answered_is_counted(watched):
    server, monitor = watched
    bus = await connect(server.url, name="test")
    consumer = Consumer("gateway-intake", "INTAKE", ("cluster.requested",))
    assert await bus.unanswered(consumer) == 0
    await bus.publish(Message("cluster.requested", b"{}"))

    async with asyncio.timeout(10):  # the server tells its consumers of a message after it has acknowledged that
        while await unanswered(monitor) != {"INTAKE/gateway-intake": 1}:
            pass
    await bus.close()


async def test_a_nats_server_that_is_away_is_one_clear_sentence():
    (nobody,) = free_ports(1)

    with pytest.raises(Failed, match=r"nats-server does not say at http://127\.0\.0\.1"):
        await unanswered(nobody)
