"""Delivers outbox messages to their targets: in order per cluster, retried for a day, then a dead letter."""

from collections.abc import Callable
from datetime import datetime
from typing import NamedTuple

import structlog

from events.backoff import Backoff
from events.bus import Bus, Consumer, Delivery, Stored
from events.cloudevents import Malformed, decode
from events.errors import TryLater
from events.meters import OUTBOUND
from events.telemetry import Meters, hearing, inject
from schemas.registry import Stream
from schemas.subjects import Key, key_of
from schemas.wire import UNREADABLE
from services.outbound.formats import Notification, OutboundRequest, request
from services.outbound.http_client import PostRequest
from services.outbound.milestones import ClusterLife, cluster_life
from services.outbound.outbox import STREAM
from services.outbound.outcome import Outcome, outcome, retry_delay
from services.outbound.targets import Target, TargetFile
from services.runtime.worker import Worker

CONSUMER = Consumer("outbound-outbound", STREAM, ("outbound.>",), max_deliver=16)
"""The consumer; sixteen attempts take about a day."""
FIRST, CAP = 5.0, 6 * 3600.0
"""Seconds before the second attempt, and at most between two."""
AT_ONCE = 128
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
"""Log events by what became of a message."""

log = structlog.get_logger()


class DeliveryResult(NamedTuple):
    """The result of one attempt."""

    what: str
    """delivered, again, dead, late or unwanted."""
    why: str
    after: float = 0.0
    """Seconds until the next attempt."""


class DeliveryWorker:
    """Delivers the outbox."""

    def __init__(  # noqa: PLR0913 - its ports, and all that comes in from outside
        self,
        bus: Bus,
        targets: TargetFile,
        post: PostRequest,
        *,
        clock: Callable[[], datetime],
        jitter: Callable[[], float],
        meters: Meters,
    ) -> None:
        self._bus = bus
        self._targets = targets
        self._post = post
        self._clock = clock
        self._jitter = jitter
        self._meters = meters
        self._gone: dict[str, Target] = {}
        """Targets that said 410, as they were then: one that is changed is asked again."""
        self._worker = Worker(
            bus, CONSUMER, self._take, jitter=jitter, meters=meters,
            lane=lambda delivery: _place(delivery.stored), parallel=AT_ONCE, takes=GRACE,
        )  # fmt: skip

    async def run(self) -> None:
        """Deliver for ever."""
        await self._worker.run()

    async def _take(self, delivery: Delivery) -> None:
        name, key = _place(delivery.stored)
        with hearing(key, delivery.stored, self._meters, self._clock):
            came = await self._bring(name, key, delivery)
        self._meters.count(OUTBOUND, f"{name}.{came.what}")
        tell = log.info if came.what in QUIET else log.warning
        tell(EVENTS[came.what], target=name, attempt=delivery.attempt, entity=key.path, why=came.why)
        await self._answer(delivery, came)

    async def _answer(self, delivery: Delivery, came: DeliveryResult) -> None:
        if came.what == "dead":
            await delivery.reject(came.why)
        elif came.what == "again":
            await delivery.retry(came.after)
        else:
            await delivery.ack()

    async def _bring(self, name: str, key: Key, delivery: Delivery) -> DeliveryResult:
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

    async def _request(self, target: Target, key: Key, delivery: Delivery) -> OutboundRequest | None:
        """Raises Malformed, msgspec.DecodeError, ValueError, TryLater."""
        if not (secrets := self._targets.secrets(target)):
            raise TryLater(f"there is no secret in the file {target.name} of the folder of secrets", FIRST)
        event = decode(delivery.stored.headers, delivery.stored.data)
        stands = UNKNOWN
        if target.format != "cloudevents":
            stands = cluster_life(await self._bus.read(Stream.EVENTS, key.history), event.id)
        return request(target, Notification(event, key, stands, self._clock()), secrets)

    async def _send(self, target: Target, message: OutboundRequest, delivery: Delivery) -> DeliveryResult:
        traced = OutboundRequest(message.url, inject(dict(message.headers)), message.body)
        try:
            answer = await self._post(traced)
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
        if delivery.attempt >= CONSUMER.max_deliver:
            return DeliveryResult("dead", f"target {name}: {why}, and so {delivery.attempt} times")
        return DeliveryResult("again", why, Backoff(self._jitter, FIRST, CAP, delivery.attempt - 1).next_delay(least))


def _place(stored: Stored) -> tuple[str, Key]:
    """Target and cluster."""
    _, name, subject = stored.subject.split(".", 2)
    return name, key_of(subject)
