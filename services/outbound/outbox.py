"""The outbox: one message per event and target, delivered in order per cluster, retried for a day, then rejected."""

from collections.abc import Iterable, Iterator
from typing import NamedTuple

import msgspec
import structlog

from events.backoff import Backoff
from events.bus import Consumer, Delivery, Message, Stored
from events.cloudevents import Malformed, decode
from events.errors import TryLater
from events.meters import OUTBOUND
from events.telemetry import hearing, inject, sending
from schemas.cluster import ClusterState
from schemas.registry import UNREADABLE, Stream
from schemas.subjects import Key, key_of, names_of
from services.outbound.formats import (
    ClusterLife,
    ClusterSummary,
    Notification,
    OutboundMessage,
    OutboundRequest,
    cluster_life,
    commit_of,
    request,
)
from services.outbound.outcome import Outcome, outcome, retry_delay
from services.outbound.sender import PostMessage
from services.outbound.targets import Target, TargetFile
from services.outbound.texts import cluster_state
from services.runtime.consumer import Worker
from services.runtime.context import Context
from services.runtime.read_model import Undecodable

STREAM = "OUTBOUND"
"""The stream with the outbox."""
CLUSTER = "cluster"
READY, CHANGED = "ready", "changed"
"""The event that receivers get when a cluster becomes ready, and the one at each change while it stays ready."""
OUTBOX_CONSUMER = Consumer(
    "outbound-events", Stream.EVENTS, ("cluster.*.*.*", "addon.*.*.*", "teardown.*.*.*"), ack_wait=10.0
)
"""The consumer that fills the outbox."""
FORGES = ("github", "gitlab")

DELIVERY_CONSUMER = Consumer("outbound-outbound", STREAM, ("outbound.>",), max_deliver=16)
"""The consumer that delivers; sixteen attempts take about a day."""
FIRST, CAP = 5.0, 6 * 3600.0
"""Seconds before the second attempt, and at most between two."""
PARALLEL = 128
"""The most requests at a time: half of all delivered messages, so that none waits long."""
GRACE = 11.0
"""Seconds to wait for pending requests at shutdown: a little more than a receiver may take."""
UNKNOWN = ClusterLife(newest=True, was_ready=False)

QUIET = frozenset({"delivered", "late", "unwanted"})
"""Outcomes that need no attention."""
EVENTS = {
    "delivered": "outbound.delivered",
    "late": "outbound.late",
    "unwanted": "outbound.unwanted",
    "again": "outbound.again",
    "dead": "outbound.dead",
}
"""Log events by the result of an attempt."""

log = structlog.get_logger()


def wants(target: Target, stored: Stored, key: Key, *, stayed: bool) -> bool:
    """Whether the target wants the event. Raises msgspec.DecodeError."""
    event = stored.subject.split(".", 2)[1]
    if target.names_events:
        return target.listens(key.domain, CHANGED if stayed else event, key.tenant)
    if not target.listens(key.domain, event, key.tenant):
        return False
    if target.format in FORGES:
        return commit_of(msgspec.json.decode(stored.data, type=ClusterSummary), target.format) is not None
    return event in (READY, "released")


def outbox_messages(targets: Iterator[Target], stored: Stored, *, stayed: bool = False) -> Iterator[Message]:
    """The outbox messages of an event, one per target.

    Raises msgspec.DecodeError, ValueError. `stayed`: the cluster was ready before, which receivers of events get as a
    change, since they start work at ready.
    """
    key = key_of(stored.subject)
    headers = {name: value for name, value in stored.headers.items() if not name.startswith("Nats-")}
    changed = headers | {"ce-type": f"{headers.get('ce-type', '').rpartition('.')[0]}.{CHANGED}"}
    for target in targets:
        if wants(target, stored, key, stayed=stayed):
            own = changed if stayed and target.names_events else headers
            yield Message(f"outbound.{target.name}.{stored.subject}", stored.data, own)


def stayed_ready(history: Iterable[Stored], sequence: int) -> bool:
    """Whether the event with this sequence changes a cluster that was ready just before it."""
    before = [stored for stored in history if stored.sequence < sequence]
    return bool(before) and names_of(before[-1].subject)[1] == "ready"


class Outbox:
    """Writes the outbox."""

    def __init__(self, context: Context, targets: TargetFile) -> None:
        self._bus = context.bus
        self._targets = targets
        self._meters = context.meters
        self._clock = context.clock
        self._worker = Worker(context, OUTBOX_CONSUMER, self._store)

    async def run(self) -> None:
        """Work until cancelled."""
        await self._worker.run()

    async def _store(self, delivery: Delivery) -> None:
        """Store an event for each target that wants it. Raises Undecodable, Unavailable."""
        stored = delivery.stored
        try:
            stayed = await self._stayed(stored)
            messages = tuple(outbox_messages(iter(self._targets.now().values()), stored, stayed=stayed))
        except (*UNREADABLE, ValueError) as wrong:
            raise Undecodable(stored, wrong) from wrong
        with hearing(key_of(stored.subject), stored, self._meters, self._clock):
            for message in messages:
                await self._publish(message, stored)
        await delivery.ack()

    async def _stayed(self, stored: Stored) -> bool:
        """Whether it is a change of a cluster that was ready before. Raises ValueError."""
        key = key_of(stored.subject)
        if not stored.subject.startswith(f"{CLUSTER}.{READY}."):
            return False
        return stayed_ready(await self._bus.read(Stream.EVENTS, key.history), stored.sequence)

    async def _publish(self, message: Message, stored: Stored) -> None:
        """Store a message once, however often the event is delivered."""
        headers = dict(message.headers)
        with sending(message.subject, headers, self._meters):
            traced = Message(message.subject, message.data, headers)
            await self._bus.publish(traced, msg_id=f"{message.subject}.{stored.sequence}")


