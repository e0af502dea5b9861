"""What is gone is told by an empty message in its place, so that whoever keeps what was there forgets it at once.

It is not purged from a stream that keeps one message per subject. What nats-server drops by that limit leaves no mark
on disk: killed after the newest message was purged, it takes up an older one again (2.15.1: 5 of 48 on average). A
rollup would leave a mark, but a consumer that is made meanwhile is then given nothing at all (5 of 12).
"""

from collections.abc import Iterable

from events.bus import Message, Stored
from events.redrive import TTL

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
