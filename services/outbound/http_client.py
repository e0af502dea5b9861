"""The HTTP client for notifications: short time-outs, checked addresses, no redirects."""

from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from urllib.parse import urlsplit

import aiohttp

from events.errors import TryLater
from events.http.addresses import Reach, Unreachable, check
from events.kube.sockets import Sockets
from services.outbound.formats import OutboundRequest
from services.outbound.outcome import ReceiverResponse

PATIENCE = 10.0
"""Time-out of a receiver in seconds; Standard Webhooks advises 15 to 30, but other messages of the target wait."""
READ = 4096
"""Bytes of a response that are read."""

PostRequest = Callable[[OutboundRequest], Awaitable[ReceiverResponse]]
"""Sends one request. Raises TryLater if nobody answers."""


@asynccontextmanager
async def posting(patience: float = PATIENCE, reach: Reach | None = None) -> AsyncIterator[PostRequest]:
    """A client that posts over HTTP with kept connections and without cookies.

    `reach` says which addresses are allowed; None: any.
    """
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
    """The reason of a failure, without text from the receiver."""
    cause = wrong.os_error if isinstance(wrong, aiohttp.ClientConnectorError) else wrong
    return f"not sent: {cause}" if isinstance(cause, Unreachable) else f"no answer: {type(wrong).__name__}"
