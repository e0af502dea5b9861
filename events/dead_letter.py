"""What can never be done is kept where people find it, with the reason."""

from events.bus import Consumer, Message, Stored

REASON = "Alate-Dlq-Reason"
SUBJECT = "Alate-Dlq-Subject"
SEQUENCE = "Alate-Dlq-Sequence"


def one_line(reason: str) -> str:
    """A reason as a header can carry it."""
    return " ".join(reason.split())


def dead_letter(stored: Stored, consumer: Consumer, reason: str) -> Message:
    """The copy on ``dlq.<stream>.<consumer>``: all it said, why it could not be done, and where it stood."""
    why = {REASON: one_line(reason), SUBJECT: stored.subject, SEQUENCE: str(stored.sequence)}
    return Message(f"dlq.{consumer.stream}.{consumer.name}", stored.data, {**stored.headers, **why})
