"""The port to the bus: publish with compare-and-swap, read the last state, subscribe, be notified."""

from collections.abc import AsyncGenerator, Callable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Protocol

import msgspec

from events.rpc import RpcService

REDRIVE = "redrive"
"""The first token of subjects on which messages are redelivered to one consumer."""
EPOCH = datetime.fromtimestamp(0, UTC)
Clock = Callable[[], datetime]
"""Returns the time now, in UTC."""


class Unavailable(Exception):
    """The bus did not answer in time; whether the message was stored is not known. Safe to repeat."""


@dataclass(eq=False)
class Conflict(Exception):
    """The compare-and-swap was lost: the subject's last sequence is another."""

    expected: int


# Structs, not dataclasses, for what is made once or more per message: a tenth of the cost.
class Message(msgspec.Struct, frozen=True, gc=False):
    """What is published: a subject, bytes, and headers (CloudEvents attributes, trace context)."""

    subject: str
    data: bytes
    headers: Mapping[str, str] = {}


class Stored(Message, frozen=True, gc=False):
    """A message as its stream keeps it."""

    sequence: int = 0
    """Its place in the stream; the expected value of the next compare-and-swap."""
    time: datetime = EPOCH
    """When the server stored it (UTC)."""


class Expect(msgspec.Struct, frozen=True, gc=False):
    """The compare-and-swap: publish only if `sequence` is still the last one on `history` (0: none yet)."""

    history: str
    sequence: int


@dataclass(frozen=True, slots=True)
class Timer:
    """A message that the bus delivers on `target` at the time `at`; a second one of the same `subject` replaces it."""

    subject: str
    target: str
    at: datetime


@dataclass(frozen=True, slots=True)
class Consumer:
    """A durable consumer: acknowledged messages never come again, others do."""

    name: str
    stream: str
    filters: tuple[str, ...]
    max_deliver: int = 8
    """Deliveries of a message before it becomes a dead letter."""
    ack_wait: float = 30.0
    """Seconds until an unacknowledged message is redelivered."""
    in_flight: int = 256
    """The most messages that may be unacknowledged."""

    @property
    def heard(self) -> tuple[str, ...]:
        """Its filters, and the subject on which it alone receives redeliveries: see `events.streams`."""
        return (*self.filters, f"{REDRIVE}.{self.stream}.{self.name}.>")


@dataclass(frozen=True, slots=True)
class ConsumerLag:
    """The lag of a durable consumer."""

    consumer: str
    stream: str
    filters: tuple[str, ...]
    pending: int
    """Messages that are not delivered yet."""
    unanswered: int
    """Messages that are delivered and not acknowledged."""
    redelivered: int
    """Unacknowledged messages that were delivered more than once."""


class CaughtUp:
    """Marks that a feed has delivered everything that was stored at its start; what follows is live."""


class Relisting:
    """Marks that a feed starts over: all stored messages follow, then `CaughtUp`; other subjects are deleted."""


FeedItem = Stored | CaughtUp | Relisting
"""What a feed delivers."""


class Delivery(Protocol):
    """A delivered message, which must be answered exactly once."""

    @property
    def stored(self) -> Stored: ...
    @property
    def attempt(self) -> int:
        """The number of this delivery, from 1."""
        ...

    async def ack(self) -> None:
        """Acknowledge the message."""
        ...

    async def retry(self, after: float) -> None:
        """Redeliver the message in `after` seconds; after the consumer's last attempt it becomes a dead letter."""
        ...

    async def reject(self, reason: str) -> None:
        """Move the message to the dead letters, on ``dlq.<stream>.<consumer>``, with the reason."""
        ...


class Bus(Protocol):
    """The bus. Both adapters pass `tests/contracts/bus`; every call may raise `Unavailable`."""

    async def publish(
        self,
        message: Message,
        *,
        expect: Expect | None = None,
        cancels: str | None = None,
        msg_id: str | None = None,
        within: float | None = None,
    ) -> int:
        """Store a message and return its sequence.

        With `expect` it raises `Conflict` unless the history is where it should be; a repeat of our own
        publish whose acknowledgement was lost (same `msg_id`) is no conflict. `cancels` names the timer that is
        cancelled by the same message. Without `expect`, a repeat of `msg_id` inside the stream's window is stored once.
        After `within` seconds (None: the bus's own limit), or a second later, it is `Unavailable`.
        """
        ...

    async def last(self, stream: str, subject_filter: str) -> Stored | None:
        """The newest message on any subject the filter matches."""
        ...

    def feed(self, stream: str, *filters: str) -> AsyncGenerator[FeedItem, None]:
        """The last message of every matching subject, in stream order, then `CaughtUp`, then all that comes, for ever.

        Whenever it was lost, and now and then, it begins again: it gives `Relisting`, all that is kept, and `CaughtUp`.
        """
        ...

    def follow(
        self, stream: str, *filters: str, since: datetime | None = None
    ) -> AsyncGenerator[Stored | CaughtUp, None]:
        """Every message stored from `since` on (None: none), then `CaughtUp`, then all that comes, for ever.

        Survives reconnects without a gap: after one, some messages may come again.
        """
        ...

    def consume(self, consumer: Consumer) -> AsyncGenerator[Delivery, None]:
        """Messages of a durable consumer, which is created if it is missing, until cancelled."""
        ...

    async def wake(self, timer: Timer) -> None:
        """Set the timer of a subject, replacing an earlier one. It fires once, never early."""
        ...

    async def purge(self, stream: str, subject_filter: str) -> int:
        """Delete every matching message; returns how many."""
        ...

    async def count(self, stream: str, subject_filter: str) -> int:
        """The number of stored messages on matching subjects."""
        ...

    async def read(self, stream: str, subject_filter: str) -> tuple[Stored, ...]:
        """Every stored message on matching subjects, oldest first."""
        ...

    async def at(self, stream: str, sequence: int) -> Stored | None:
        """The message at one sequence of the stream; None if it is not stored."""
        ...

    async def drop(self, stream: str, sequence: int) -> bool:
        """Delete one message; False if it does not exist."""
        ...

    async def consumers(self, stream: str) -> tuple[ConsumerLag, ...]:
        """Every durable consumer of the stream, by name."""
        ...

    async def unanswered(self, consumer: Consumer) -> int:
        """The number of messages that the durable consumer has not acknowledged."""
        ...

    async def answer(self, desk: RpcService) -> None:
        """Serve an RPC service until cancelled."""
        ...

    async def ask(self, subject: str, data: bytes = b"") -> bytes:
        """Send one request; `Unavailable` without a reply in a few seconds, `Denied` if it is refused."""
        ...

    async def notify(self, subject: str, data: bytes) -> None:
        """Publish a message that is not stored, for current subscribers only."""
        ...

    @property
    def trouble(self) -> str:
        """One sentence if subscriptions may be incomplete, else empty."""
        ...

    async def close(self) -> None:
        """Flush and disconnect."""
        ...


SCHEDULE = "Nats-Schedule"
"""The header of a timer's message that says when: ``@at <RFC 3339>`` (ADR-51 of nats-architecture-and-design)."""


MARKER = "Nats-Marker-Reason"
"""The header of the marker that the server stores where a subject's last message has expired (ADR-43)."""


def schedule(timer: Timer) -> dict[str, str]:
    """The value of that header."""
    return {SCHEDULE: f"@at {timer.at.isoformat()}"}
