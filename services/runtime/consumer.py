"""Receives messages: a service's subscriptions as data, and the worker of a durable consumer with its fault policy."""

import asyncio
from collections.abc import Awaitable, Callable, Hashable, Iterable
from contextlib import AsyncExitStack, aclosing
from dataclasses import dataclass
from datetime import datetime
from itertools import groupby
from typing import Any, NamedTuple, TypeVar

import msgspec
import structlog

from events.backoff import Backoff
from events.bus import Consumer, Delivery, Stored, Unavailable
from events.errors import TryLater
from events.meters import UNDECODABLE
from events.streams import is_tombstone
from events.telemetry import Trace
from schemas.entity import Lifecycle
from schemas.registry import Declaration, Stream, declared
from schemas.subjects import Key, names_of
from services.runtime.context import Context
from services.runtime.machine import Event
from services.runtime.read_model import Decoders, Undecodable
from services.runtime.workqueue import FAILURES, PARALLEL, WorkQueue

FIRST, LONGEST = 1.0, 60.0
"""Seconds until a message is delivered again that cannot be handled yet, doubled from the first to the longest."""
AFTER_A_FAULT = 5.0
"""Seconds, at least, until a message is delivered again over which our own code failed."""
ATTEMPTS = 8
"""Attempts until a message is rejected over which our own code fails."""
OURS = "a fault of alate's own, described in its log"

log = structlog.get_logger()


class Received(NamedTuple):
    """A delivery that waits for its lane, since some time of the event loop."""

    delivery: Delivery
    at: float

    def __hash__(self) -> int:
        return id(self.delivery)


async def ignore(_: Delivery, __: str) -> None:
    """Tell nobody of a rejected message."""


class Worker:
    """Calls `handle` with every delivery; `handle` acknowledges it, or raises.

    `Unavailable` leaves it unanswered, so that it is delivered again; after `TryLater` it is delivered again after a
    back-off. What cannot be read (`Undecodable`, `invalid`) is rejected to the dead letters. Any other exception is a
    fault of our own: it is logged with its stack and tried again, a few times, before the message is rejected.
    """

    def __init__(  # noqa: PLR0913 - how each kind of message is handled
        self,
        context: Context,
        consumer: Consumer,
        handle: Callable[[Delivery], Awaitable[None]],
        *,
        invalid: tuple[type[Exception], ...] = (),
        rejected: Callable[[Delivery, str], Awaitable[None]] = ignore,
        lane: Callable[[Delivery], Hashable] | None = None,
        parallel: int = PARALLEL,
        takes: float = 0.0,
    ) -> None:
        """`lane` gives what shares an order with a delivery (None: all are handled one after another).

        `rejected` is called with each rejected delivery and the reason. `takes`: seconds in which one is handled, as
        what has begun may be at the end.
        """
        self._bus = context.bus
        self._consumer = consumer
        self._handle = handle
        self._jitter = context.jitter
        self._meters = context.meters
        self._invalid = invalid
        self._rejected = rejected
        self._takes = takes
        self._queue: WorkQueue[Received] | None = None
        if lane is not None:
            self._queue = WorkQueue(self._take_in_time, lane=lambda item: lane(item.delivery), parallel=parallel)

    async def run(self) -> None:
        """Handle messages for ever."""
        async with AsyncExitStack() as stack:
            if self._queue is not None:
                await stack.enter_async_context(self._queue.running(self._takes))
            deliveries = await stack.enter_async_context(aclosing(self._bus.consume(self._consumer)))
            async for delivery in deliveries:
                if self._queue is None:
                    await self._take(delivery)
                else:
                    self._queue.add(Received(delivery, asyncio.get_running_loop().time()))

    async def _take_in_time(self, item: Received) -> None:
        """Handle it, unless it waited so long behind others of its lane that it is delivered again anyway."""
        if asyncio.get_running_loop().time() - item.at <= self._consumer.ack_wait - self._takes:
            await self._take(item.delivery)

    async def _take(self, delivery: Delivery) -> None:
        subject = delivery.stored.subject
        try:
            await self._try(delivery)
        except Unavailable as away:  # it could not be answered, so it is delivered again
            log.warning("bus.unavailable", subject=subject, reason=str(away))

    async def _try(self, delivery: Delivery) -> None:
        subject = delivery.stored.subject
        try:
            await self._handle(delivery)
        except Unavailable:
            raise
        except TryLater as later:
            log.info("message.put_off", subject=subject, attempt=delivery.attempt, reason=str(later))
            await self._retry(delivery, later.after)
        except Undecodable as wrong:
            self._meters.count(UNDECODABLE, subject.partition(".")[0])
            await self._reject(delivery, str(wrong))
        except self._invalid as wrong:
            await self._reject(delivery, f"{subject}: {wrong}")
        except Exception:  # a fault of ours must not stop the other messages
            log.exception("message.failed", subject=subject, consumer=self._consumer.name, attempt=delivery.attempt)
            self._meters.count(FAILURES, self._consumer.name)
            if delivery.attempt < ATTEMPTS:
                await self._retry(delivery, AFTER_A_FAULT)
            else:
                await self._reject(delivery, f"{subject}: {OURS}")

    async def _retry(self, delivery: Delivery, least: float) -> None:
        backoff = Backoff(self._jitter, FIRST, LONGEST, failures=delivery.attempt - 1)
        await delivery.retry(backoff.next_delay(least))

    async def _reject(self, delivery: Delivery, reason: str) -> None:
        log.warning("message.rejected", subject=delivery.stored.subject, reason=reason)
        await delivery.reject(reason)
        await self._rejected(delivery, reason)


