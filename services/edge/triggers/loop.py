"""Evaluates every stored delivery against the Triggers of its tenant, in order of arrival."""

import asyncio
from collections.abc import Iterator, Mapping
from datetime import datetime
from typing import Protocol

import structlog

from events.backoff import Backoff, Bucket, take, taken
from events.bus import Delivery, Message, Unavailable
from events.cloudevents import Malformed
from events.errors import TryLater
from events.meters import TRIGGERS
from events.telemetry import hearing
from schemas.crds import InvalidResource
from schemas.requests import ClusterRequest
from schemas.subjects import Key
from services.edge.triggers.delivery import WebhookDelivery, read_delivery
from services.edge.triggers.evaluator_pool import Evaluator
from services.edge.triggers.fair_share import ShareExhausted
from services.edge.triggers.publisher import IntakePublisher, intake_message
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

log = structlog.get_logger()


class TriggerSource(Protocol):
    """The Triggers of one origin: custom resources or files."""

    @property
    def listed(self) -> asyncio.Event:
        """Set once all Triggers are known."""
        ...

    def listening_to(self, delivery: WebhookDelivery) -> Iterator[ActiveTrigger]:
        """The active Triggers that listen to the delivery's endpoint."""
        ...

    async def switch_off(self, trigger: ActiveTrigger, why: str) -> None:
        """Deactivate a Trigger until it is changed."""
        ...


