"""Whatever a founded cluster's API server sends, the process that asks it stays below a ceiling."""

import asyncio
import json
import sys
import zlib
from functools import cache
from pathlib import Path

import pytest
from aiohttp import web

pytestmark = [pytest.mark.stack, pytest.mark.timeout(60)]

ASKER = Path(__file__).with_name("hostile.py")
CEILING = 600.0
"""MiB that the peak may grow by; without bounds, 1.5 GB of one answer came to 4.6 GB of memory."""
MUCH = 1536
"""MiB."""
PIECE = b" " * (1 << 20)
SMALL = b'{"metadata":{"name":"p"},"x":[' + b"[]," * 340_000 + b"[]]}"


async def much(response):
    for _ in range(MUCH):
        await response.write(PIECE)


@cache
def bomb():
    """400 MB in 2 MB, without ever holding them."""
    pack = zlib.compressobj(1, zlib.DEFLATED, zlib.MAX_WBITS | 16)
    return b"".join([*(pack.compress(PIECE) for _ in range(MUCH // 4)), pack.flush()])


async def packed(response):
    await response.write(bomb())


async def line(response):
    await response.write(b'{"type":"ADDED","object":{"x":"')
    await much(response)


async def small(response):
    """A list of 340,000 lists, and then another page of it, and so on: values are larger than their text."""
    await response.write(b'{"metadata":{"continue":"x"},"items":[' + b",".join([SMALL] * 4) + b"]}")


CASES = {
    "an answer of 1.5 GB": (much, "list", {}, "TooLarge"),
    "a bomb of gzip": (packed, "list", {"Content-Encoding": "gzip"}, "TryLater"),
    "an event without end": (line, "watch", {}, "TooLarge"),
    "a watch of gzip": (packed, "watch", {"Content-Encoding": "gzip"}, "TryLater"),
    "pages of many small values without end": (small, "list", {}, "TooLarge"),
}


@pytest.mark.parametrize("case", CASES)
async def test_no_answer_fills_the_memory_of_who_asked(case):
    pour, way, headers, fault = CASES[case]

    async def answer(request):
        response = web.StreamResponse(headers=headers)
        await response.prepare(request)
        await pour(response)
        return response

    runner = web.ServerRunner(web.Server(answer))
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", 0)
    await site.start()
    try:
        asked = (sys.executable, str(ASKER), f"http://127.0.0.1:{runner.addresses[0][1]}", way, "3")
        process = await asyncio.create_subprocess_exec(
            *asked, stdout=asyncio.subprocess.PIPE, cwd=ASKER.parents[2], env={"PYTHONPATH": str(ASKER.parents[2])}
        )
        said, _ = await process.communicate()
    finally:
        await runner.cleanup()
    result = json.loads(said)
    assert [each.partition(":")[0] for each in result["told"]] == [fault] * 3
    assert result["grew"] < CEILING, result
