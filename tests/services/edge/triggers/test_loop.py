"""Deliveries become wishes in their order, each once, or a dead letter with its reason."""

import asyncio
import json
from contextlib import asynccontextmanager, suppress
from datetime import UTC, datetime, timedelta

import pytest

from events.bus import Message, Unavailable
from events.cloudevents import CloudEvent, decode, encode
from events.memory.bus import MemoryBus
from events.meters import TRIGGERS
from events.streams import REASON
from events.telemetry import Meters
from schemas.crds import read_trigger
from services.edge.triggers.fair_share import FairShare
from services.edge.triggers.loop import TriggerLoop
from services.edge.triggers.rules import CompiledTrigger
from services.edge.triggers.trigger import ActiveTrigger
from services.edge.webhooks.inbox import CONSUMER
from services.runtime.context import Context
from tests.services.edge.here import Here
from tests.services.edge.triggers.test_rules import COLONY, END, START

pytestmark = pytest.mark.looptime

EPOCH = datetime(2026, 1, 1, tzinfo=UTC)


class Book:
    """Triggers that are known from the start."""

    def __init__(self, *specs: dict) -> None:
        self.listed = asyncio.Event()
        self.listed.set()
        self.off: list[str] = []
        self._rules = [
            ActiveTrigger(read_trigger({"metadata": {"name": f"t{n}", "namespace": "acme"}, "spec": spec}))
            for n, spec in enumerate(specs)
        ]

    def listening_to(self, heard):
        return iter(each for each in self._rules if each.listens(heard))

    async def switch_off(self, trigger, why):
        self._rules.remove(trigger)
        self.off.append(why)


def clock() -> datetime:
    return EPOCH + timedelta(seconds=asyncio.get_running_loop().time())


def spec(*rules: dict, **more: object) -> dict:
    return {"name": "job-${data.id}", "rules": list(rules or (START, END)), **more}


class Works:
    def __init__(self, *specs: dict, evaluators=None) -> None:
        self.evaluators = evaluators or Here()
        self.bus = MemoryBus(clock=clock)
        self.meters = Meters()
        self.specs = specs or (spec(),)
        self.jumped = timedelta()
        """What the clock was set by."""

    def clock(self) -> datetime:
        return clock() + self.jumped

    @property
    def context(self) -> Context:
        return Context(self.bus, self.clock, lambda: 0.5, self.meters)

    @asynccontextmanager
    async def running(self, book=None):
        self.book = book or Book(*self.specs)
        evaluators = FairShare(self.evaluators, self.clock)
        triggers = TriggerLoop(self.context, evaluators, self.book)
        task = asyncio.create_task(triggers.run())
        try:
            yield
        finally:
            task.cancel()
            with suppress(asyncio.CancelledError):
                await task

    async def deliver(self, name: str, what: str, **data: object) -> None:
        body = json.dumps({"what": what, "id": 1, "n": 2} | data).encode()
        headers, _ = encode(CloudEvent(id=name, source="/s", type="x", extensions={"correlationid": "flow"}))
        await self.bus.publish(Message(f"hook.plain.acme.ci.{name}", body, headers))

    async def worked_off(self) -> None:
        while await self.bus.unanswered(CONSUMER):  # noqa: ASYNC110 - as others look at it, from outside
            await asyncio.sleep(0.1)

    async def wishes(self) -> list[str]:
        return [stored.subject for stored in await self.bus.read("INTAKE", ">")]

    async def reasons(self) -> list[str]:
        return [stored.headers[REASON] for stored in await self.bus.read("DLQ", ">")]

    def outcomes(self) -> dict[str, int]:
        return dict(self.meters.counts(TRIGGERS))


async def test_what_a_rule_asks_for_is_said_with_its_cause():
    works = Works()
    async with works.running():
        await works.deliver("d1", "start")
        await works.deliver("d2", "end")
        await works.worked_off()
    assert await works.wishes() == ["cluster.requested.acme", "colony.release.acme.job-1"]
    request, _ = await works.bus.read("INTAKE", ">")
    event = decode(request.headers, request.data)
    assert (event.type, event.subject) == ("dev.alate.cluster.request", "acme/job-1")
    assert (event.extensions["causationid"], event.extensions["correlationid"]) == ("d1", "flow")
    assert works.outcomes() == {"asked": 2}


async def test_an_event_that_no_rule_is_about_asks_for_nothing():
    works = Works()
    async with works.running():
        await works.deliver("d1", "nothing")
        await works.worked_off()
    assert (await works.wishes(), await works.reasons(), works.outcomes()) == ([], [], {})


async def test_a_delivery_that_is_worked_off_twice_asks_once(monkeypatch):
    works = Works()
    publish, lost = works.bus.publish, ["an answer"]

    async def unheard(*what, **how):
        sequence = await publish(*what, **how)
        if lost:
            raise Unavailable(lost.pop())
        return sequence

    monkeypatch.setattr(works.bus, "publish", unheard)
    await publish(Message("hook.plain.acme.ci.d1", b'{"what": "start", "id": 1, "n": 2}', {
        "ce-specversion": "1.0", "ce-id": "d1", "ce-source": "/s", "ce-type": "x"}))  # fmt: skip
    async with works.running():
        await works.worked_off()
    assert await works.wishes() == ["cluster.requested.acme"]
    assert lost == []


