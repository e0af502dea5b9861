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
from services.edge.triggers.evaluator_pool import PATIENCE, TRIES, Evaluator, EvaluatorEnded, TooCostly
from services.edge.triggers.fair_share import ShareExhausted
from services.edge.triggers.publisher import IntakePublisher, wish
from services.edge.triggers.rules import IntakeRequest, RuleResult
from services.edge.triggers.trigger import ActiveTrigger
from services.edge.webhooks.direct import asks, direct, requested
from services.edge.webhooks.inbox import CONSUMER
from services.runtime.consumer import Worker
from services.runtime.context import Context

AFTER = 5.0
"""Seconds, at least, until a delivery is tried again of which a Trigger could not be judged."""
EVENTS = {
    "asked": "trigger.asked",
    "failed": "trigger.failed",
    "late": "trigger.late",
    "limited": "trigger.limited",
}
"""Log events by the outcome of a rule."""

log = structlog.get_logger()


class TriggerSource(Protocol):
    """Where Triggers are."""

    @property
    def listed(self) -> asyncio.Event:
        """Set once all are known."""
        ...

    def about(self, read_delivery: WebhookDelivery) -> Iterator[ActiveTrigger]:
        """Those that listen to where it came in."""
        ...

    async def switch_off(self, trigger: ActiveTrigger, why: str) -> None:
        """Follow it no more until it is changed."""
        ...


