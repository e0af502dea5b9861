"""Whatever is sent to the door that is no HTTP is a problem, like everything else, and quotes nothing."""

import asyncio
import json

import pytest
from aiohttp import web

from services.edge.http.server import HttpRoute, opened


async def echo(request: web.Request) -> web.Response:
    return web.Response(body=await request.read())


@pytest.fixture
async def port():
    async with opened("127.0.0.1:0", (HttpRoute("POST", "/", echo),)) as url:
        yield int(url.rpartition(":")[2])


async def said(port: int, data: bytes) -> tuple[int, str, bytes]:
    """Status, media type and body of the answer, after which nothing more comes."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    writer.write(data)
    head, _, body = (await asyncio.wait_for(reader.read(), 10)).partition(b"\r\n\r\n")
    writer.close()
    await writer.wait_closed()
    status, *headers = head.decode().split("\r\n")
    named = dict(line.lower().split(": ", 1) for line in headers)
    return int(status.split()[1]), named["content-type"], body


@pytest.mark.parametrize(
    "data",
    [
        b"this-is-a-secret\r\n\r\n",
        b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03 this-is-a-secret\r\n\r\n",
        b"POST / HTTP/1.1\r\nHost: a\r\nAuthorization this-is-a-secret\r\n\r\n",
        b"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: this-is-a-secret\r\n\r\n",
        b"POST / HTTP/1.1\r\nHost: a\r\nX: " + b"this-is-a-secret" * 1000 + b"\r\n\r\n",
    ],
    ids=["no request line", "TLS", "no colon", "no length", "a header without end"],
)
async def test_what_is_no_http_is_a_problem_that_quotes_nothing(port, data):
    status, media, body = await said(port, data)
    assert (status, media) == (400, "application/problem+json")
    assert (json.loads(body)["status"], json.loads(body)["title"]) == (400, "Bad Request")
    assert b"secret" not in body


async def test_who_speaks_http_is_heard_all_the_same(port):
    request = b"POST / HTTP/1.1\r\nHost: a\r\nConnection: close\r\nContent-Length: 5\r\n\r\nhello"
    status, _, body = await said(port, request)
    assert (status, body) == (200, b"hello")