class DeliveryResult(NamedTuple):
    """The result of one attempt."""

    what: str
    """delivered, again, dead, late or unwanted."""
    why: str
    after: float = 0.0
    """Seconds until the next attempt."""


class DeliveryWorker:
    """Delivers the outbox."""

    def __init__(self, context: Context, targets: TargetFile, post: PostMessage) -> None:
        self._bus = context.bus
        self._targets = targets
        self._post = post
        self._clock = context.clock
        self._jitter = context.jitter
        self._meters = context.meters
        self._gone: dict[str, Target] = {}
        """Targets that said 410, as they were then: one that is changed is asked again."""
        self._worker = Worker(
            context, DELIVERY_CONSUMER, self._deliver,
            lane=lambda delivery: target_and_cluster(delivery.stored), parallel=PARALLEL, takes=GRACE,
        )  # fmt: skip

    async def run(self) -> None:
        """Work until cancelled."""
        await self._worker.run()

    async def _deliver(self, delivery: Delivery) -> None:
        name, key = target_and_cluster(delivery.stored)
        with hearing(key, delivery.stored, self._meters, self._clock):
            result = await self._attempt(name, key, delivery)
        self._meters.count(OUTBOUND, f"{name}.{result.what}")
        write = log.info if result.what in QUIET else log.warning
        write(EVENTS[result.what], target=name, attempt=delivery.attempt, entity=key.path, why=result.why)
        await self._settle(delivery, result)

    async def _settle(self, delivery: Delivery, result: DeliveryResult) -> None:
        if result.what == "dead":
            await delivery.reject(result.why)
        elif result.what == "again":
            await delivery.retry(result.after)
        else:
            await delivery.ack()

    async def _attempt(self, name: str, key: Key, delivery: Delivery) -> DeliveryResult:
        target = self._targets.now().get(name)
        if target is None:
            return DeliveryResult("unwanted", f"there is no target {name} any more")
        if self._gone.get(name) == target:
            return DeliveryResult("dead", f"target {name} has said 410: it wants no more")
        try:
            message = await self._request(target, key, delivery)
        except (Malformed, *UNREADABLE, ValueError) as wrong:
            return DeliveryResult("dead", f"target {name}: {wrong}")
        except TryLater as later:
            return self._again(name, delivery, str(later), later.after)
        return (
            await self._send(target, message, delivery)
            if message
            else DeliveryResult("late", "nothing to say of it now")
        )

    async def _request(self, target: Target, key: Key, delivery: Delivery) -> OutboundMessage | None:
        """Raises Malformed, msgspec.DecodeError, ValueError, TryLater."""
        if not (secrets := self._targets.secrets(target)):
            raise TryLater(f"there is no secret in the file {target.name} of the folder of secrets", FIRST)
        event = decode(delivery.stored.headers, delivery.stored.data)
        life, cluster = UNKNOWN, None
        if not target.names_events:
            life = cluster_life(await self._bus.read(Stream.EVENTS, key.history), event.id)
        if target.format == "apprise":
            cluster = await self._cluster(key)
        return request(target, Notification(event, key, life, self._clock(), cluster), secrets)

    async def _cluster(self, key: Key) -> ClusterState | None:
        """The last state of the cluster that an event is of. Raises msgspec.DecodeError."""
        name = key.name.partition(".")[0]  # an add-on is named CLUSTER.ADDON
        stored = await self._bus.last(Stream.EVENTS, Key(CLUSTER, key.tenant, name).history)
        return cluster_state(names_of(stored.subject)[1], stored.data) if stored is not None else None

    async def _send(self, target: Target, message: OutboundMessage, delivery: Delivery) -> DeliveryResult:
        try:
            answer = await self._post(_traced(message))
        except ValueError as wrong:  # what apprise cannot use as its URL
            return DeliveryResult("dead", f"target {target.name}: {wrong}")
        except TryLater as later:
            return self._again(target.name, delivery, str(later), 0.0)
        why = f"answered {answer.status}"
        match outcome(answer):
            case Outcome.DELIVERED:
                return DeliveryResult("delivered", why)
            case Outcome.AGAIN:
                return self._again(target.name, delivery, why, retry_delay(answer, self._clock()))
        if answer.status == 410:
            self._gone[target.name] = target
        return DeliveryResult("dead", f"target {target.name} {why}")

    def _again(self, name: str, delivery: Delivery, why: str, least: float) -> DeliveryResult:
        if delivery.attempt >= DELIVERY_CONSUMER.max_deliver:
            return DeliveryResult("dead", f"target {name}: {why}, and so {delivery.attempt} times")
        return DeliveryResult("again", why, Backoff(self._jitter, FIRST, CAP, delivery.attempt - 1).next_delay(least))


def _traced(message: OutboundMessage) -> OutboundMessage:
    """The message with the trace in its headers, where it has any."""
    if not isinstance(message, OutboundRequest):
        return message
    return OutboundRequest(message.url, inject(dict(message.headers)), message.body)


def target_and_cluster(stored: Stored) -> tuple[str, Key]:
    """The target and the cluster that a message of the outbox is for."""
    _, name, subject = stored.subject.split(".", 2)
    return name, key_of(subject)
