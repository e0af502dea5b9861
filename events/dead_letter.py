"""Dead letters keep a failed message and the reason; a redrive delivers it again to the consumer that failed."""

from dataclasses import dataclass

import msgspec

from events.bus import REDRIVE, Bus, Consumer, Expect, Message, Stored

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


TTL = "Nats-TTL"
"""The header that says after how many seconds a message is forgotten (ADR-43 of nats-architecture-and-design)."""
KEPT_FOR = 7 * 86_400
"""Seconds it is kept: so long it is told once, however often it is asked for."""


@dataclass(frozen=True, slots=True)
class Redrive:
    """To whom a message is told once more; of equal `mark` and subject only the first is told."""

    stream: str
    consumer: str
    mark: str
    """One token: which dead letter, or which replay."""


def redriven(stored: Stored, to: Redrive, subject: str) -> Message:
    """The same event on the consumer's own subject, which ends in the `subject` it was first said on."""
    headers = {name: value for name, value in stored.headers.items() if name not in (REASON, SUBJECT, SEQUENCE)}
    own = f"{REDRIVE}.{to.stream}.{to.consumer}.{to.mark}.{subject}"
    return Message(own, stored.data, {**headers, TTL: str(KEPT_FOR)})


async def publish_once(bus: Bus, message: Message) -> int:
    """Tell it; a second time gives the sequence of the first. Raises Unavailable, Denied."""
    return await bus.publish(message, expect=Expect(message.subject, 0), msg_id=message.subject)


def original(stored: Stored) -> Stored:
    """What a consumer hears: the subject is the one the message was first said on."""
    if not stored.subject.startswith(f"{REDRIVE}."):
        return stored
    return msgspec.structs.replace(stored, subject=stored.subject.split(".", 4)[4])