class TriggerLoop:
    """Works off the deliveries: of one tenant one after another, so that no tenant waits for another."""

    def __init__(self, context: Context, evaluators: Evaluator, *books: TriggerSource) -> None:
        """A Trigger that is in several books is taken from the first."""
        self._evaluators = evaluators
        self._books = books
        self._wishes = IntakePublisher(context)
        self._clock = context.clock
        self._meters = context.meters
        self._jitter = context.jitter
        self._buckets: dict[tuple[str, str], Bucket | None] = {}
        self._before: dict[tuple[str, str], Mapping[str, datetime]] = {}
        """By delivery, what each Trigger had asked for when it was first followed here."""

        self._ended: dict[tuple[str, str, int], int] = {}
        """How often an evaluator went away over a Trigger and a delivery, which may come again for other reasons."""
        self._worker = Worker(
            context, CONSUMER, self._take, invalid=(Malformed,),
            lane=lambda delivery: _tenant(delivery.stored.subject), takes=PATIENCE,
        )  # fmt: skip

    async def run(self) -> None:
        """Handle deliveries for ever, from when all Triggers are known."""
        for book in self._books:
            await book.listed.wait()
        await self._worker.run()

    async def _take(self, delivery: Delivery) -> None:
        """Follow every rule; what one cannot do is a dead letter with its reason, after the others were followed.

        Raises Malformed, Unavailable, TryLater.
        """
        found = read_delivery(delivery.stored)
        key = Key("hook", found.endpoint.tenant, found.endpoint.name)
        try:
            with hearing(key, delivery.stored, self._meters, self._clock):
                wrong = await self._ask(found)
                wrong += [why for each in self._about(found) for why in await self._follow(each, found)]
        except EvaluatorEnded as why:
            raise TryLater(str(why), AFTER) from why
        await (delivery.reject("; ".join(wrong)) if wrong else delivery.ack())

    def _about(self, found: WebhookDelivery) -> list[ActiveTrigger]:
        every = [each for book in reversed(self._books) for each in book.about(found)]
        return sorted({(each.tenant, each.name): each for each in every}.values(), key=lambda one: one.name)

    async def _follow(self, trigger: ActiveTrigger, found: WebhookDelivery) -> list[str]:
        """Do what one Trigger says; gives what could not be done. Raises Ended."""
        try:
            verdicts = await self._judge(trigger, found)
        except (TooCostly, ShareExhausted, InvalidResource) as why:
            self._meters.count(TRIGGERS, "costly")
            log.warning("trigger.costly", tenant=trigger.tenant, trigger=trigger.name, reason=str(why))
            return [f"Trigger {trigger.tenant}/{trigger.name}: {why}"]
        wrong = []
        for verdict in verdicts:
            outcome, told = await self._do(trigger, verdict, found)
            if outcome:
                self._meters.count(TRIGGERS, outcome)
                said = {"trigger": trigger.name, "rule": verdict.rule, "delivery": found.event.id, "why": told}
                log.info(EVENTS[outcome], **said)
            if outcome in {"failed", "limited"}:
                wrong.append(f"Trigger {trigger.tenant}/{trigger.name}, rule {verdict.rule}: {told}")
        return wrong

    async def _judge(self, trigger: ActiveTrigger, found: WebhookDelivery) -> tuple[RuleResult, ...]:
        """What its rules say. Raises TooCostly, then it is followed no more, Exhausted; Ended if not known yet."""
        asked = trigger.tenant, trigger.name, found.sequence
        try:
            verdicts, _ = await self._evaluators.judge(trigger, found)
        except TooCostly as why:
            await self._switch_off(trigger, str(why))
            raise
        except EvaluatorEnded as why:
            ended = self._ended[asked] = self._ended.get(asked, 0) + 1
            if ended < TRIES:
                raise
            del self._ended[asked]
            await self._switch_off(trigger, f"{why}, {ended} times")
            raise TooCostly(str(why)) from why
        self._ended.pop(asked, None)
        return verdicts

    async def _switch_off(self, trigger: ActiveTrigger, why: str) -> None:
        for book in self._books:
            await book.switch_off(trigger, why)

    async def _do(self, trigger: ActiveTrigger, verdict: RuleResult, found: WebhookDelivery) -> tuple[str, str]:
        """What became of it, and why; empty if the rule does not hold."""
        if verdict.intake is None:
            return ("failed" if verdict.failed else ""), verdict.why
        if isinstance(verdict.intake, ClusterRequest) and await self._too_many(trigger, found):
            return "limited", f"more than {trigger.rate.burst} requests: see limit in its spec"
        late = await self._say(verdict.intake, found, wish(verdict, verdict.intake, found, self._clock()))
        return late or ("asked", verdict.why)

    async def _ask(self, found: WebhookDelivery) -> list[str]:
        """What an event asks for by itself; gives what is wrong with it."""
        if not asks(found.event, found.endpoint):
            return []
        try:
            asked = requested(found.event, found.endpoint)
        except InvalidResource as why:  # the door refuses it as well: it was kept by an older one
            return [str(why)]
        late = await self._say(asked, found, direct(asked, found, self._clock()))
        log.info("hook.late" if late else "hook.asked", delivery=found.event.id, name=asked.name)
        return []

    async def _say(
        self, intake: IntakeRequest, found: WebhookDelivery, said: tuple[Message, str]
    ) -> tuple[str, str] | None:
        """Say it until the bus has it: here, and not later, for what came in after it must not overtake it."""
        backoff = Backoff(self._jitter, base=1.0)
        while True:
            try:
                if await self._wishes.is_late(intake, found):
                    return "late", "a later delivery has let it go"
                await self._wishes.publish(*said)
            except Unavailable as away:
                log.warning("bus.unavailable", subject=said[0].subject, reason=str(away))
                await asyncio.sleep(backoff.next_delay())
            else:
                return None

    async def _too_many(self, trigger: ActiveTrigger, found: WebhookDelivery) -> bool:
        """What was asked for before we came counts as well; of that, what comes again was counted already."""
        name, now = (trigger.tenant, trigger.name), self._clock()
        if name not in self._buckets:
            self._before[name] = await self._wishes.asked(*name, since=now - trigger.rate.memory)
            self._buckets[name] = taken(trigger.rate, self._before[name].values())
        if str(found.sequence) in self._before[name]:
            return False
        self._buckets[name], early = take(self._buckets[name], trigger.rate, now)
        return early > 0


def _tenant(subject: str) -> str:
    """Whose it is; what is no webhook's has an order of its own."""
    parts = subject.split(".")
    return parts[2] if len(parts) == 5 else ""
