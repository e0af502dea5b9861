"""`alate outbound` shows who is told, who lacks a secret, and why a file is refused."""

import json

import pytest
from typer.testing import CliRunner

from services.cli.app import app
from services.cli.outbound.listing import listed
from services.errors import BadInput
from tests.services.outbound.world import SECRET, Folder

HOOK = {"name": "ci", "format": "cloudevents", "url": "https://ci.example.com", "events": ["cluster.ready"]}


def alate(*words):
    return CliRunner().invoke(app, ["outbound", *map(str, words)])


def test_a_target_without_a_secret_is_seen_and_check_fails_for_it(tmp_path):
    folder = Folder(tmp_path)
    folder.write(HOOK, HOOK | {"name": "bare", "tenant": "acme"})
    (tmp_path / "bare").unlink()
    shown = alate("ls", "-f", folder.file)
    assert shown.exit_code == 0
    _, first, second = shown.output.splitlines()
    assert first.split() == ["ci", "all", "cloudevents", "https://ci.example.com", "cluster.ready", "notified"]
    assert second.split(None, 5)[5] == "not notified: no secret in the file bare"
    assert second.split()[1] == "acme"
    checked = alate("check", "-f", folder.file, "-o", "json")
    assert checked.exit_code == 1
    assert [each["secret"] for each in json.loads(checked.output)["items"]] == [True, False]


def test_a_file_whose_targets_have_their_secrets_is_good(tmp_path):
    folder = Folder(tmp_path)
    folder.write(HOOK)
    (tmp_path / "ci").unlink()
    (tmp_path / "secrets").mkdir()
    (tmp_path / "secrets" / "ci").write_text(SECRET)
    assert alate("check", "-f", folder.file).exit_code == 1
    assert alate("check", "-f", folder.file, "--secrets", tmp_path / "secrets").exit_code == 0


def test_a_refused_file_is_bad_input_and_ls_says_which_targets_are_told_meanwhile(tmp_path):
    folder = Folder(tmp_path)
    folder.write(HOOK | {"format": "slack", "url": "ftp://x"})
    with pytest.raises(BadInput, match=r"targets\.yaml is refused: .*format.*$"):
        listed(tmp_path, folder.file, None)
    with pytest.raises(BadInput, match=r"is refused: .*; outbound goes on with the targets it had before$"):
        listed(tmp_path, folder.file, None, followed=True)
    with pytest.raises(BadInput, match=r"cannot be read .*: name the file of targets with -f"):
        listed(tmp_path, None, None)
