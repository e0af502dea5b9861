"""A command shows the local stack its runner's key, and another NATS what the environment says."""

import pytest

from events.bus import Unavailable
from events.jetstream import bus
from events.jetstream.credentials import NOBODY, NkeyCredentials
from services.cli.connection import Connection, joined, nearest, of_environment, operator
from services.errors import BadInput
from services.local.folder import Folder


@pytest.fixture(autouse=True)
def shown(monkeypatch, tmp_path):
    (tmp_path / "mine.nk").write_text("a seed")
    monkeypatch.setenv("ALATE_NATS_NKEY", str(tmp_path / "mine.nk"))


def test_the_local_stack_is_shown_its_own_key(tmp_path):
    folder = Folder(tmp_path)
    folder.take()
    folder.announce("nats://127.0.0.1:1", folder.kubeconfig, tmp_path / "operator.nk")
    key = NkeyCredentials(nkey=tmp_path / "operator.nk", inbox="_INBOX_operator")
    assert Connection(tmp_path).nats_address() == ("nats://127.0.0.1:1", key)
    folder.leave()


def test_another_nats_is_shown_the_environments(tmp_path):
    own = NkeyCredentials(nkey=tmp_path / "mine.nk", inbox="_INBOX_operator")
    assert Connection(tmp_path, nats="nats://a:1").nats_address() == ("nats://a:1", own)


def test_an_inbox_of_the_environment_is_kept(monkeypatch):
    monkeypatch.setenv("ALATE_NATS_INBOX", "_INBOX_reader")
    assert of_environment().inbox == "_INBOX_reader"


def test_an_open_nats_is_shown_nothing(monkeypatch):
    monkeypatch.delenv("ALATE_NATS_NKEY")
    assert of_environment() == operator(None) == NOBODY


def test_a_key_that_is_not_there_is_one_sentence(monkeypatch):
    monkeypatch.setenv("ALATE_NATS_NKEY", "/no/such/key")
    with pytest.raises(BadInput, match=r"^ALATE_NATS_NKEY is '/no/such/key': path does not point to a file"):
        of_environment()


async def test_a_nats_that_is_not_there_is_told_without_its_password(monkeypatch):
    async def away(url: str, **_: object) -> None:
        raise Unavailable("nobody answers")

    monkeypatch.setattr(bus, "connect", away)
    with pytest.raises(BadInput, match=r"^no NATS answers at nats://a:1 ") as told:
        async with joined("nats://me:hunter2@a:1", NOBODY):
            pass
    assert "hunter2" not in str(told.value)


def test_the_folder_is_found_upwards_as_git_finds_its_own(tmp_path):
    (tmp_path / "project" / ".alate").mkdir(parents=True)
    below = tmp_path / "project" / "a" / "b"
    below.mkdir(parents=True)
    assert nearest(below) == tmp_path / "project" / ".alate"
    assert nearest(tmp_path / "elsewhere") == tmp_path / "elsewhere" / ".alate"


def test_a_folder_of_another_user_is_passed_over(tmp_path, monkeypatch):
    (tmp_path / ".alate").mkdir()
    monkeypatch.setattr("os.getuid", lambda: 12345)
    assert nearest(tmp_path / "mine") == tmp_path / "mine" / ".alate"
