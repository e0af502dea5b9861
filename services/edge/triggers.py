"""Every kept delivery is held against the Triggers of its tenant, in the order in which it came in."""

import asyncio
from collections.abc import Callable, Iterator, Mapping
from contextlib import aclosing, suppress
from datetime import datetime
from typing import Protocol

import structlog

from events.bus import Bus, Delivery, Unavailable
from events.cloudevents import Malformed
from events.meters import TRIGGERS
from events.patience import Patience
from events.telemetry import Meters, hearing
from schemas.subjects import Key
from schemas.wish import ClusterRequested
from services.edge.heard import Heard, heard
from services.edge.inbox import CONSUMER
from services.edge.rules import Intake, Rules, Verdict
from services.edge.wishes import Wishes
from services.limit import Bucket, take, taken

AFTER_A_FAULT = 5.0
"""Seconds until a delivery is worked off again after our own code failed over it."""

log = structlog.get_logger()


class Book(Protocol):
    """Where Triggers are."""

    @property
    def listed(self) -> asyncio.Event:
        """Set once all are known."""
        ...

    def about(self, heard: Heard) -> Iterator[Rules]:
        """Those that listen to where it came in."""
        ...


class Triggers:
    """Works off the deliveries, one after another."""

    def __init__(
        self,
        bus: Bus,
        *books: Book,
        clock: Callable[[], datetime],
        meters: Meters,
        jitter: Callable[[], float],
    ) -> None:
        """Of a Trigger that is in several books the first one's is followed."""
        self._bus = bus
        self._books = books
        self._wishes = Wishes(bus, clock, meters)
        self._clock = clock
        self._meters = meters
        self._jitter = jitter
        self._buckets: dict[tuple[str, str], Bucket | None] = {}
        self._before: dict[tuple[str, str], Mapping[str, datetime]] = {}
        """By delivery, what each Trigger had asked for when it was first followed here."""

    async def run(self) -> None:
        """Listen for ever, from when all Triggers are known."""
        for book in self._books:
            await book.listed.wait()
        async with aclosing(self._bus.consume(CONSUMER)) as deliveries:
            async for delivery in deliveries:
                try:
                    await self._take(delivery)
                except Unavailable as away:  # it could not be answered, so it comes again
                    log.warning("bus.unavailable", subject=delivery.stored.subject, reason=str(away))
                except Exception:  # a fault of ours must not stop the others: logged, tried again, then a dead letter
                    log.exception("trigger.broke", subject=delivery.stored.subject)
                    with suppress(Unavailable):  # unanswered, it comes again as well
                        await delivery.retry(AFTER_A_FAULT)

    async def _take(self, delivery: Delivery) -> None:
        """Follow every rule; what one cannot do is a dead letter with its reason, after the others were followed."""
        try:
            found = heard(delivery.stored)
        except Malformed as why:
            await delivery.dead(f"{delivery.stored.subject}: {why}")
            return
        key = Key("hook", found.endpoint.tenant, found.endpoint.name)
        with hearing(key, delivery.stored, self._meters, self._clock):
            wrong = [why for rules in self._about(found) for why in await self._follow(rules, found)]
        await (delivery.dead("; ".join(wrong)) if wrong else delivery.ack())

    def _about(self, found: Heard) -> list[Rules]:
        every = [rules for book in reversed(self._books) for rules in book.about(found)]
        return sorted({(rules.tenant, rules.name): rules for rules in every}.values(), key=lambda one: one.name)

    async def _follow(self, rules: Rules, found: Heard) -> list[str]:
        """Do what one Trigger says; gives what could not be done."""
        wrong = []
        for verdict in rules.judge(found):
            outcome, why = await self._do(rules, verdict, found)
            if outcome:
                self._meters.count(TRIGGERS, outcome)
                log.info(f"trigger.{outcome}", trigger=rules.name, rule=verdict.rule, delivery=found.event.id, why=why)
            if outcome in {"failed", "limited"}:
                wrong.append(f"Trigger {rules.tenant}/{rules.name}, rule {verdict.rule}: {why}")
        return wrong

    async def _do(self, rules: Rules, verdict: Verdict, found: Heard) -> tuple[str, str]:
        """What became of it, and why; empty if the rule does not hold."""
        if verdict.intake is None:
            return ("failed" if verdict.failed else ""), verdict.why
        if isinstance(verdict.intake, ClusterRequested) and await self._too_many(rules, found):
            return "limited", f"more than {rules.rate.burst} requests: see limit in its spec"
        return await self._say(verdict, verdict.intake, found)

    async def _say(self, verdict: Verdict, intake: Intake, found: Heard) -> tuple[str, str]:
        """Say it until the bus has it: here, and not later, for what came in after it must not overtake it."""
        patience = Patience(self._jitter, base=1.0)
        while True:
            try:
                if await self._wishes.is_late(intake, found):
                    return "late", "a later delivery has let it go"
                await self._wishes.say(verdict, intake, found)
            except Unavailable as away:
                log.warning("bus.unavailable", trigger=verdict.trigger, reason=str(away))
                await asyncio.sleep(patience.failed())
            else:
                return "asked", verdict.why

    async def _too_many(self, rules: Rules, found: Heard) -> bool:
        """What was asked for before we came counts as well; of that, what comes again was counted already."""
        name, now = (rules.tenant, rules.name), self._clock()
        if name not in self._buckets:
            self._before[name] = await self._wishes.asked(*name, since=now - rules.rate.memory)
            self._buckets[name] = taken(rules.rate, self._before[name].values())
        if str(found.sequence) in self._before[name]:
            return False
        self._buckets[name], early = take(self._buckets[name], rules.rate, now)
        return early > 0
