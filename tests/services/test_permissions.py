"""What nats-server is told is what the roles say, or `make check` names the difference."""

import re

from events.nats_server import NatsServer
from events.nkeys import made, public
from services import permissions
from services.permissions import LAPTOP, PRODUCTION, files, main


def test_both_files_say_what_the_roles_say():
    assert main(["--check"]) == 0


def test_a_file_that_differs_is_named(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(permissions, "ROOT", tmp_path)
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
    known = "".join(f'{name}: "{public(made())}"\n' for name in names)
    async with NatsServer(tmp_path, extra=known + told) as server:
        assert server.pid
