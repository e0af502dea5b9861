"""Evaluates everything that Triggers can hear against those of its tenant, in order of arrival."""

import asyncio
from collections.abc import Iterator, Mapping
from datetime import datetime
from typing import Protocol

import structlog

from events.backoff import Backoff, Bucket, take, taken
from events.bus import Delivery, Message, Stored, Unavailable
from events.cloudevents import Malformed
from events.errors import TryLater
from events.meters import TRIGGERS
from events.streams import is_tombstone
from events.telemetry import hearing
from schemas.crds import InvalidResource
from schemas.registry import Stream
from schemas.requests import ClusterRequest, ProfileRequest
from schemas.subjects import key_of
from services.edge.triggers.bus_subject import EVENTS_CONSUMER, LEVELS_CONSUMER, BusSubject, kind_of
from services.edge.triggers.delivery import Channel, Heard, WebhookDelivery, channel_of, read_heard
from services.edge.triggers.evaluator_pool import Evaluator
from services.edge.triggers.fair_share import ShareExhausted
from services.edge.triggers.publisher import Creating, IntakePublisher, RequestCause, intake_message
from services.edge.triggers.rules import IntakeRequest, RuleResult
from services.edge.triggers.trigger import ActiveTrigger
from services.edge.webhooks.direct import direct_message, is_request, read_request
from services.edge.webhooks.inbox import CONSUMER
from services.expressions.processes import PATIENCE, TRIES, EvaluatorEnded, TooCostly
from services.runtime.consumer import Worker
from services.runtime.context import Context

AFTER = 5.0
"""Seconds, at least, until a delivery is retried for which a Trigger could not be evaluated."""
EVENTS = {
    "asked": "trigger.asked",
    "failed": "trigger.failed",
    "late": "trigger.late",
    "limited": "trigger.limited",
}
"""Log events by the outcome of a rule."""

CONSUMERS = (CONSUMER, EVENTS_CONSUMER, LEVELS_CONSUMER)
"""Webhooks, transitions of entities and levels."""
Limited = tuple[str, str, type[Creating]]
"""A Trigger and what it creates, which has a limit of its own."""

log = structlog.get_logger()


class TriggerSource(Protocol):
    """The Triggers of one origin: custom resources or files."""

    @property
    def listed(self) -> asyncio.Event:
        """Set once all Triggers are known."""
        ...

    def listening_to(self, channel: Channel) -> Iterator[ActiveTrigger]:
        """The active Triggers that hear what comes from there."""
        ...

    async def switch_off(self, trigger: ActiveTrigger, why: str) -> None:
        """Deactivate a Trigger until it is changed."""
        ...


