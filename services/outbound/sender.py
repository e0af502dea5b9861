"""Sends what notifications are made of: requests over HTTP, and texts through apprise."""

from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager

from events.http.addresses import Reach
from services.outbound.apprise_process import AppriseProcesses
from services.outbound.formats import ChatMessage, OutboundMessage
from services.outbound.http_client import PATIENCE, posting
from services.outbound.outcome import ReceiverResponse

PostMessage = Callable[[OutboundMessage], Awaitable[ReceiverResponse]]
"""Sends one message. Raises TryLater if nobody answers, ValueError for an URL that apprise cannot use."""
Opened = Callable[[], AbstractAsyncContextManager[PostMessage]]


@asynccontextmanager
async def sending(patience: float = PATIENCE, reach: Reach | None = None) -> AsyncIterator[PostMessage]:
    """A sender of both kinds; `reach` says which addresses are allowed, None: any."""
    apprise = AppriseProcesses(patience, reach)
    async with posting(patience, reach) as post:

        async def send(message: OutboundMessage) -> ReceiverResponse:
            return await (apprise.send(message) if isinstance(message, ChatMessage) else post(message))

        yield send
