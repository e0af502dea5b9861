"""Tells the sender of a request what became of it, on the inbox that the request names.

A publish to a stream has its reply subject taken by the stream's own acknowledgement, which says that the message is
kept, not that it is any good. So the inbox is named in a header, which is kept with the message: whoever works it off
can answer, however much later.
"""

import re
from collections.abc import Mapping

import msgspec

REPLY_TO = "Alate-Reply-To"
# Nothing but an inbox, so that nobody can have us publish where they may not.
_INBOX = re.compile(r"_INBOX(?:_[A-Za-z0-9_-]+)?(?:\.[A-Za-z0-9_-]+){1,8}")


class RequestOutcome(msgspec.Struct, frozen=True, kw_only=True):
    """What became of a request."""

    id: str
    """The request's ``ce-id``."""
    accepted: bool
    colony: str = ""
    """Name of the Colony it is about, if it was accepted."""
    reason: str = ""
    """What is wrong with it, and what would be right, if it was not; it is a dead letter then."""

    def encoded(self) -> bytes:
        """As JSON."""
        return msgspec.json.encode(self)


def reply_to(headers: Mapping[str, str]) -> str:
    """The inbox a message names; empty if it names none."""
    named = headers.get(REPLY_TO, "")
    return named if _INBOX.fullmatch(named) else ""
