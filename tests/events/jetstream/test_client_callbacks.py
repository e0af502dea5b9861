"""A callback receives what a subscription of nats-py delivers, in the same order, on the real server."""

import asyncio

import pytest

from events.jetstream.client import NatsClient


@pytest.fixture
async def client(nats_server):
    client = NatsClient()
    await client.connect(nats_server.url, reconnect_time_wait=0.05, error_cb=silent)
    yield client
    await client.close()


async def silent(error) -> None:
    """The server is taken away on purpose."""


def heard(msg) -> tuple[str, str, bytes, dict[str, str] | None]:
    return msg.subject, msg.reply, msg.data, msg.headers


async def test_a_callback_and_a_subscription_receive_the_same_messages(client):
    promptly, usually, all_came = [], [], asyncio.Event()

    def note(msg, where: list) -> None:
        where.append(heard(msg))
        if len(promptly) == len(usually) == 50:
            all_came.set()

    async def take(msg) -> None:
        note(msg, usually)

    await client.listen("a.*", lambda msg: note(msg, promptly))
    await client.subscribe("a.*", cb=take)
    for number in range(50):
        await client.publish(f"a.{number}", b"%d" % number, "back", {"n": str(number)} if number % 2 else None)
    async with asyncio.timeout(10):
        await all_came.wait()
    assert promptly == usually
    assert client.stats["in_msgs"] == 100


async def test_a_removed_callback_receives_nothing(client):
    promptly, came = [], asyncio.Event()
    subscription = await client.listen("a", lambda msg: promptly.append(msg.data))
    await client.listen("b", lambda _: came.set())
    await client.unlisten(subscription)
    for subject in ("a", "b"):
        await client.publish(subject)
    async with asyncio.timeout(10):
        await came.wait()
    assert promptly == []


async def test_a_callback_receives_messages_after_a_reconnect(client, nats_server):
    came = asyncio.Event()
    await client.listen("a", lambda _: came.set())
    await nats_server.kill()
    await nats_server.start()
    async with asyncio.timeout(10):
        while not came.is_set():
            if client.is_connected:
                await client.publish("a", b"again")
            await asyncio.sleep(0.02)
