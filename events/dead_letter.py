"""Dead letters keep a failed message and the reason; a redrive delivers it again to the consumer that failed."""

from dataclasses import dataclass

import msgspec

from events.bus import REDRIVE, Bus, Consumer, Expect, Message, Stored

REASON = "Alate-Dlq-Reason"
SUBJECT = "Alate-Dlq-Subject"
SEQUENCE = "Alate-Dlq-Sequence"


def one_line(reason: str) -> str:
    """A reason in one line, as a header needs it."""
    return " ".join(reason.split())


def dead_letter(stored: Stored, consumer: Consumer, reason: str) -> Message:
    """The dead letter on ``dlq.<stream>.<consumer>``: the message, the reason and its place in the stream."""
    why = {REASON: one_line(reason), SUBJECT: stored.subject, SEQUENCE: str(stored.sequence)}
    return Message(f"dlq.{consumer.stream}.{consumer.name}", stored.data, {**stored.headers, **why})


TTL = "Nats-TTL"
"""The header with the seconds after which a message is deleted (ADR-43 of nats-architecture-and-design)."""
KEPT_FOR = 7 * 86_400
"""Seconds that a redelivery is stored; within them, repeats of it are ignored."""


@dataclass(frozen=True, slots=True)
class Redrive:
    """The consumer of a redelivery; of those with equal `mark` and subject only the first is stored."""

    stream: str
    consumer: str
    mark: str
    """One token that names the dead letter or the replay."""


def redriven(stored: Stored, to: Redrive, subject: str) -> Message:
    """The event on the consumer's own subject, which ends in its original `subject`."""
    headers = {name: value for name, value in stored.headers.items() if name not in (REASON, SUBJECT, SEQUENCE)}
    own = f"{REDRIVE}.{to.stream}.{to.consumer}.{to.mark}.{subject}"
    return Message(own, stored.data, {**headers, TTL: str(KEPT_FOR)})


async def publish_once(bus: Bus, message: Message) -> int:
    """Publish it; a repeat returns the sequence of the first. Raises Unavailable, Denied."""
    return await bus.publish(message, expect=Expect(message.subject, 0), msg_id=message.subject)


def original(stored: Stored) -> Stored:
    """The message with its original subject."""
    if not stored.subject.startswith(f"{REDRIVE}."):
        return stored
    return msgspec.structs.replace(stored, subject=stored.subject.split(".", 4)[4])
