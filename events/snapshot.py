"""What a stream keeps now is a feed up to its first word of having caught up."""

from collections.abc import AsyncGenerator
from contextlib import aclosing
from typing import Protocol

from events.bus import CaughtUp, FeedItem, Relisting, Stored


class Feeds(Protocol):
    """The part of a bus that gives feeds."""

    def feed(self, stream: str, *filters: str) -> AsyncGenerator[FeedItem, None]:
        """See `events.bus.Bus`."""
        ...


async def tips(bus: Feeds, stream: str, *filters: str) -> list[Stored]:
    """The last message of every subject that matches, in stream order. Raises Unavailable."""
    found: dict[str, Stored] = {}
    async with aclosing(bus.feed(stream, *filters)) as feed:
        async for fed in feed:
            match fed:
                case Relisting():
                    found.clear()
                case CaughtUp():
                    break
                case Stored():
                    found.pop(fed.subject, None)  # while all is listed more may come: the newest is the last in order
                    found[fed.subject] = fed
    return list(found.values())
