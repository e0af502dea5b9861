"""A request goes where it is written, within its time, and not a step further."""

import asyncio

import pytest
from aiohttp import web

from events.errors import TryLater
from events.http.addresses import PRIVATE, Reach
from services.outbound.formats import OutboundRequest
from services.outbound.http_client import READ, posting
from services.outbound.outcome import ReceiverResponse
from tests.services.outbound.receiver import receiving


async def test_bytes_and_headers_arrive_as_they_are():
    async with receiving() as receiver, posting() as post:
        answer = await post(OutboundRequest(f"{receiver.url}/projects/a%2Fb", {"webhook-id": "1"}, b"\x00{}"))
    (got,) = receiver.got
    assert (answer.status, got.path, got.body, got.headers["webhook-id"]) == (200, "/projects/a%2Fb", b"\x00{}", "1")
    assert got.headers["User-Agent"] == "alate"


async def test_a_redirect_is_not_followed_and_retry_after_is_read():
    async with receiving() as receiver, posting() as post:
        receiver.answers.extend([(302, {"Location": "/elsewhere"}), (429, {"Retry-After": "7"})])
        answers = [await post(OutboundRequest(receiver.url, {}, b"")) for _ in range(2)]
    assert [(answer.status, answer.retry_after) for answer in answers] == [(302, ""), (429, "7")]
    assert len(receiver.got) == 2


async def test_what_time_it_is_where_the_receiver_is_is_read():
    async with receiving() as receiver, posting() as post:
        receiver.answers.append((429, {"Date": "Thu, 01 Jan 2026 12:00:00 GMT"}))
        answer = await post(OutboundRequest(receiver.url, {}, b""))
    assert answer == ReceiverResponse(429, date="Thu, 01 Jan 2026 12:00:00 GMT")


async def test_nobody_there_is_try_later():
    async with receiving() as receiver:
        url = receiver.url
    async with posting() as post:
        with pytest.raises(TryLater, match="no answer: ClientConnectorError"):
            await post(OutboundRequest(url, {}, b""))


@pytest.mark.parametrize("says", [b"", b"HTTP/1.1 2", b"rubbish\r\n\r\n"], ids=["nothing", "half", "rubbish"])
async def test_who_breaks_off_is_try_later(says):
    async def answer(_, writer):
        writer.write(says)
        await writer.drain()
        writer.close()
        await writer.wait_closed()

    server = await asyncio.start_server(answer, "127.0.0.1", 0)
    async with server, posting() as post:
        with pytest.raises(TryLater, match="no answer: "):
            await post(OutboundRequest(f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}", {}, b""))


async def test_who_is_silent_is_try_later():
    hold = asyncio.Event()

    async def silent(_, writer):
        await hold.wait()
        writer.close()

    server = await asyncio.start_server(silent, "127.0.0.1", 0)
    async with posting(0.05) as post:
        with pytest.raises(TryLater, match=r"no answer in 0\.05 s"):
            await post(OutboundRequest(f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}", {}, b""))
        hold.set()
    server.close()
    await server.wait_closed()


async def test_of_a_long_answer_only_the_beginning_is_read():
    async def long(_: web.Request) -> web.Response:
        return web.Response(body=b"x" * 1_000_000)

    app = web.Application()
    app.router.add_post("/", long)
    runner = web.AppRunner(app, access_log=None)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    async with posting() as post:
        answer = await post(OutboundRequest(f"http://127.0.0.1:{runner.addresses[0][1]}/", {}, b""))
    await runner.cleanup()
    assert 0 < len(answer.body) <= READ


async def test_what_only_we_can_reach_is_told_nothing_and_the_reason_is_said():
    reach = Reach(frozenset({PRIVATE}), "ALATE_OUTBOUND_ALLOW")
    async with receiving() as receiver, posting(reach=reach) as post:
        for url in (receiver.url, "https://169.254.169.254/x", "https://localhost/x"):
            with pytest.raises(TryLater, match=r"not sent: \S+ is of .* allow it with .* in ALATE_OUTBOUND_ALLOW"):
                await post(OutboundRequest(url, {}, b""))
    assert receiver.got == []
