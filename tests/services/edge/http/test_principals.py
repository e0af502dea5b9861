"""A token is a line of a file that says who has it and what of."""

import pytest

from services.edge.http.principals import Caller, Callers, caller_of
from services.edge.webhooks.secrets import WebhookSecrets


@pytest.fixture
def callers(tmp_path):
    (tmp_path / "reader.acme.grafana").write_text("old\nnew\n")
    (tmp_path / "operator.jo").write_text("top\n")
    (tmp_path / "plain.acme.ci").write_text("hook\n")
    return Callers(WebhookSecrets(tmp_path))


@pytest.mark.parametrize(
    ("token", "caller"),
    [
        ("old", Caller("reader.acme.grafana", "acme")),
        ("new", Caller("reader.acme.grafana", "acme")),
        ("top", Caller("operator.jo")),
        ("hook", None),
        ("", None),
        ("to", None),
        ("\udce9", None),
    ],
)
def test_a_token_is_one_callers_and_a_webhooks_is_no_callers(callers, token, caller):
    assert callers.by_token(token) == caller


def test_a_token_is_nobodys_once_its_line_is_gone(callers, tmp_path):
    assert callers.by_token("old") is not None
    (tmp_path / "reader.acme.grafana").write_text("new\n")
    assert callers.by_token("old") is None


def test_without_a_folder_there_is_nobody():
    assert Callers(WebhookSecrets(None)).by_token("top") is None


@pytest.mark.parametrize("name", ["operator", "operator.a.b", "reader.acme", "reader.a.b.c", "plain.acme.ci"])
def test_a_file_of_another_name_is_no_callers(name):
    assert caller_of(name) is None


def test_only_who_is_of_the_house_operates():
    assert (Caller("operator.jo").operates, Caller("reader.acme.x", "acme").operates) == (True, False)
