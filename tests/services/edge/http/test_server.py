"""The door bounds what comes in and explains whatever goes wrong behind it."""

import gzip

import aiohttp
import pytest
from aiohttp import web

from events.errors import Denied
from services.edge.http.server import HttpRoute, body_of, opened


async def echo(request: web.Request) -> web.Response:
    return web.Response(body=await request.content.read())


async def strict(request: web.Request) -> web.Response:
    return web.Response(body=await body_of(request))


async def fault(_: web.Request) -> web.Response:
    raise ZeroDivisionError("ours")


@pytest.fixture
async def url():
    async with opened(
        "127.0.0.1:0", (HttpRoute("POST", "/", echo), HttpRoute("POST", "/s", strict), HttpRoute("GET", "/", fault))
    ) as url:
        yield url


@pytest.fixture
async def session():
    async with aiohttp.ClientSession() as one:
        yield one


async def test_a_handler_gets_the_bytes_as_they_were_sent(url, session):
    packed = gzip.compress(b"hello")
    async with session.post(url, data=packed, headers={"Content-Encoding": "gzip"}) as got:
        assert await got.read() == packed


async def test_packing_that_is_hidden_behind_another_word_is_seen(url, session):
    headers = [("Content-Encoding", "identity"), ("Content-Encoding", "gzip")]
    async with session.post(f"{url}/s", data=b"", headers=headers) as got:
        assert got.status == 415


async def test_a_fault_of_ours_is_never_a_500_and_tells_nothing(url, session, capsys):
    async with session.get(url) as got:
        assert (got.status, got.headers["Retry-After"]) == (503, "5")
        assert b"ours" not in await got.read()


async def test_a_port_that_is_taken_is_one_clear_sentence(url):
    with pytest.raises(Denied, match=r"ALATE_EDGE_ADDRESS .* cannot be had .*: name another port, or 0 for a free one"):
        async with opened(url.removeprefix("http://"), ()):
            pass