class SharedAck:
    """Acknowledges one delivery once every entity it concerns has handled it."""

    def __init__(self, delivery: Delivery, waiting_for: int) -> None:
        self._delivery = delivery
        self._left = waiting_for
        self._failed = False

    async def done(self) -> None:
        """One entity has handled it."""
        self._left -= 1
        if not self._left and not self._failed:
            await self._delivery.ack()

    async def retry(self, after: float) -> None:
        """One entity could not handle it: the message is delivered again to all of them, in `after` seconds."""
        if not self._failed:
            self._failed = True
            await self._delivery.retry(after)


@dataclass(frozen=True, slots=True, eq=False)
class WorkItem:
    """An event for one entity, with what is known of the message it came in."""

    key: Key
    event: Event
    cause: str
    ack: SharedAck
    trace: Trace
    template: str
    stored: datetime
    """When the bus stored the message."""


class Resume(NamedTuple):
    """Do again what the state of an entity asks for."""

    key: Key
    reload: bool = True
    """Read the state again first: what is known of it may be old by now."""


S = TypeVar("S", bound=msgspec.Struct)
EntityTargets = Iterable[tuple[Key, Event]]
MessageRoute = Callable[[tuple[str, ...], Any], EntityTargets]
"""From the subject's names and the message to the entities it concerns, each with the event it means for them."""


@dataclass(frozen=True)
class Subscription:
    """Which messages, on a filter of a stream, concern which entities."""

    stream: Stream
    filter: str
    declarations: tuple[Declaration, ...]
    route: MessageRoute


def subscribe(struct: type[S], route: Callable[[tuple[str, ...], S], EntityTargets]) -> Subscription:
    """Subscribe to one declared message on all of its subjects."""
    declaration = declared(struct)
    return Subscription(declaration.stream, wildcard(declaration.subject), (declaration,), route)


def subscribe_all(lifecycle: Lifecycle, route: MessageRoute) -> Subscription:
    """Subscribe to every state of another service's entities."""
    states = tuple(declared(state) for state in lifecycle.states)
    return Subscription(Stream.EVENTS, f"{lifecycle.domain}.*.*.*", states, route)


def wildcard(subject: str) -> str:
    """The filter that matches every subject of a template: ``a.b.{c}`` becomes ``a.b.*``."""
    return ".".join("*" if part.startswith("{") else part for part in subject.split("."))


def consumers(service: str, domain: str, lines: Iterable[Subscription]) -> tuple[Consumer, ...]:
    """The durable consumers of a service, one per stream, including the timers of its own entities."""
    filters = [(Stream.EVENTS, f"due.{domain}.*.*"), *((line.stream, line.filter) for line in lines)]
    streams = groupby(sorted(filters), key=lambda line: line[0])
    return tuple(
        Consumer(f"{service}-{stream.lower()}", stream, tuple(f for _, f in group)) for stream, group in streams
    )


class Router:
    """Turns stored messages into (entity, event) pairs, by the subscriptions of one service."""

    def __init__(self, lines: Iterable[Subscription]) -> None:
        routes = [(declaration, line.route) for line in lines for declaration in line.declarations]
        self._decoders = Decoders(declaration for declaration, _ in routes)
        self._routes = {tuple(declaration.subject.split(".")[:2]): route for declaration, route in routes}

    def read(self, stored: Stored) -> tuple[tuple[Key, Event], ...]:
        """The entities a message concerns; none for a tombstone and for a subject without subscription.

        Raises Undecodable.
        """
        names = names_of(stored.subject)
        route = self._routes.get(names[:2])
        if route is None or is_tombstone(stored):
            return ()
        return self._decoders.read(stored, lambda message: tuple(route(names, message)))
