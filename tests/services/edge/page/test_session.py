from datetime import timedelta

import pytest

from services.edge.page.session import LASTS, holds, made, whose
from tests.services.edge.house import NOW

COOKIE = made("operator.jo", b"secret", NOW)


def test_a_session_is_whose_token_made_it():
    assert whose(COOKIE, NOW) == "operator.jo"
    assert holds(COOKIE, (b"new", b"secret"))


def test_a_session_ends():
    assert whose(COOKIE, NOW + LASTS - timedelta(seconds=1)) == "operator.jo"
    assert whose(COOKIE, NOW + LASTS) == ""


def test_a_session_ends_with_its_token():
    assert not holds(COOKIE, (b"new",))
    assert not holds(COOKIE, ())


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
def test_a_cookie_that_was_changed_is_nobodys(changed):
    assert not holds(changed, (b"secret",))


@pytest.mark.parametrize("text", ["", "a", "a.b", "a.b.c", "operator.jo.\u0661.x", "operator.jo.999999999999.x"])
def test_what_is_no_cookie_of_ours_names_nobody(text):
    assert whose(text, NOW) == ""


def test_a_session_shows_nothing_of_the_token():
    assert "secret" not in COOKIE
