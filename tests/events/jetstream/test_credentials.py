"""Who shows the right key is let in, who shows none is not, and nobody reads a secret in a sentence."""

import json
from datetime import UTC, datetime

import pytest

from events.bus import Unavailable
from events.errors import Denied
from events.jetstream import connection as jetstream_connection
from events.jetstream.accounts import new_seed, public_key
from events.jetstream.bus import connect
from events.jetstream.credentials import NOBODY, NkeyCredentials, decorated, seed, trusting, without_secrets
from events.jetstream.server import NatsServer
from services.sandbox.api.server.tls import self_signed


@pytest.fixture
def key(tmp_path):
    file = tmp_path / "one.nk"
    file.write_text(new_seed() + "\n")
    return file


def knowing(key) -> str:
    return f"authorization {{ users: [{{nkey: {public_key(seed(key))}}}] }}\n"


async def test_an_nkey_opens_the_door_that_knows_it(tmp_path, key):
    async with NatsServer(tmp_path / "nats", extra=knowing(key)) as server:
        bus = await connect(server.url, name="test", credentials=NkeyCredentials(nkey=key))
        assert await bus.last("EVENTS", "cluster.>") is None
        await bus.close()


@pytest.mark.parametrize("other", ["nobody", "another"])
async def test_another_key_or_none_does_not(tmp_path, key, other, monkeypatch):
    monkeypatch.setattr(jetstream_connection, "CONNECT", 1.0)
    (tmp_path / "another").write_text(new_seed())
    shown = NOBODY if other == "nobody" else NkeyCredentials(nkey=tmp_path / "another")
    async with NatsServer(tmp_path / "nats", extra=knowing(key)) as server:
        with pytest.raises(Unavailable, match="Authorization Violation"):
            await connect(server.url, name="test", credentials=shown)


async def test_a_server_is_trusted_by_its_authority_and_by_no_other(tmp_path, monkeypatch):
    monkeypatch.setattr(jetstream_connection, "CONNECT", 1.0)
    right, wrong = (self_signed(datetime.now(UTC)) for _ in range(2))
    for name, data in {"crt": right.certificate, "key": right.key, "other": wrong.certificate}.items():
        (tmp_path / name).write_bytes(data)
    files = f"cert_file: {json.dumps(str(tmp_path / 'crt'))}, key_file: {json.dumps(str(tmp_path / 'key'))}"
    async with NatsServer(tmp_path / "nats", extra=f"tls {{ {files} }}\n") as server:
        url = server.url.replace("nats://", "tls://")
        bus = await connect(url, name="test", credentials=NkeyCredentials(tls=trusting(tmp_path / "crt")))
        await bus.close()
        with pytest.raises(Unavailable, match="self-signed certificate"):
            await connect(url, name="test", credentials=NkeyCredentials(tls=trusting(tmp_path / "other")))


@pytest.mark.parametrize("text", ["", "hunter2", "SUAAHUNTER2", "UABC"])
def test_a_file_without_a_seed_is_one_sentence_that_does_not_repeat_it(tmp_path, text):
    (tmp_path / "bad").write_text(text)
    with pytest.raises(Denied, match=r"bad holds no NKey seed: expected one line that begins with SU$") as told:
        seed(tmp_path / "bad")
    assert told.value.__cause__ is None
    assert not text or text not in str(told.value)


def test_a_file_that_is_not_there_is_one_sentence(tmp_path):
    with pytest.raises(Denied, match=r"no holds no NKey seed: No such file or directory$"):
        seed(tmp_path / "no")
    with pytest.raises(Denied, match="cannot be read"):
        decorated(tmp_path / "no")
    with pytest.raises(Denied, match="holds no certificate authority"):
        trusting(tmp_path / "no")


def test_credentials_without_their_marks_are_refused_before_anybody_looks_for_them(tmp_path):
    (tmp_path / "creds").write_text("-----BEGIN NATS USER JWT-----\n")
    with pytest.raises(Denied, match="holds no credentials: expected a JWT and a seed"):
        decorated(tmp_path / "creds")


def test_who_shows_something_is_not_anyone():
    assert NOBODY.anyone
    assert not NkeyCredentials(user="u", password="p").anyone  # noqa: S106 - nobody's


def test_no_secret_is_shown():
    shown = repr(NkeyCredentials(user="u", password="hunter2", token="hunter3"))  # noqa: S106 - nobody's
    assert "hunter" not in shown
    assert without_secrets("nats://u:hunter2@a:1,tls://hunter3@b:2") == "nats://a:1,tls://b:2"
    assert without_secrets("nats://a:1") == "nats://a:1"
