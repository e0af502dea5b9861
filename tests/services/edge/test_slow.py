"""Whoever sends slowly, or half, or reads nothing, has neither a turn nor a connection for long: others have."""

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path

import aiohttp
import pytest
from aiohttp import web

from events.backoff import Rate
from events.memory.bus import MemoryBus
from services.edge.http import connection
from services.edge.http.connection_limit import ConnectionLimit
from services.edge.http.principals import Callers
from services.edge.http.server import HttpRoute, body_of, opened
from services.edge.page import visitors as page
from services.edge.page.visitors import Visitors
from services.edge.webhooks.bodies import Bodies
from services.edge.webhooks.receive import WebhookReceiver
from services.edge.webhooks.secrets import WebhookSecrets
from tests.services.edge.here import Here
from tests.services.edge.house import RUN, SECRET, House, github

STRANGERS, HALVES, GOOD = 130, 900, 40
SESSION = b"POST /session HTTP/1.1\r\nHost: h\r\nOrigin: http://h\r\nContent-Length: 2000\r\n\r\n{"
HALF = b"POST /hooks/github/acme/ci HTTP/1.1\r\nHost: h\r\nX-Half: y"


class Stranger:
    """One connection that says something and then nothing more."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.reader, self._writer = reader, writer

    async def ended(self) -> bytes:
        """What it was told, once it is told no more."""
        try:
            return await self.reader.read()
        except ConnectionError:
            return b""

    async def close(self) -> None:
        self._writer.close()
        await asyncio.gather(self._writer.wait_closed(), return_exceptions=True)


@asynccontextmanager
async def strangers(port: int, count: int, says: bytes) -> AsyncIterator[list[Stranger]]:
    every = []
    try:
        for _ in range(count):
            reader, writer = await asyncio.open_connection("127.0.0.1", port)
            writer.write(says)
            every.append(Stranger(reader, writer))
        yield every
    finally:
        await asyncio.gather(*(each.close() for each in every))


def port_of(url: str) -> int:
    return int(url.rpartition(":")[2])


@pytest.fixture
async def house(tmp_path: Path) -> AsyncIterator[House]:
    """Webhooks and the session behind one door."""
    async with AsyncExitStack() as stack:
        one, secrets = House(MemoryBus(), tmp_path), WebhookSecrets(tmp_path)
        one.endpoint("github.acme.ci", SECRET)
        one.endpoint("operator.jo", "token")
        hooks = WebhookReceiver(one.context, secrets, Rate(1e6, 10**6), Here())
        visitors = Visitors(Callers(secrets), clock=one.clock, is_open=True)
        routes = (*hooks.routes(), *visitors.routes())
        one.url = await stack.enter_async_context(opened("127.0.0.1:0", routes))
        one.session = await stack.enter_async_context(aiohttp.ClientSession())
        yield one


async def good(house: House, first: int = 0) -> list[int]:
    """Statuses of as many deliveries as there shall be."""
    bodies = [json.dumps(RUN | {"number": number}).encode() for number in range(first, first + GOOD)]
    every = (
        house.post("/hooks/github/acme/ci", body, github(body, delivery=f"d-{number}"))
        for number, body in enumerate(bodies, first)
    )
    return [answer.status for answer in await asyncio.gather(*every)]


async def test_40_of_40_good_deliveries_get_through_while_130_strangers_send_slowly(house: House):
    async with strangers(port_of(house.url), STRANGERS, SESSION):
        assert await good(house) == [202] * GOOD


async def test_40_of_40_good_deliveries_get_through_while_130_strangers_send_a_webhook_slowly(house: House):
    slow = b"POST /hooks/github/acme/ci HTTP/1.1\r\nHost: h\r\nContent-Type: application/json\r\n"
    async with strangers(port_of(house.url), STRANGERS, slow + b"Content-Length: 900\r\n\r\n{"):
        assert await good(house) == [202] * GOOD


async def test_a_slow_sign_in_is_given_up_soon(house: House, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(page, "SLOWEST", 0.1)
    async with strangers(port_of(house.url), 3, SESSION) as every:
        told = await asyncio.gather(*(each.ended() for each in every))
    assert all(b"408 Request Timeout" in each and b"after 0.1 s" in each for each in told)


async def test_a_sign_in_that_announces_more_than_a_token_is_refused_at_once(house: House):
    async with strangers(port_of(house.url), 1, SESSION.replace(b"2000", b"5000")) as (one,):
        assert b"413 " in await one.reader.readuntil(b"\r\n")


async def test_half_sent_headers_are_closed_and_nobody_waits_for_them(house: House, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(connection, "IDLE", 2.0)
    async with strangers(port_of(house.url), HALVES, HALF) as every:
        assert await good(house) == [202] * GOOD
        told = await asyncio.wait_for(asyncio.gather(*(each.ended() for each in every)), 60)
    assert told == [b""] * HALVES


async def test_whoever_does_not_read_its_answer_is_left(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(connection, "READ", 0.2)

    async def much(_: web.Request) -> web.Response:
        return web.Response(body=b"x" * 50_000_000)

    left = asyncio.Event()

    class Watched(ConnectionLimit):
        def leave(self, guest) -> None:
            super().leave(guest)
            left.set()

    monkeypatch.setattr(connection, "ConnectionLimit", Watched)
    ask = b"GET / HTTP/1.1\r\nHost: h\r\n\r\n"
    async with opened("127.0.0.1:0", (HttpRoute("GET", "/", much),)) as url, strangers(port_of(url), 1, ask) as (one,):
        await left.wait()
        told = await one.ended()
    assert len(told) < 50_000_000


async def test_where_too_many_connections_are_the_one_that_waited_longest_goes(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(connection, "ConnectionLimit", lambda: ConnectionLimit(most=3))

    async def echo(request: web.Request) -> web.Response:
        return web.Response(body=await body_of(request))

    async with opened("127.0.0.1:0", (HttpRoute("POST", "/", echo),)) as url, strangers(port_of(url), 4, HALF) as every:
        assert await every[0].ended() == b""
        async with aiohttp.ClientSession() as session, session.post(url, data=b"hello") as got:
            assert await got.read() == b"hello"
        assert await every[1].ended() == b""
        assert not every[3].reader.at_eof()


class Guest:
    def __init__(self, address: str, *, waits: bool = True) -> None:
        self.address, self.waits, self.gone = address, waits, False

    def end(self) -> None:
        self.gone = True


def test_room_is_made_at_the_address_that_has_most_and_never_of_one_that_is_served():
    crowd = ConnectionLimit(most=4, most_of_one=3)
    many = [Guest("a", waits=False), Guest("a"), Guest("a")]
    for each in (*many, Guest("b"), Guest("c")):
        crowd.enter(each)
    assert [each.gone for each in many] == [False, True, False]


def test_of_one_address_there_are_so_many_and_where_all_are_served_the_newcomer_goes():
    crowd = ConnectionLimit(most=9, most_of_one=2)
    served = [Guest("a", waits=False), Guest("a", waits=False)]
    newcomer = Guest("a", waits=False)
    for each in (*served, newcomer):
        crowd.enter(each)
    assert [each.gone for each in (*served, newcomer)] == [False, False, True]
    crowd.leave(newcomer)
    crowd.leave(served[0])
    crowd.enter(another := Guest("a"))
    assert not another.gone


async def test_bodies_that_are_still_coming_are_bounded_together_and_the_first_is_given_up():
    bodies = Bodies(most=1000)

    class Sends:
        """A request whose body comes by pieces."""

        def __init__(self) -> None:
            self.content = self
            self.pieces: asyncio.Queue[bytes] = asyncio.Queue()

        async def iter_any(self):
            while piece := await self.pieces.get():
                yield piece

    slow, quick = Sends(), Sends()
    slow.pieces.put_nowait(b"x" * 600)
    waiting = asyncio.create_task(bodies.read(slow, 2000, 60))
    await asyncio.sleep(0)
    for piece in (b"y" * 600, b""):
        quick.pieces.put_nowait(piece)
    assert await bodies.read(quick, 2000, 60) == b"y" * 600
    with pytest.raises(TimeoutError):
        await waiting
