"""What a receiver's response means for a notification, as one table."""

from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from enum import StrEnum
from typing import NamedTuple

LONGEST_WAIT = 86_400.0
"""Seconds a receiver may ask us to wait."""
FOR_GOOD = frozenset({400, 405, 406, 410, 411, 413, 414, 415, 422, 431, 501})
"""Statuses that the same bytes will get again; what a changed secret or address mends is not among them."""
NO_CHANGE = b"Cannot transition status"
"""What GitLab says, with 400, to a status that is that already."""


class ReceiverResponse(NamedTuple):
    """The response of a receiver."""

    status: int
    retry_after: str = ""
    """As the header has it: seconds, or a date."""
    body: bytes = b""
    """Its beginning."""
    date: str = ""
    """When it was sent, by the receiver's clock."""


class Outcome(StrEnum):
    """What comes next."""

    DELIVERED = "delivered"
    AGAIN = "again"
    NEVER = "never"


def outcome(answer: ReceiverResponse) -> Outcome:
    """A redirect is never followed: what is signed for one receiver goes to no other."""
    if 200 <= answer.status < 300 or (answer.status == 400 and NO_CHANGE in answer.body):
        return Outcome.DELIVERED
    if 300 <= answer.status < 400 or answer.status in FOR_GOOD:
        return Outcome.NEVER
    return Outcome.AGAIN


def retry_delay(answer: ReceiverResponse, now: datetime) -> float:
    """Seconds the receiver wants to be left alone; 0 if it does not say. A date is held against its own clock."""
    said = answer.retry_after.strip()
    if said.isascii() and said.isdigit():
        return min(float(said[:9]), LONGEST_WAIT)
    until = _moment(said)
    wait = (until - (_moment(answer.date) or now)).total_seconds() if until else 0.0
    return min(max(0.0, wait), LONGEST_WAIT)


def _moment(said: str) -> datetime | None:
    """The date of a header; None if it is no date."""
    try:
        at = parsedate_to_datetime(said)
    except ValueError:
        return None
    return at.replace(tzinfo=at.tzinfo or UTC)
