from datetime import timedelta

import pytest

from services.edge.page.session import LIFETIME, claimed_name, is_signed, issue
from tests.services.edge.house import NOW

COOKIE = issue("operator.jo", b"secret", NOW)


def test_a_session_belongs_to_the_operator_whose_token_signed_it():
    assert claimed_name(COOKIE, NOW) == "operator.jo"
    assert is_signed(COOKIE, (b"new", b"secret"))


def test_a_session_ends():
    assert claimed_name(COOKIE, NOW + LIFETIME - timedelta(seconds=1)) == "operator.jo"
    assert claimed_name(COOKIE, NOW + LIFETIME) == ""


def test_a_session_ends_with_its_token():
    assert not is_signed(COOKIE, (b"new",))
    assert not is_signed(COOKIE, ())


@pytest.mark.parametrize(
    "changed",
    [
        COOKIE.replace("jo", "al"),
        COOKIE[:-1] + ("0" if COOKIE[-1] != "0" else "1"),
        COOKIE.replace(".17", ".27"),
        "",
        "operator.jo",
        "..",
        "operator.jo.\u0661.\udce9",
    ],
)
def test_a_cookie_that_was_changed_is_not_signed(changed):
    assert not is_signed(changed, (b"secret",))


@pytest.mark.parametrize("text", ["", "a", "a.b", "a.b.c", "operator.jo.\u0661.x", "operator.jo.999999999999.x"])
def test_a_malformed_cookie_names_nobody(text):
    assert claimed_name(text, NOW) == ""


def test_a_session_shows_nothing_of_the_token():
    assert "secret" not in COOKIE
