"""The streams: what each stores and for how long, the newest message per subject, and tombstones."""

from collections.abc import AsyncGenerator, Iterable
from contextlib import aclosing
from dataclasses import dataclass
from typing import Protocol

import msgspec

from events.bus import MARKER, REDRIVE, Bus, CaughtUp, Consumer, Expect, FeedItem, Message, Relisting, Stored
from schemas.member import BUCKET
from schemas.registry import Stream

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


DAY = 86_400.0


@dataclass(frozen=True)
class StreamSpec:
    """A stream's subjects and what it stores of them."""

    name: str
    subjects: tuple[str, ...]
    max_age: float = 0.0
    """Seconds until a message is deleted; 0: it is stored until it is purged."""
    per_subject: int = -1
    """How many messages are stored per subject; -1: all."""
    schedules: bool = False
    """Holds timers: a schedule's target must be in the same stream."""
    duplicate_window: float = 120.0
    """Seconds in which a repeated ``Nats-Msg-Id`` is stored once."""
    replicas: int = 0
    """Servers of a cluster that store each message; 0: as it is, and one for a new stream."""
    marker_ttl: float = 0.0
    """Seconds for which the server stores a marker where a subject's last message has expired; 0: it stores none."""

    @property
    def taken(self) -> tuple[str, ...]:
        """Its subjects, and those of redeliveries to its consumers: see `events.streams`."""
        return (*self.subjects, f"{REDRIVE}.{self.name}.>")


HOOK = "hook.{provider}.{tenant}.{endpoint}.{delivery}"
"""Subjects of webhook deliveries."""
NOTIFICATION = "outbound.{target}.{domain}.{event}.{tenant}.{name}"
"""Subjects of notifications for targets outside."""
ENTITIES = ("cluster", "addon", "teardown")

STREAMS = (
    # No age limit: an expired terminal message would bring an older state back. Purged by subject instead.
    StreamSpec("EVENTS", (*(f"{e}.*.*.*" for e in ENTITIES), "timer.>", "due.>"), schedules=True),
    StreamSpec("LEVELS", ("inventory.>", "observed.>"), per_subject=1),
    # Requests are few, and one that is stored twice would launch two clusters: so a week, not minutes.
    StreamSpec(
        "INTAKE",
        (
            "cluster.requested",
            "cluster.requested.*",
            "colony.release.*.*",
            "colony.scale.*.*.*",
            "colony.extend.*.*.*",
            "profile.requested.*",
            "profile.withdraw.*.*",
        ),
        max_age=14 * DAY,
        duplicate_window=7 * DAY,
    ),
    StreamSpec("HOOKS", ("hook.>",), max_age=14 * DAY),
    # Longer than the last attempt; delivered messages are stored, too.
    StreamSpec("OUTBOUND", ("outbound.>",), max_age=7 * DAY),
    StreamSpec("DLQ", ("dlq.>",), max_age=90 * DAY),
    StreamSpec(
        "ADVISORY",
        ("$JS.EVENT.ADVISORY.CONSUMER.MAX_DELIVERIES.>", "$JS.EVENT.ADVISORY.CONSUMER.MSG_TERMINATED.>"),
        max_age=30 * DAY,
    ),
    # A key-value bucket: `nats kv watch alate-members` shows who lives. Not in memory: a single server that begins
    # again would not have it, and services may make no streams.
    StreamSpec(Stream.MEMBERS.value, (f"$KV.{BUCKET}.>",), per_subject=1, marker_ttl=60.0),
)


class Feeds(Protocol):
    """The part of a bus that gives feeds."""

    def feed(self, stream: str, *filters: str) -> AsyncGenerator[FeedItem, None]:
        """See `events.bus.Bus`."""
        ...


async def tips(bus: Feeds, stream: str, *filters: str) -> list[Stored]:
    """The newest message of every subject that matches, in stream order. Raises Unavailable."""
    found: dict[str, Stored] = {}
    async with aclosing(bus.feed(stream, *filters)) as feed:
        async for fed in feed:
            match fed:
                case Relisting():
                    found.clear()
                case CaughtUp():
                    break
                case Stored():
                    found.pop(
                        fed.subject, None
                    )  # more may be published while these are read: the last in order is the newest
                    found[fed.subject] = fed
    return list(found.values())


GONE = "Alate-Gone"
"""The header that marks a tombstone."""
TOMBSTONE_KEPT_FOR = 7 * 86_400
"""Seconds until the tombstone is deleted as well: a reader that was disconnected for a long weekend resumes where it
was and must still find it; meanwhile it costs one small message per subject.
"""


def tombstone(subject: str, kept_for: int = TOMBSTONE_KEPT_FOR) -> Message:
    """The message that replaces the last one of a subject that was deleted; `kept_for` in seconds."""
    return Message(subject, b"", {GONE: "true", TTL: str(kept_for)})


def is_tombstone(stored: Stored) -> bool:
    """Whether it says only that the subject was deleted, or that its message has expired."""
    return GONE in stored.headers or MARKER in stored.headers


def standing(kept: Iterable[Stored]) -> tuple[Stored, ...]:
    """The messages that are not tombstones."""
    return tuple(stored for stored in kept if not is_tombstone(stored))
