"""One request and its answer, decoded, with a deadline on everything."""

import asyncio
import json
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import Any, TypeVar

from events.kube.client import Request, Transport
from tests.contracts.api.normal import decoded
from tests.contracts.api.talk import JSON

DEADLINE = 45.0
"""Seconds until what is waited for must be so: the real garbage collector learns new kinds every 30 s."""
QUIET = 10.0
"""Seconds in which the next event of a watch must come."""
PAUSE = 0.05
T = TypeVar("T")


@dataclass(frozen=True)
class Answer:
    """What a server said."""

    status: int
    media: str
    warnings: tuple[str, ...]
    body: Any


async def ask(
    way: Transport,
    method: str,
    path: str,
    body: Any = None,
    *,
    media: str = JSON,
    accept: str = JSON,
    query: Mapping[str, str] | None = None,
) -> Answer:
    sent = body.encode() if isinstance(body, str) else b"" if body is None else json.dumps(body).encode()
    headers = {"Content-Type": media, "Accept": accept, "User-Agent": "talker/1"}
    given = await way.send(Request(method, path, query or {}, headers, sent))
    content = next((value for name, value in given.headers.items() if name.lower() == "content-type"), "")
    return Answer(given.status, content.partition(";")[0], _warnings(given.headers), decoded(given.body))


def _warnings(headers: Mapping[str, str]) -> tuple[str, ...]:
    whole = getattr(headers, "getall", lambda name, default: [headers[name]] if name in headers else default)
    return tuple(
        each.strip(" ,") for value in whole("Warning", []) for each in value.split("299 - ") if each.strip(" ,")
    )


async def until(look: Callable[[], Awaitable[T]], when: Callable[[T], bool]) -> T:
    """Look again until it is so; after the deadline, what was seen last."""
    end = asyncio.get_running_loop().time() + DEADLINE
    found = await look()
    while not when(found) and asyncio.get_running_loop().time() < end:
        await asyncio.sleep(PAUSE)  # real processes tell nobody
        found = await look()
    return found