class TriggerLoop:
    """Processes deliveries, those of one tenant in order, so that no tenant waits for another."""

    def __init__(self, context: Context, evaluators: Evaluator, *sources: TriggerSource) -> None:
        """A Trigger that several sources have is taken from the first."""
        self._evaluators = evaluators
        self._sources = sources
        self._publisher = IntakePublisher(context)
        self._clock = context.clock
        self._meters = context.meters
        self._jitter = context.jitter
        self._buckets: dict[tuple[str, str], Bucket | None] = {}
        self._before: dict[tuple[str, str], Mapping[str, datetime]] = {}
        """By Trigger and delivery: the requests that were stored before this process first saw the Trigger."""
        self._ended: dict[tuple[str, str, int], int] = {}
        """How often an evaluator ended over a Trigger and a delivery."""
        self._worker = Worker(
            context, CONSUMER, self._handle, invalid=(Malformed,),
            lane=lambda delivery: _tenant(delivery.stored.subject), takes=PATIENCE,
        )  # fmt: skip

    async def run(self) -> None:
        """Process deliveries until cancelled, once all Triggers are known."""
        for source in self._sources:
            await source.listed.wait()
        await self._worker.run()

    async def _handle(self, delivery: Delivery) -> None:
        """Apply every Trigger; a delivery that a rule fails on becomes a dead letter after all other rules are applied.

        Raises Malformed, Unavailable, TryLater.
        """
        webhook = read_delivery(delivery.stored)
        key = Key("hook", webhook.endpoint.tenant, webhook.endpoint.name)
        try:
            with hearing(key, delivery.stored, self._meters, self._clock):
                wrong = await self._publish_direct(webhook)
                wrong += [why for each in self._listening_to(webhook) for why in await self._apply(each, webhook)]
        except EvaluatorEnded as why:
            raise TryLater(str(why), AFTER) from why
        await (delivery.reject("; ".join(wrong)) if wrong else delivery.ack())

    def _listening_to(self, webhook: WebhookDelivery) -> list[ActiveTrigger]:
        every = [each for source in reversed(self._sources) for each in source.listening_to(webhook)]
        return sorted({(each.tenant, each.name): each for each in every}.values(), key=lambda one: one.name)

    async def _apply(self, trigger: ActiveTrigger, webhook: WebhookDelivery) -> list[str]:
        """Publish the requests of one Trigger; returns what could not be done. Raises EvaluatorEnded."""
        try:
            results = await self._evaluate(trigger, webhook)
        except (TooCostly, ShareExhausted, InvalidResource) as error:
            self._meters.count(TRIGGERS, "costly")
            log.warning("trigger.costly", tenant=trigger.tenant, trigger=trigger.name, reason=str(error))
            return [f"Trigger {trigger.tenant}/{trigger.name}: {error}"]
        wrong = []
        for result in results:
            outcome, why = await self._carry_out(trigger, result, webhook)
            if outcome:
                self._meters.count(TRIGGERS, outcome)
                fields = {"trigger": trigger.name, "rule": result.rule, "delivery": webhook.event.id, "why": why}
                log.info(EVENTS[outcome], **fields)
            if outcome in {"failed", "limited"}:
                wrong.append(f"Trigger {trigger.tenant}/{trigger.name}, rule {result.rule}: {why}")
        return wrong

    async def _evaluate(self, trigger: ActiveTrigger, webhook: WebhookDelivery) -> tuple[RuleResult, ...]:
        """The results of its rules. Raises TooCostly, which deactivates it; ShareExhausted, EvaluatorEnded."""
        key = trigger.tenant, trigger.name, webhook.sequence
        try:
            results, _ = await self._evaluators.evaluate(trigger, webhook)
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

    async def _carry_out(self, trigger: ActiveTrigger, result: RuleResult, webhook: WebhookDelivery) -> tuple[str, str]:
        """Publish what a rule requests; returns the outcome, empty if the rule does not hold, and the reason."""
        if result.intake is None:
            return ("failed" if result.failed else ""), result.why
        if isinstance(result.intake, ClusterRequest) and await self._is_over_limit(trigger, webhook):
            return "limited", f"more than {trigger.rate.burst} requests: see limit in its spec"
        late = await self._publish(
            result.intake, webhook, intake_message(result, result.intake, webhook, self._clock())
        )
        return late or ("asked", result.why)

    async def _publish_direct(self, webhook: WebhookDelivery) -> list[str]:
        """Publish the request that an event is by itself, without a Trigger; returns what is wrong with it."""
        if not is_request(webhook.event, webhook.endpoint):
            return []
        try:
            request = read_request(webhook.event, webhook.endpoint)
        except InvalidResource as why:  # the receiver refuses such events: an older release stored it
            return [str(why)]
        late = await self._publish(request, webhook, direct_message(request, webhook, self._clock()))
        log.info("hook.late" if late else "hook.asked", delivery=webhook.event.id, name=request.name)
        return []

    async def _publish(
        self, intake: IntakeRequest, webhook: WebhookDelivery, message: tuple[Message, str]
    ) -> tuple[str, str] | None:
        """Publish, retried until it is stored: later deliveries of the tenant must not overtake it."""
        backoff = Backoff(self._jitter, base=1.0)
        while True:
            try:
                if await self._publisher.is_late(intake, webhook):
                    return "late", "a later delivery has let it go"
                await self._publisher.publish(*message)
            except Unavailable as away:
                log.warning("bus.unavailable", subject=message[0].subject, reason=str(away))
                await asyncio.sleep(backoff.next_delay())
            else:
                return None

    async def _is_over_limit(self, trigger: ActiveTrigger, webhook: WebhookDelivery) -> bool:
        """Whether its limit is used up; requests stored before a restart count, too, and redeliveries count once."""
        name, now = (trigger.tenant, trigger.name), self._clock()
        if name not in self._buckets:
            self._before[name] = await self._publisher.requests_since(*name, since=now - trigger.rate.memory)
            self._buckets[name] = taken(trigger.rate, self._before[name].values())
        if str(webhook.sequence) in self._before[name]:
            return False
        self._buckets[name], early = take(self._buckets[name], trigger.rate, now)
        return early > 0


def _tenant(subject: str) -> str:
    """The tenant of a delivery's subject, within which the order is kept; empty for a subject of another form."""
    parts = subject.split(".")
    return parts[2] if len(parts) == 5 else ""
