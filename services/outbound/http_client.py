"""The HTTP client for notifications: short time-outs, checked addresses, no redirects."""

from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from urllib.parse import urlsplit

import aiohttp

from events.errors import TryLater
from events.http.addresses import Reach, Unreachable, check
from events.kube.sockets import Sockets
from services.outbound.formats import OutboundRequest
from services.outbound.outcome import ReceiverResponse

PATIENCE = 10.0
"""Seconds a receiver may take; Standard Webhooks advises 15 to 30, but a target's others wait for it."""
READ = 4096
"""Bytes of an answer that are looked at."""

PostRequest = Callable[[OutboundRequest], Awaitable[ReceiverResponse]]
"""Sends one request. Raises TryLater if nobody answers."""
Opened = Callable[[], AbstractAsyncContextManager[PostRequest]]


@asynccontextmanager
async def posting(patience: float = PATIENCE, reach: Reach | None = None) -> AsyncIterator[PostRequest]:
    """Posts over HTTP; keeps connections and no cookies. `reach` says which addresses are allowed; None: any."""
    timeout = aiohttp.ClientTimeout(total=patience)
    agent = {"User-Agent": "alate"}
    connector = aiohttp.TCPConnector(socket_factory=Sockets(reach).make)
    async with aiohttp.ClientSession(
        connector=connector, timeout=timeout, headers=agent, cookie_jar=aiohttp.DummyCookieJar(), auto_decompress=False
    ) as session:

        async def post(request: OutboundRequest) -> ReceiverResponse:
            try:
                check(reach, urlsplit(request.url).hostname or "")
                async with session.post(
                    request.url, data=request.body, headers=request.headers, allow_redirects=False
                ) as answer:
                    body = await answer.content.read(READ)
                    said = answer.headers
                    return ReceiverResponse(answer.status, said.get("Retry-After", ""), body, said.get("Date", ""))
            except TimeoutError as late:
                raise TryLater(f"no answer in {patience:g} s") from late
            except (aiohttp.ClientError, OSError, ValueError) as wrong:
                raise TryLater(_why(wrong)) from wrong

        yield post


def _why(wrong: Exception) -> str:
    """Where it may not go is told; what else went wrong may hold what a receiver said."""
    cause = wrong.os_error if isinstance(wrong, aiohttp.ClientConnectorError) else wrong
    return f"not sent: {cause}" if isinstance(cause, Unreachable) else f"no answer: {type(wrong).__name__}"
