"""The one way out over HTTP: short, to the address as it is written, and never further."""

from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager

import aiohttp

from events.faults import TryLater
from services.outbound.formats import Request
from services.outbound.outcome import Answer

PATIENCE = 10.0
"""Seconds a receiver may take; Standard Webhooks advises 15 to 30, but a target's others wait for it."""
READ = 4096
"""Bytes of an answer that are looked at."""

Post = Callable[[Request], Awaitable[Answer]]
"""Sends one request. Raises TryLater if nobody answers."""
Opened = Callable[[], AbstractAsyncContextManager[Post]]


@asynccontextmanager
async def posting(patience: float = PATIENCE) -> AsyncIterator[Post]:
    """A `Post` over real HTTP; keeps connections, and no cookies."""
    timeout = aiohttp.ClientTimeout(total=patience)
    agent = {"User-Agent": "alate"}
    async with aiohttp.ClientSession(timeout=timeout, headers=agent, cookie_jar=aiohttp.DummyCookieJar()) as session:

        async def post(request: Request) -> Answer:
            try:
                async with session.post(
                    request.url, data=request.body, headers=request.headers, allow_redirects=False
                ) as answer:
                    body = await answer.content.read(READ)
                    return Answer(answer.status, answer.headers.get("Retry-After", ""), body)
            except TimeoutError as late:
                raise TryLater(f"no answer in {patience:g} s") from late
            except aiohttp.ClientError as wrong:
                raise TryLater(f"no answer: {type(wrong).__name__}") from wrong

        yield post