class TriggerLoop:
    """Processes what is heard, that of one tenant and stream in order, so that no tenant waits for another."""

    def __init__(self, context: Context, evaluators: Evaluator, *sources: TriggerSource) -> None:
        """A Trigger that several sources have is taken from the first."""
        self._evaluators = evaluators
        self._sources = sources
        self._publisher = IntakePublisher(context)
        self._clock = context.clock
        self._meters = context.meters
        self._jitter = context.jitter
        self._bus = context.bus
        self._buckets: dict[Limited, Bucket | None] = {}
        self._before: dict[Limited, Mapping[RequestCause, datetime]] = {}
        """By Trigger and cause: the requests that were stored before this process first saw the Trigger."""
        self._ended: dict[tuple[str, str, RequestCause], int] = {}
        """How often an evaluator ended over a Trigger and what it heard."""
        self._workers = [
            Worker(
                context, consumer, self._handle, invalid=(Malformed,),
                lane=lambda delivery: _tenant(delivery.stored.subject), takes=PATIENCE,
            )
            for consumer in CONSUMERS
        ]  # fmt: skip

    async def run(self) -> None:
        """Process what comes until cancelled, once all Triggers are known."""
        for source in self._sources:
            await source.listed.wait()
        async with asyncio.TaskGroup() as group:
            for worker in self._workers:
                group.create_task(worker.run())

    async def _handle(self, delivery: Delivery) -> None:
        """Apply every Trigger; what a rule fails on becomes a dead letter after all other rules are applied.

        Raises Malformed, Unavailable, TryLater.
        """
        try:
            heard = await self._read(delivery.stored)
            wrong = await self._follow(heard, delivery.stored) if heard else []
        except EvaluatorEnded as why:
            raise TryLater(str(why), AFTER) from why
        await (delivery.reject("; ".join(wrong)) if wrong else delivery.ack())

    async def _read(self, stored: Stored) -> Heard | None:
        """A webhook, or a message that a Trigger hears; None: none hears it. Raises Malformed, Unavailable."""
        channel = channel_of(stored.subject)
        if not isinstance(channel, BusSubject):
            return read_heard(stored)
        if is_tombstone(stored) or not self._listening_to(channel):
            return None
        before = await self._state_before(stored) if channel.stream == Stream.EVENTS else ""
        return None if before == channel.kind else read_heard(stored, before)

    async def _state_before(self, stored: Stored) -> str:
        """The state of an entity before a transition; empty: it had none. Raises Unavailable."""
        before, own = "", stored.headers.get("ce-id")
        for each in await self._bus.read(Stream.EVENTS, key_of(stored.subject).history):
            if each.sequence >= stored.sequence or each.headers.get("ce-id") == own:  # a dead letter comes again later
                break
            before = "" if is_tombstone(each) else kind_of(each.subject)
        return before

    async def _follow(self, heard: Heard, stored: Stored) -> list[str]:
        """Carry out what every Trigger says of it; returns what could not be done. Raises EvaluatorEnded."""
        with hearing(heard.key, stored, self._meters, self._clock):
            wrong = await self._publish_direct(heard) if isinstance(heard, WebhookDelivery) else []
            for trigger in self._listening_to(heard.channel):
                wrong += await self._apply(trigger, heard)
        return wrong

    def _listening_to(self, channel: Channel) -> list[ActiveTrigger]:
        every = [each for source in reversed(self._sources) for each in source.listening_to(channel)]
        return sorted({(each.tenant, each.name): each for each in every}.values(), key=lambda one: one.name)

    async def _apply(self, trigger: ActiveTrigger, heard: Heard) -> list[str]:
        """Publish the requests of one Trigger; returns what could not be done. Raises EvaluatorEnded."""
        try:
            results = await self._evaluate(trigger, heard)
        except (TooCostly, ShareExhausted, InvalidResource) as error:
            self._meters.count(TRIGGERS, "costly")
            log.warning("trigger.costly", tenant=trigger.tenant, trigger=trigger.name, reason=str(error))
            return [f"Trigger {trigger.tenant}/{trigger.name}: {error}"]
        wrong = []
        for result in results:
            outcome, why = await self._carry_out(trigger, result, heard)
            if outcome:
                self._meters.count(TRIGGERS, outcome)
                fields = {"trigger": trigger.name, "rule": result.rule, "delivery": heard.event.id, "why": why}
                log.info(EVENTS[outcome], **fields)
            if outcome in {"failed", "limited"}:
                wrong.append(f"Trigger {trigger.tenant}/{trigger.name}, rule {result.rule}: {why}")
        return wrong

    async def _evaluate(self, trigger: ActiveTrigger, heard: Heard) -> tuple[RuleResult, ...]:
        """The results of its rules. Raises TooCostly, which deactivates it; ShareExhausted, EvaluatorEnded."""
        key = trigger.tenant, trigger.name, (heard.stream, heard.sequence)
        try:
            results, _ = await self._evaluators.evaluate(trigger, heard)
        except TooCostly as why:
            await self._switch_off(trigger, str(why))
            raise
        except EvaluatorEnded as why:
            ended = self._ended[key] = self._ended.get(key, 0) + 1
            if ended < TRIES:
                raise
            del self._ended[key]
            await self._switch_off(trigger, f"{why}, {ended} times")
            raise TooCostly(str(why)) from why
        self._ended.pop(key, None)
        return results

    async def _switch_off(self, trigger: ActiveTrigger, why: str) -> None:
        for source in self._sources:
            await source.switch_off(trigger, why)

    async def _carry_out(self, trigger: ActiveTrigger, result: RuleResult, heard: Heard) -> tuple[str, str]:
        """Publish what a rule requests; returns the outcome, empty if the rule does not hold, and the reason."""
        if result.intake is None:
            return ("failed" if result.failed else ""), result.why
        intake = result.intake
        if isinstance(intake, ClusterRequest | ProfileRequest) and await self._is_over_limit(
            trigger, type(intake), heard
        ):
            return "limited", f"more than {trigger.rate.burst} requests: see limit in its spec"
        late = await self._publish(intake, heard, intake_message(result, intake, heard, self._clock()))
        return late or ("asked", result.why)

    async def _publish_direct(self, heard: WebhookDelivery) -> list[str]:
        """Publish the request that an event is by itself, without a Trigger; returns what is wrong with it."""
        if not is_request(heard.event, heard.endpoint):
            return []
        try:
            request = read_request(heard.event, heard.endpoint)
        except InvalidResource as why:  # the receiver refuses such events: an older release stored it
            return [str(why)]
        late = await self._publish(request, heard, direct_message(request, heard, self._clock()))
        log.info("hook.late" if late else "hook.asked", delivery=heard.event.id, name=request.name)
        return []

    async def _publish(
        self, intake: IntakeRequest, heard: Heard, message: tuple[Message, str]
    ) -> tuple[str, str] | None:
        """Publish, retried until it is stored: later deliveries of the tenant must not overtake it."""
        backoff = Backoff(self._jitter, base=1.0)
        while True:
            try:
                if await self._publisher.is_late(intake, heard):
                    return "late", "a later delivery has let it go"
                await self._publisher.publish(*message)
            except Unavailable as away:
                log.warning("bus.unavailable", subject=message[0].subject, reason=str(away))
                await asyncio.sleep(backoff.next_delay())
            else:
                return None

    async def _is_over_limit(self, trigger: ActiveTrigger, kind: type[Creating], heard: Heard) -> bool:
        """Whether its limit is used up; requests stored before a restart count, too, and redeliveries count once."""
        limited, now = (trigger.tenant, trigger.name, kind), self._clock()
        if limited not in self._buckets:
            since = now - trigger.rate.memory
            self._before[limited] = await self._publisher.requests_since(kind, trigger.tenant, trigger.name, since)
            self._buckets[limited] = taken(trigger.rate, self._before[limited].values())
        if (heard.stream, heard.sequence) in self._before[limited]:
            return False
        self._buckets[limited], early = take(self._buckets[limited], trigger.rate, now)
        return early > 0


def _tenant(subject: str) -> str:
    """The tenant of a subject, within which the order is kept; empty for a subject of another form."""
    parts = subject.split(".")
    return parts[2] if len(parts) >= 4 else ""
