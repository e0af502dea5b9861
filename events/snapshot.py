"""The messages that a stream keeps now, and the tombstones that say that a subject was forgotten."""

from collections.abc import AsyncGenerator, Iterable
from contextlib import aclosing
from typing import Protocol

from events.bus import CaughtUp, FeedItem, Message, Relisting, Stored
from events.dead_letter import TTL


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


GONE = "Alate-Gone"
"""The header that tells a tombstone from an empty message."""
KEPT_FOR = 7 * 86_400
"""Seconds until the tombstone is forgotten as well: a reader cut off for a long weekend goes on where it was and must
still find it, and the one small message that a subject keeps meanwhile, however often it comes and goes, costs little.
"""


def tombstone(subject: str) -> Message:
    """The message that takes the place of what was there."""
    return Message(subject, b"", {GONE: "true", TTL: str(KEPT_FOR)})


def is_tombstone(stored: Stored) -> bool:
    """Whether it says only that nothing is there any more."""
    return GONE in stored.headers


def standing(kept: Iterable[Stored]) -> tuple[Stored, ...]:
    """Those of them that are no tombstones."""
    return tuple(stored for stored in kept if not is_tombstone(stored))
