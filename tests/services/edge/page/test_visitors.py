"""Everybody may view an open page, only operators may change things, and no other site can use their browsers."""

import pytest

from services.edge.page.session import COOKIE
from tests.services.edge.page.page_server import JO, TOKEN

SHOWN = ["/fleet", "/subjects", "/graph", "/letters", "/clusters/default/train-gpu"]
REDRIVE = "/letters/all/redrive"


@pytest.mark.parametrize("path", [*SHOWN, "/live"])
async def test_without_a_token_nothing_is_seen_of_a_page_that_is_not_open(closed, path):
    got = await closed.ask("GET", path)
    assert (got.status, got.headers["WWW-Authenticate"]) == (401, "Bearer")


@pytest.mark.parametrize("path", SHOWN)
async def test_an_operator_sees_it_by_token_and_by_session(closed, path):
    assert (await closed.ask("GET", path, headers=JO)).status in (200, 503)
    assert (await closed.sign_in()).json["name"] == "operator.jo"
    assert (await closed.ask("GET", path)).status in (200, 503)


async def test_one_tenants_reader_does_not_see_everybodys_things(closed):
    assert (await closed.ask("GET", "/fleet", headers={"Authorization": "Bearer mine"})).status == 403
    assert (await closed.sign_in("mine")).status == 401


@pytest.mark.parametrize("path", SHOWN)
async def test_an_open_page_is_seen_by_everybody_who_comes_by_address(page, path):
    assert (await page.ask("GET", path)).status in (200, 503)


async def test_a_name_that_anothers_dns_made_ours_shows_nothing(page):
    assert (await page.ask("GET", "/subjects", headers={"Host": "evil.example:80"})).status == 401


async def test_an_open_page_is_for_looking(page):
    assert (await page.ask("POST", REDRIVE, headers=page.origin)).status == 401


async def test_a_session_is_a_cookie_that_scripts_and_other_sites_never_get(page):
    got = await page.sign_in()
    cookie = got.headers["Set-Cookie"]
    assert cookie.startswith(f"{COOKIE}=operator.jo.")
    assert {"HttpOnly", "SameSite=Strict", "Path=/"} <= set(cookie.split("; "))
    assert TOKEN not in cookie + got.body.decode()


async def test_behind_tls_the_cookie_stays_there(page):
    host = page.url.removeprefix("http://")
    got = await page.sign_in(Origin=f"https://{host}")
    assert "Secure" in got.headers["Set-Cookie"]


@pytest.mark.parametrize("headers", [{"Origin": "https://evil.example"}, {"Origin": "null"}, {"X": "no Origin"}])
async def test_another_site_signs_nobody_in_and_redrives_nothing(page, headers):
    assert (await page.sign_in(**headers)).status == 403
    await page.dead_letter()
    assert (await page.sign_in()).status == 200
    assert (await page.ask("POST", REDRIVE, headers=headers)).status == 403
    assert (await page.ask("GET", "/letters")).json["items"]


@pytest.mark.parametrize("token", ["", "other", "mine"])
async def test_who_has_no_operators_token_is_not_signed_in(page, token):
    got = await page.sign_in(token)
    assert (got.status, "Set-Cookie" in got.headers) == (401, False)


@pytest.mark.parametrize("body", [b"", b"[]", b'{"token": 1}', b"\xff", b'{"token":"a","b":1}'])
async def test_what_is_no_token_is_told(page, body):
    got = await page.ask("POST", "/session", data=body, headers=page.origin)
    assert (got.status, got.json["detail"]) == (422, 'the body is not understood: expected {"token": "…"}')


async def test_signed_out_one_is_nobody(page):
    await page.sign_in()
    assert (await page.ask("GET", "/session")).json["name"] == "operator.jo"
    await page.ask("DELETE", "/session", headers=page.origin)
    assert (await page.ask("GET", "/session")).json["name"] == ""


async def test_a_session_ends_when_its_token_is_taken_away(closed):
    await closed.sign_in()
    assert (await closed.ask("GET", "/subjects")).status == 200
    closed.endpoint("operator.jo", "another")
    assert (await closed.ask("GET", "/subjects")).status == 401


async def test_a_session_ends_with_time(closed):
    await closed.sign_in()
    closed.passes(hours=13)
    assert (await closed.ask("GET", "/subjects")).status == 401
