"""A disk that was full leaves nats-server storing nothing: that is said, and it is started again once there is room."""

import asyncio
import shutil
import subprocess

import pytest

from events.bus import Message, Unavailable
from events.jetstream.bus import connect
from events.jetstream.server import binary, config, free_port
from events.jetstream.store_health import UNSTORED
from services.local import child as looked_after
from services.local.child import Child
from services.local.probe import first_line, unstoring
from services.local.program import Program
from services.process.health import ProcessHealth, served


@pytest.fixture
def small(tmp_path):
    """A disk of 24 MiB."""
    place = tmp_path / "small"
    place.mkdir()
    mount, umount = shutil.which("mount"), shutil.which("umount")
    if mount is None or umount is None:
        pytest.skip("nothing can be mounted here")
    if subprocess.run((mount, "-t", "tmpfs", "-o", "size=24m", "tmpfs", place), check=False).returncode:
        pytest.skip("a small disk may not be mounted here")
    yield place
    subprocess.run((umount, "-l", place), check=True)


def fill(file):
    with file.open("wb", buffering=0) as full:
        try:
            while full.write(bytes(65_536)) == 65_536:
                pass
        except OSError:
            return


async def soon(true):
    async with asyncio.timeout(30):
        while not await true():  # noqa: ASYNC110 - another process has no event to wait for
            await asyncio.sleep(0.1)


async def test_nats_is_started_again_when_it_stores_nothing_though_there_is_room(small, tmp_path, monkeypatch):
    monkeypatch.setattr(looked_after, "LOOK", 0.3)
    port, file = free_port(), tmp_path / "nats.conf"
    file.write_text(config(port, small / "jetstream"))
    health, why = ProcessHealth(lambda: 0.0, trouble=lambda: bus.trouble), []
    health.ready = True

    async def ready():
        return b'"jetstream":true' in await first_line(port)

    async def stored():
        try:
            await bus.publish(Message("cluster.ready.acme.train", bytes(5_000)), within=1.0)
        except Unavailable:
            return False
        return True

    async with served("127.0.0.1:0", health) as url:
        sick = unstoring((int(url.rpartition(":")[2]),), small)
        program = Program("nats", (str(binary()), "-c", str(file)), tmp_path / "log", ready, sick=sick)
        nats = Child(program, lambda child: why.append(child.why) if child.why else None)
        nats.start()
        await nats.until_ready(10)
        bus = await connect(f"nats://127.0.0.1:{port}", name="test", patience=5.0)
        try:
            assert await stored()
            fill(small / "full")
            await soon(lambda: _not(stored()))
            assert bus.trouble.startswith(f"{UNSTORED} EVENTS")
            await asyncio.sleep(1.0)
            assert nats.deaths == 0  # a new start would help nothing
            (small / "full").unlink()
            await soon(stored)
            assert (bus.trouble, nats.deaths, set(why)) == ("", 1, {"stores nothing although there is room"})
        finally:
            await bus.close()
            await nats.stop()


async def _not(answer):
    return not await answer
