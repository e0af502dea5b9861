"""Who has nothing better to do than to wait for the bus says and reads by it without an end to its patience."""

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable
from typing import TypeVar

import structlog

from events.backoff import Backoff
from events.bus import Bus, Expect, FeedItem, Message, Stored, Unavailable

T = TypeVar("T")

FIRST, LONGEST = 1.0, 30.0
"""Seconds between two tries, doubled from the first to the longest: so late, an outage's end is noticed."""

log = structlog.get_logger()


async def retry_forever(jitter: Callable[[], float], call: Callable[[], Awaitable[T]]) -> T:
    """Call until the bus answers, less and less often; `jitter` gives 0 to 1."""
    backoff = Backoff(jitter, FIRST, LONGEST)
    while True:
        try:
            return await call()
        except Unavailable as away:
            log.warning("bus.unavailable", tries=backoff.failures + 1, reason=str(away))
            await asyncio.sleep(backoff.next_delay())


class RetryingBus:
    """The part of a bus that levels need; its calls end with an answer, however long that takes."""

    def __init__(self, bus: Bus, jitter: Callable[[], float]) -> None:
        """`jitter` gives 0 to 1."""
        self._bus = bus
        self._jitter = jitter

    async def publish(self, message: Message, *, expect: Expect | None = None, msg_id: str | None = None) -> int:
        """See the port; a repeat is our own publish, and no conflict. Raises `Conflict`, `Denied`."""
        return await retry_forever(self._jitter, lambda: self._bus.publish(message, expect=expect, msg_id=msg_id))

    async def last(self, stream: str, filter: str) -> Stored | None:  # noqa: A002 - JetStream's own word
        """See the port."""
        return await retry_forever(self._jitter, lambda: self._bus.last(stream, filter))

    def feed(self, stream: str, *filters: str) -> AsyncGenerator[FeedItem, None]:
        """See the port: a feed that has begun waits by itself; one that cannot begin raises `Unavailable`."""
        return self._bus.feed(stream, *filters)
