"""What nats-server is told is what the roles say, or `make check` names the difference."""

import re

import pytest

from events.bus import Message
from events.errors import Denied
from events.jetstream.accounts import new_seed, public_key
from events.jetstream.bus import connect
from events.jetstream.credentials import NkeyCredentials
from events.jetstream.server import NatsServer
from services.generate import nats_permissions
from services.generate.nats_permissions import LAPTOP, PRODUCTION, files, main


def test_both_files_say_what_the_roles_say():
    assert main(["--check"]) == 0


def test_a_file_that_differs_is_named(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(nats_permissions, "ROOT", tmp_path)
    monkeypatch.chdir(tmp_path)
    assert main([]) == 0
    assert main(["--check"]) == 0
    (tmp_path / PRODUCTION).write_text("# everybody may everything\n")
    assert main(["--check"]) == 1
    assert capsys.readouterr().err == f"{PRODUCTION} differs from services/roles.py: run `make generate`\n"


def test_the_sandbox_is_known_on_the_laptop_alone():
    assert "$ALATE_NKEY_SANDBOX" in files()[LAPTOP]
    assert "sandbox" not in files()[PRODUCTION].lower()


async def test_tenants_are_added_for_the_server_to_know(tmp_path, capsys):
    assert main(["--tenant", "acme", "--tenant", "a.b"]) == 0
    told = capsys.readouterr().out
    names = sorted(set(re.findall(r"\$(ALATE_NKEY_\w+)", told)))
    assert {"ALATE_NKEY_TENANT_ACME", "ALATE_NKEY_TENANT_A_2EB"} <= set(names)
    known = "".join(f'{name}: "{public_key(new_seed())}"\n' for name in names)
    async with NatsServer(tmp_path, extra=known + told) as server:
        assert server.pid


async def test_both_keys_of_a_role_are_good_while_it_is_rotated(tmp_path, capsys):
    assert main(["--rotate", "edge"]) == 0
    told = capsys.readouterr().out
    names = sorted(set(re.findall(r"\$(ALATE_NKEY_\w+)", told)))
    seeds = {name: new_seed() for name in names}
    known = "".join(f'{name}: "{public_key(seed)}"\n' for name, seed in seeds.items())
    async with NatsServer(tmp_path, extra=known + told) as server:
        for name in ("ALATE_NKEY_EDGE", "ALATE_NKEY_EDGE_NEXT"):
            file = tmp_path / name
            file.write_text(seeds[name])
            bus = await connect(server.url, name="edge", streams=(), credentials=NkeyCredentials(nkey=file))
            with pytest.raises(Denied, match=r"does not allow edge to publish on cluster\.ready\.a\.b"):
                await bus.publish(Message("cluster.ready.a.b", b""))
            await bus.close()


def test_a_role_that_nobody_knows_is_one_clear_sentence(capsys):
    with pytest.raises(SystemExit) as left:
        main(["--rotate", "edgy"])
    assert left.value.code == 2
    assert "--rotate edgy: there is no such role, must be one of gateway, inventory," in capsys.readouterr().err
