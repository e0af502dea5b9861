"""A key is rotated while clients stay connected or reconnect by themselves."""

import asyncio
import os
import signal

import pytest

from events.bus import Message
from events.jetstream.accounts import new_seed, public_key
from events.jetstream.bus import connect
from events.jetstream.credentials import NkeyCredentials
from events.jetstream.server import NatsServer

ASKED = Message("cluster.requested", b"{}")


def known(*seeds: str) -> str:
    users = ", ".join(f"{{nkey: {public_key(each)}}}" for each in seeds)
    return f"authorization {{ users: [{users}] }}\n"


class House:
    """A server that knows some keys, and somebody who shows the one in a file."""

    def __init__(self, folder) -> None:
        self.old, self.new = new_seed(), new_seed()
        self.file = folder / "key.nk"
        self.file.write_text(self.old)
        self.server = NatsServer(folder / "nats", extra=known(self.old))

    def knows(self, *seeds: str) -> None:
        """The server's configuration is changed and read anew."""
        config = self.server.folder / "nats-server.conf"
        config.write_text(config.read_text().partition("authorization")[0] + known(*seeds))
        os.kill(self.server.pid, signal.SIGHUP)

    async def shows(self, bus, key: str) -> None:
        """Wait until the connection is made with a key."""
        client = bus._wire.client
        async with asyncio.timeout(20):
            while not (client.is_connected and client._public_nkey == public_key(key)):  # noqa: ASYNC110 - looked at
                await asyncio.sleep(0.02)


@pytest.fixture
async def house(tmp_path):
    one = House(tmp_path)
    async with one.server:
        yield one


@pytest.fixture
async def bus(house):
    one = await connect(house.server.url, name="somebody", credentials=NkeyCredentials(nkey=house.file))
    yield one
    await one.close()


async def test_a_client_reconnects_with_the_new_key_once_the_old_one_is_revoked(house, bus):
    house.file.write_text(house.new)
    house.knows(house.new)
    await house.shows(bus, house.new)
    assert await bus.publish(ASKED) == 1


async def test_no_client_is_disconnected_while_both_keys_are_valid(house, bus):
    house.knows(house.old, house.new)
    house.file.write_text(house.new)
    assert await bus.publish(ASKED) == 1
    house.knows(house.new)
    await house.shows(bus, house.new)
    assert await bus.publish(ASKED) == 2


async def test_a_half_written_key_file_is_read_again(house, bus):
    house.file.write_text(house.new[:20])
    house.knows(house.new)
    async with asyncio.timeout(20):
        while bus._wire.client.is_connected:  # noqa: ASYNC110 - looked at
            await asyncio.sleep(0.02)
    house.file.write_text(house.new)
    await house.shows(bus, house.new)
    assert await bus.publish(ASKED) == 1
