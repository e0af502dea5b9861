"""The shipped configuration of a production NATS is one that nats-server takes, and it lets in over TLS alone."""

import asyncio
import os
import subprocess
import sys
from contextlib import asynccontextmanager
from datetime import UTC, datetime
from pathlib import Path

import pytest

from events.bus import Bus, Message, Unavailable
from events.jetstream.accounts import new_seed, public_key
from events.jetstream.bus import connect
from events.jetstream.credentials import NkeyCredentials, trusting
from events.jetstream.server import binary, free_port
from services.generate.nats_permissions import variables
from services.roles import ROLES
from services.sandbox.api.server.tls import self_signed

CONFIG = Path(__file__).parents[2] / "deploy" / "nats" / "nats-server.conf"


@pytest.fixture
def env(tmp_path):
    identity = self_signed(datetime.now(UTC))
    (tmp_path / "crt").write_bytes(identity.certificate)
    (tmp_path / "key").write_bytes(identity.key)
    files = {"STORE": tmp_path / "store", "CERT": tmp_path / "crt", "KEY": tmp_path / "key"}
    keys = {}
    for role in ROLES:
        seed = tmp_path / f"{role.name}.nk"
        seed.write_text(new_seed())
        (variable,) = variables(role)
        keys[variable.removeprefix("$")] = public_key(seed.read_text())
    return os.environ | keys | {f"ALATE_NATS_{name}": str(path) for name, path in files.items()}


def checked(env: dict[str, str]) -> subprocess.CompletedProcess[str]:
    return subprocess.run((binary(), "-t", "-c", CONFIG), env=env, capture_output=True, text=True, check=False)


def test_it_is_whole_with_a_key_for_everybody(env):
    done = checked(env)
    assert done.returncode == 0, done.stderr


def test_a_key_that_is_missing_is_named(env):
    del env["ALATE_NKEY_GATEWAY"]
    done = checked(env)
    assert done.returncode == 1
    assert "ALATE_NKEY_GATEWAY" in done.stderr


@asynccontextmanager
async def server(env):
    """It, on a free port of the loopback; gives its URL."""
    url = f"127.0.0.1:{free_port()}"
    words = ("-c", CONFIG, "-a", url.partition(":")[0], "-p", url.partition(":")[2])
    process = await asyncio.create_subprocess_exec(binary(), *words, env=env, stderr=asyncio.subprocess.PIPE)
    try:
        async with asyncio.timeout(10):
            while b"Server is ready" not in await process.stderr.readline():
                pass
        yield f"tls://{url}"
    finally:
        process.terminate()
        await process.communicate()


async def joined(url: str, folder: Path, name: str, authority: str) -> Bus:
    shown = NkeyCredentials(nkey=folder / f"{name}.nk", tls=trusting(folder / authority), inbox=f"_INBOX_{name}")
    return await connect(url, name=name, streams=(), credentials=shown)


async def test_a_house_is_set_up_and_asked_over_tls(env, tmp_path):
    told = {"URL": "", "NKEY": tmp_path / "setup.nk", "CA": tmp_path / "crt"}
    async with server(env) as url:
        told["URL"] = url
        own = os.environ | {f"ALATE_NATS_{name}": str(value) for name, value in told.items()}
        setup = await asyncio.create_subprocess_exec(sys.executable, "-m", "services", "setup", env=own)
        assert await setup.wait() == 0
        bus = await joined(url, tmp_path, "operator", "crt")
        assert await bus.publish(Message("cluster.requested", b"{}")) == 1
        assert [each.data for each in await bus.read("INTAKE", "cluster.requested")] == [b"{}"]
        await bus.close()


@pytest.fixture
def brief(monkeypatch):
    """Who is refused stops asking soon."""
    monkeypatch.setattr("events.jetstream.connection.CONNECT", 0.5)


@pytest.mark.usefixtures("brief")
async def test_who_cannot_trust_its_certificate_says_nothing_to_it(env, tmp_path):
    (tmp_path / "other").write_bytes(self_signed(datetime.now(UTC)).certificate)
    async with server(env) as url:
        with pytest.raises(Unavailable, match="CERTIFICATE_VERIFY_FAILED"):
            await joined(url, tmp_path, "operator", "other")


@pytest.mark.usefixtures("brief")
async def test_a_key_that_it_does_not_know_is_refused(env, tmp_path):
    (tmp_path / "operator.nk").write_text(new_seed())
    async with server(env) as url:
        with pytest.raises(Unavailable, match="Authorization Violation"):
            await joined(url, tmp_path, "operator", "crt")


async def test_nobody_is_heard_in_the_clear(env):
    async with server(env) as url:
        host, _, port = url.removeprefix("tls://").partition(":")
        reader, writer = await asyncio.open_connection(host, int(port))
        assert b'"tls_required":true' in await reader.readline()
        writer.write(b"CONNECT {}\r\nPING\r\n")
        async with asyncio.timeout(10):
            assert b"PONG" not in await reader.read()
        writer.close()
