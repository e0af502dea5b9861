"""What is fetched is whole; whatever stands in the way is told in one sentence, in time."""

import asyncio
from datetime import UTC, datetime
from typing import Any

import pytest

from events.errors import TryLater
from events.http import fetch as module
from events.http.fetch import fetch


class Server:
    """Answers every connection with the same bytes, then closes it, unless it is to hang."""

    def __init__(self, answer: bytes, *, hangs: bool = False) -> None:
        self._answer, self._hangs = answer, hangs
        self._open: list[Any] = []

    async def __aenter__(self):
        self._server = await asyncio.start_server(self._serve, "127.0.0.1", 0)
        self.url = f"http://127.0.0.1:{self._server.sockets[0].getsockname()[1]}/aws.csv"
        return self

    async def __aexit__(self, *_):
        self._server.close()
        for writer in self._open:
            writer.close()
        await self._server.wait_closed()

    async def _serve(self, reader, writer):
        self._open.append(writer)
        await reader.readuntil(b"\r\n\r\n")
        writer.write(self._answer)
        await writer.drain()
        if not self._hangs:
            writer.close()


def answer(body=b"prices", status="200 OK", length=None, **headers) -> bytes:
    lines = [f"HTTP/1.1 {status}", f"Content-Length: {len(body) if length is None else length}"]
    lines += [f"{name.replace('_', '-')}: {value}" for name, value in headers.items()]
    return "\r\n".join([*lines, "", ""]).encode() + body


async def test_all_of_it_is_there_with_its_date():
    async with Server(answer(Last_Modified="Thu, 01 Jan 2026 00:00:00 GMT")) as server:
        got = await fetch(server.url)
    assert (got.data, got.modified) == (b"prices", datetime(2026, 1, 1, tzinfo=UTC))


@pytest.mark.parametrize("headers", [{}, {"Last_Modified": "yesterday"}])
async def test_a_date_that_nobody_says_is_none(headers):
    async with Server(answer(**headers)) as server:
        assert (await fetch(server.url)).modified is None


async def test_another_status_than_200_is_told():
    async with Server(answer(b"", "404 Not Found")) as server:
        with pytest.raises(TryLater, match=r"aws\.csv answers 404 Not Found"):
            await fetch(server.url)


async def test_an_answer_that_is_cut_off_is_nothing():
    async with Server(answer(length=1000)) as server:
        with pytest.raises(TryLater, match="cannot be read"):
            await fetch(server.url)


async def test_a_server_that_hangs_is_left_in_time():
    async with Server(answer(length=1000), hangs=True) as server:
        with pytest.raises(TryLater, match="cannot be read: TimeoutError"):
            await fetch(server.url, patience=0.2)


async def test_nobody_there_is_told():
    async with Server(b"") as server:
        gone = server.url
    with pytest.raises(TryLater, match="cannot be read"):
        await fetch(gone)


async def test_what_is_too_large_is_not_taken_in(monkeypatch):
    monkeypatch.setattr(module, "LARGEST", 10)
    async with Server(answer(b"x" * 11)) as server:
        with pytest.raises(TryLater, match="larger than 10 bytes"):
            await fetch(server.url)


async def test_a_url_that_is_none_is_told():
    with pytest.raises(TryLater, match="cannot be read"):
        await fetch("http://")
