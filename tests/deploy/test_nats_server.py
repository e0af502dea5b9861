"""The shipped configuration of a production NATS is one that nats-server takes."""

import os
import subprocess
from datetime import UTC, datetime
from pathlib import Path

import pytest

from events.nats_server import binary
from events.nkeys import made, public
from services.permissions import variable
from services.roles import ROLES
from services.sandbox.api.tls import self_signed

CONFIG = Path(__file__).parents[2] / "deploy" / "nats" / "nats-server.conf"


@pytest.fixture
def env(tmp_path):
    identity = self_signed(datetime.now(UTC))
    (tmp_path / "crt").write_bytes(identity.certificate)
    (tmp_path / "key").write_bytes(identity.key)
    files = {"STORE": tmp_path / "store", "CERT": tmp_path / "crt", "KEY": tmp_path / "key"}
    keys = {variable(role).removeprefix("$"): public(made()) for role in ROLES}
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