async def test_two_events_of_the_same_wish_are_one():
    works = Works(spec(START | {"once": "${data.id}"}))
    async with works.running():
        for name in ("d1", "d2"):
            await works.deliver(name, "start")
        await works.worked_off()
    assert await works.wishes() == ["cluster.requested.acme"]


async def test_a_request_that_is_worked_off_after_its_release_is_late():
    works = Works()
    await works.deliver("d1", "start")
    (first,) = await works.bus.read("HOOKS", ">")
    async with works.running():
        await works.deliver("d2", "end")
        await works.worked_off()
    await works.bus.purge("INTAKE", "cluster.requested.>")
    again = Works()
    again.bus = works.bus
    found = await anext(aiter(again.bus.consume(CONSUMER.__class__("other", "HOOKS", ("hook.>",)))))
    assert found.stored.sequence == first.sequence
    triggers = TriggerLoop(again.context, Here(), Book(spec()))
    await triggers._handle(found)
    assert again.outcomes() == {"late": 1}
    assert await works.wishes() == ["colony.release.acme.job-1"]


async def test_a_limit_survives_a_restart():
    works = Works(spec(limit={"requests": 2, "every": "1h"}), spec(limit={"requests": 2, "every": "1h"}))
    works.specs[1]["name"] = "other-${data.id}"
    for number in (1, 2, 3):
        async with works.running():
            await works.deliver(f"s{number}", "start", id=number)
            await works.worked_off()
    assert works.outcomes() == {"asked": 4, "limited": 2}
    await asyncio.sleep(1800)
    async with works.running():
        await works.deliver("s4", "start", id=4)
        await works.worked_off()
    assert works.outcomes() == {"asked": 6, "limited": 2}


async def test_what_was_asked_for_before_a_crash_is_within_the_limit_when_it_comes_again():
    works, again = Works(spec(limit={"requests": 1, "every": "1h"})), Works()
    async with works.running():
        await works.deliver("s1", "start")
        await works.worked_off()
    found = await anext(aiter(works.bus.consume(CONSUMER.__class__("other", "HOOKS", ("hook.>",)))))
    again.bus = works.bus
    triggers = TriggerLoop(again.context, Here(), Book(*works.specs))
    await triggers._handle(found)
    assert again.outcomes() == {"asked": 1}
    assert await works.wishes() == ["cluster.requested.acme"]


async def test_requests_beyond_the_limit_are_dead_letters_and_releases_never_are():
    works = Works(spec(limit={"requests": 2, "every": "1h"}))
    async with works.running():
        for number in range(3):
            await works.deliver(f"s{number}", "start", id=number)
        for number in range(3):
            await works.deliver(f"e{number}", "end", id=number)
        await works.worked_off()
        assert works.outcomes() == {"asked": 5, "limited": 1}
        await asyncio.sleep(1800)
        await works.deliver("s3", "start", id=3)
        await works.worked_off()
    assert await works.reasons() == ["Trigger acme/t0, rule start: more than 2 requests: see limit in its spec"]
    assert works.outcomes() == {"asked": 6, "limited": 1}


async def test_a_rule_that_cannot_ask_is_a_dead_letter_and_the_others_are_followed():
    works = Works(spec(START | {"colony": {"clusters": []}}), spec())
    async with works.running():
        await works.deliver("d1", "start")
        await works.worked_off()
    (reason,) = await works.reasons()
    assert reason == "Trigger acme/t0, rule start: holds, but: spec.clusters: must not be empty"
    assert await works.wishes() == ["cluster.requested.acme"]
    assert works.outcomes() == {"failed": 1, "asked": 1}


async def test_while_the_bus_is_away_nothing_overtakes(monkeypatch):
    works = Works(spec(START | {"colony": COLONY}, END))
    publish, away = works.bus.publish, [1, 2, 3]

    async def refused(message, **how):
        if message.subject.startswith("cluster") and away:
            away.pop()
            raise Unavailable("no answer")
        return await publish(message, **how)

    async with works.running():
        monkeypatch.setattr(works.bus, "publish", refused)
        await works.deliver("d1", "start")
        await works.deliver("d2", "end")
        await works.worked_off()
    assert await works.wishes() == ["cluster.requested.acme", "colony.release.acme.job-1"]


async def test_what_is_no_event_is_a_dead_letter():
    works = Works()
    await works.bus.publish(Message("hook.plain.acme.ci.d1", b"?", {"ce-id": "1"}))
    await works.bus.publish(Message("hook.odd", b"{}", {"ce-id": "1"}))
    async with works.running():
        await works.worked_off()
    first, second = await works.reasons()
    assert "specversion" in first
    assert second == "hook.odd: hook.odd is no subject of a webhook"


async def test_a_fault_of_ours_over_one_delivery_does_not_stop_the_next(monkeypatch):
    works = Works()
    evaluate, faults = CompiledTrigger.evaluate, ["ours"]

    def broken(rules, heard):
        if heard.event.id == "d1" and faults:
            raise AssertionError(faults.pop())
        return evaluate(rules, heard)

    monkeypatch.setattr(CompiledTrigger, "evaluate", broken)
    async with works.running():
        await works.deliver("d1", "start")
        await works.deliver("d2", "end", id=2)
        await works.worked_off()
    assert sorted(await works.wishes()) == ["cluster.requested.acme", "colony.release.acme.job-2"]
