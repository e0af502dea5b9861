"""Settings are shown to be one sentence when wrong, and to say why they exist."""

import os
from pathlib import Path

import pytest
from pydantic import ValidationError

from events.jetstream.credentials import NOBODY, NkeyCredentials
from services.process.settings import PREFIX, BadSetting, Settings, allowed, load


@pytest.fixture(autouse=True)
def clean(monkeypatch):
    for name in [n for n in os.environ if n.startswith(PREFIX)]:
        monkeypatch.delenv(name)


def test_nothing_needs_to_be_set():
    settings = load()
    assert settings.nats_url == "nats://127.0.0.1:4222"
    assert (settings.kubeconfig, settings.otlp_endpoint) == (None, "")
    assert (settings.health_address, settings.state_dir) == ("127.0.0.1:0", Path(".alate"))
    assert settings.log_format in {"console", "json"}


def test_every_field_says_why_it_is_there():
    assert all(len(field.description or "") > 40 for field in Settings.model_fields.values())


def test_settings_come_from_the_environment_and_never_change(monkeypatch):
    monkeypatch.setenv("ALATE_NATS_URL", "nats://a:1,tls://b:2")
    monkeypatch.setenv("ALATE_BACKEND", "k0rdent")
    monkeypatch.setenv("ALATE_CONTEXT", "")
    settings = load()
    assert (settings.nats_url, settings.backend, settings.context) == ("nats://a:1,tls://b:2", "k0rdent", None)
    with pytest.raises(ValidationError, match="frozen"):
        settings.backend = "capi"


@pytest.mark.parametrize(
    ("name", "value", "sentence"),
    [
        ("NATS_URL", "localhost", "expected nats://HOST:PORT, or several with commas between"),
        ("NATS_URL", "nats://a:1,b:2", "expected nats://HOST:PORT, or several with commas between"),
        (
            "CLUSTERS_ALLOW",
            "private,all",
            "expected none, or some of private, loopback, link-local, internal, ",
        ),
        ("NATS_NKEY", "/no/such/file", "path does not point to a file"),
        ("LOG_FORMAT", "xml", "expected 'console' or 'json'"),
        ("LOG_LEVEL", "loud", "expected 'debug', 'info', 'warning' or 'error'"),
        ("HEALTH_ADDRESS", "8080", "expected HOST:PORT, with port 0 for a free one"),
        ("HEALTH_ADDRESS", "127.0.0.1:70000", "expected HOST:PORT, with port 0 for a free one"),
        ("OTLP_ENDPOINT", "collector:4318", "expected the base URL of an OTLP/HTTP receiver"),
        ("TRACE_SAMPLE_RATIO", "2", "expected"),
        ("TRACE_SAMPLE_RATIO", "all", "expected"),
        ("RETENTION_DAYS", "0", "expected"),
        ("PROMETHEUS", "perhaps", "expected"),
        ("BACKEND", "cloud", "expected one of capi, k0rdent"),
    ],
)
def test_a_bad_value_is_one_sentence_naming_the_variable(monkeypatch, name, value, sentence):
    monkeypatch.setenv(f"ALATE_{name}", value)
    with pytest.raises(BadSetting) as caught:
        load()
    assert str(caught.value).startswith(f"ALATE_{name} is '{value}': {sentence}")
    assert "\n" not in str(caught.value)


def test_a_bad_url_is_told_without_its_password(monkeypatch):
    monkeypatch.setenv("ALATE_NATS_URL", "nats:/someone:hunter2@a:1")
    with pytest.raises(BadSetting, match="expected nats://HOST:PORT") as caught:
        load()
    assert "hunter2" not in str(caught.value)


def test_what_is_shown_to_nats_comes_from_the_environment(monkeypatch, tmp_path):
    assert load().credentials() == NOBODY
    (tmp_path / "key").write_text("a seed")
    monkeypatch.setenv("ALATE_NATS_NKEY", str(tmp_path / "key"))
    monkeypatch.setenv("ALATE_NATS_INBOX", "_INBOX_reader")
    monkeypatch.setenv("ALATE_NATS_API", "JS.API")
    assert load().credentials() == NkeyCredentials(nkey=tmp_path / "key", inbox="_INBOX_reader", api="JS.API")


def test_what_connections_may_lead_to_is_read_word_by_word(monkeypatch):
    assert allowed(load().clusters_allow) == {"private"}
    monkeypatch.setenv("ALATE_OUTBOUND_ALLOW", " loopback , private")
    assert allowed(load().outbound_allow) == {"loopback", "private"}
    assert allowed("none") == frozenset()
