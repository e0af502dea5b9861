"""A wrong setting is named with its variable; the bus is the one all services use."""

import pytest

from services.process.settings import BadSetting
from services.sandbox.settings import load


@pytest.mark.parametrize(
    ("variable", "value"),
    [("ALATE_SANDBOX_PORT", "70000"), ("ALATE_SANDBOX_SPEED", "-1"), ("ALATE_SANDBOX_SPEED", "fast")],
)
def test_a_wrong_setting_is_named(monkeypatch, variable, value):
    monkeypatch.setenv(variable, value)
    with pytest.raises(BadSetting, match=f"^{variable} is '{value}': "):
        load()


def test_the_bus_of_all_services_is_the_sandboxs_too(monkeypatch):
    monkeypatch.setenv("ALATE_NATS_URL", "nats://127.0.0.1:1")
    assert load().nats_url == "nats://127.0.0.1:1"
    monkeypatch.setenv("ALATE_SANDBOX_NATS_URL", "nats://127.0.0.1:2")
    assert load().nats_url == "nats://127.0.0.1:2"
