"""The port to the bus: publish with compare-and-swap, read the last state, subscribe, be notified."""

from collections.abc import AsyncGenerator, Callable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Protocol

import msgspec

from events.rpc import RpcService

REDRIVE = "redrive"
"""The first token of what is told once more to one consumer."""
EPOCH = datetime.fromtimestamp(0, UTC)
Clock = Callable[[], datetime]
"""Gives the time now, in UTC."""


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
    """A message that the bus delivers on `target` once `at` has come; one per `subject`, a second replaces it."""

    subject: str
    target: str
    at: datetime


@dataclass(frozen=True, slots=True)
class Consumer:
    """A durable place in a stream: what it has acknowledged never comes again, what it has not does."""

    name: str
    stream: str
    filters: tuple[str, ...]
    max_deliver: int = 8
    """How often a message is tried before it is a dead letter."""
    ack_wait: float = 30.0
    """Seconds until an unanswered message comes again."""
    in_flight: int = 256
    """How many messages may be out unanswered."""

    @property
    def heard(self) -> tuple[str, ...]:
        """Its filters, and where it alone is told something once more: see `events.dead_letter`."""
        return (*self.filters, f"{REDRIVE}.{self.stream}.{self.name}.>")


@dataclass(frozen=True, slots=True)
class ConsumerLag:
    """How far a durable consumer has come."""

    consumer: str
    stream: str
    filters: tuple[str, ...]
    pending: int
    """Messages it has still to be given."""
    unanswered: int
    """Messages that are out, or wait to come again."""
    redelivered: int
    """Those of them that were given more than once."""


class CaughtUp:
    """A feed's word that everything kept at its start has been given; what follows is live."""


class Relisting:
    """A feed's word that it begins again: all that is kept follows, then `CaughtUp`; what does not come is gone."""


FeedItem = Stored | CaughtUp | Relisting
"""What a feed gives."""


class Delivery(Protocol):
    """One message, handed out until it is answered; exactly one answer is given."""

    @property
    def stored(self) -> Stored: ...
    @property
    def attempt(self) -> int:
        """1 the first time."""
        ...

    async def ack(self) -> None:
        """It is done and never comes again."""
        ...

    async def retry(self, after: float) -> None:
        """Give it again in `after` seconds; at the consumer's last attempt it becomes a dead letter instead."""
        ...

    async def reject(self, reason: str) -> None:
        """It can never be done: keep it on ``dlq.<stream>.<consumer>`` with the reason, then never again."""
        ...


class Bus(Protocol):
    """How it travels. Both adapters pass `tests/contracts/bus`; every call may raise `Unavailable`."""

    async def publish(
        self,
        message: Message,
        *,
        expect: Expect | None = None,
        cancels: str | None = None,
        msg_id: str | None = None,
        within: float | None = None,
    ) -> int:
        """Store a message and give its sequence.

        With `expect` it raises `Conflict` unless the history stands where it should; a repeat of our own
        publish whose acknowledgement was lost (same `msg_id`) is no conflict. `cancels` names the timer that is
        dropped in the same stroke. Without `expect`, a repeat of `msg_id` inside the stream's window is stored once.
        After `within` seconds (None: the bus's own patience), or a second later, it is `Unavailable`.
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
        """Messages of a durable consumer (made if it is not there), for ever."""
        ...

    async def wake(self, timer: Timer) -> None:
        """Set the timer of a subject, replacing the one that is there. Fires once, never early."""
        ...

    async def purge(self, stream: str, subject_filter: str) -> int:
        """Forget everything the filter matches; gives how many messages that were."""
        ...

    async def count(self, stream: str, subject_filter: str) -> int:
        """How many messages the stream keeps on matching subjects."""
        ...

    async def read(self, stream: str, subject_filter: str) -> tuple[Stored, ...]:
        """Every message the stream keeps on matching subjects, oldest first: a history."""
        ...

    async def at(self, stream: str, sequence: int) -> Stored | None:
        """The message at one place of the stream, if it is still kept."""
        ...

    async def drop(self, stream: str, sequence: int) -> bool:
        """Forget one message; False if it was not there."""
        ...

    async def consumers(self, stream: str) -> tuple[ConsumerLag, ...]:
        """Every durable consumer of the stream, by name."""
        ...

    async def unanswered(self, consumer: Consumer) -> int:
        """How many messages the durable consumer has still to be given or to answer."""
        ...

    async def answer(self, desk: RpcService) -> None:
        """Answer questions until cancelled."""
        ...

    async def ask(self, subject: str, data: bytes = b"") -> bytes:
        """Ask whoever answers there, once; `Unavailable` if nobody does in a few seconds, `Denied` if it is refused."""
        ...

    async def notify(self, subject: str, data: bytes) -> None:
        """Say something to whoever listens there now; it is not kept, and nobody need be there."""
        ...

    @property
    def trouble(self) -> str:
        """Why what is followed is not known to be all there is, in one sentence; empty if it is."""
        ...

    async def close(self) -> None:
        """Leave: flush what is out, then disconnect."""
        ...


SCHEDULE = "Nats-Schedule"
"""The header of a timer's message that says when: ``@at <RFC 3339>`` (ADR-51 of nats-architecture-and-design)."""


def schedule(timer: Timer) -> dict[str, str]:
    """That header, as both adapters keep it."""
    return {SCHEDULE: f"@at {timer.at.isoformat()}"}
