"""Events of a Trigger's own namespace become requests, each once, and a bad rule stops only itself."""

import asyncio
import json
from typing import Any

import pytest

from events.bus import Message
from events.cloudevents import CloudEvent, encode
from events.streams import Redrive, redriven
from schemas.subjects import Key
from services.edge.triggers.bus_subject import EVENTS_CONSUMER, LEVELS_CONSUMER
from services.edge.triggers.loop import TriggerLoop
from services.expressions.processes import TooCostly
from tests.services.edge.here import Here
from tests.services.edge.triggers.test_loop import Book, Works, spec
from tests.services.edge.triggers.test_profiles import ADDONS, JOB
from tests.services.edge.triggers.test_rules import COLONY

pytestmark = pytest.mark.looptime

READY = {
    "name": "ready", "when": "message.kind == 'cluster.ready'", "then": "Deploy",
    "profile": {"addons": ADDONS}, "expiresAfter": "6h",
}  # fmt: skip
RELEASED = {"name": "released", "when": "message.kind == 'cluster.released'", "then": "Withdraw"}


def heard(*rules: dict, **more: object) -> dict:
    on = {"messages": [{"event": "cluster.*"}], "name": "tools-${message.cluster}"}
    return spec(*(rules or (READY, RELEASED)), **(on | more))


class Bus(Works):
    """Other services publish what they do."""

    revision = 0

    async def say(self, kind: str, tenant: str = "acme", name: str = "train-gpu", **data: object) -> None:
        domain, event = kind.split(".")
        self.revision += 1
        key = Key(domain, tenant, name)
        said = CloudEvent(id=f"{domain}.{name}.u.{self.revision}", source=f"/alate/{domain}/{tenant}/{name}",
                          type=f"dev.alate.{kind}", data=json.dumps(data).encode())  # fmt: skip
        headers, body = encode(said)
        await self.bus.publish(Message(key.state(event), body, headers))

    async def see(self, accelerators: int, tenant: str = "acme") -> None:
        self.revision += 1
        said = CloudEvent(id=str(self.revision), source="/alate/inventory", type="dev.alate.inventory.cluster",
                          data=json.dumps({"accelerators": accelerators}).encode())  # fmt: skip
        headers, body = encode(said)
        await self.bus.publish(Message(f"inventory.cluster.{tenant}.train-gpu", body, headers))

    async def worked_off(self) -> None:
        await asyncio.sleep(0.1)
        for consumer in (EVENTS_CONSUMER, LEVELS_CONSUMER):
            while await self.bus.unanswered(consumer):  # noqa: ASYNC110 - as others look at it, from outside
                await asyncio.sleep(0.1)


async def test_a_cluster_that_became_ready_has_a_profile_until_it_is_released():
    works = Bus(heard())
    async with works.running():
        for kind in ("cluster.provisioned", "cluster.ready", "cluster.releasing", "cluster.released"):
            await works.say(kind)
        await works.worked_off()
    assert await works.wishes() == ["profile.requested.acme", "profile.withdraw.acme.tools-train-gpu"]
    asked, _ = await works.bus.read("INTAKE", ">")
    assert asked.headers["ce-causationid"] == "cluster.train-gpu.u.2"
    request = json.loads(asked.data)
    assert request["spec"]["clusters"] == {"names": ["train-gpu"]}
    assert (request["name"], request["origin"], request["expiresAfter"]) == ("tools-train-gpu", "trigger-t0", "6h")


async def test_events_of_another_namespace_are_never_heard():
    works = Bus(heard(messages=[{"event": "*.*"}, {"level": "inventory.*"}]))
    async with works.running():
        await works.say("cluster.ready", tenant="other")
        await works.see(8, tenant="other")
        await works.worked_off()
    assert (await works.wishes(), await works.reasons(), works.outcomes()) == ([], [], {})


async def test_a_state_that_is_said_again_is_not_heard():
    works = Bus(heard())
    async with works.running():
        for kind in ("cluster.ready", "cluster.ready", "cluster.provisioned", "cluster.ready"):
            await works.say(kind)
        await works.worked_off()
    assert works.outcomes() == {"asked": 2}


async def test_a_rule_sees_the_state_before():
    lost = {"name": "lost", "when": "message.before == 'cluster.ready'", "then": "Withdraw"}
    works = Bus(heard(lost))
    async with works.running():
        for kind in ("cluster.provisioned", "cluster.ready", "cluster.provisioned"):
            await works.say(kind)
        await works.worked_off()
    assert await works.wishes() == ["profile.withdraw.acme.tools-train-gpu"]


async def test_a_redelivered_event_acts_once():
    works = Bus(heard())
    async with works.running():
        await works.say("cluster.ready")
        await works.worked_off()
    found = await anext(aiter(works.bus.consume(EVENTS_CONSUMER.__class__("other", "EVENTS", ("cluster.*.*.*",)))))
    again = TriggerLoop(works.context, Here(), Book(*works.specs))
    await again._handle(found)
    assert works.outcomes() == {"asked": 2}
    assert await works.wishes() == ["profile.requested.acme"]


async def test_a_dead_letter_that_is_redelivered_is_heard_as_it_was():
    works = Bus(heard())
    await works.say("cluster.provisioned")
    await works.say("cluster.ready")
    _, ready = await works.bus.read("EVENTS", "cluster.>")
    async with works.running(Book()):
        await works.worked_off()
    async with works.running():
        again = redriven(ready, Redrive("EVENTS", EVENTS_CONSUMER.name, "m"), ready.subject)
        await works.bus.publish(again)
        await works.worked_off()
    assert await works.wishes() == ["profile.requested.acme"]


async def test_an_accelerator_count_that_changed_is_heard_once_per_count():
    rule = {"name": "more", "when": "data.accelerators > 0", "then": "Run", "job": JOB,
            "once": "${message.cluster}-${data.accelerators}"}  # fmt: skip
    works = Bus(heard(rule, messages=[{"level": "inventory.cluster"}], name="check"))
    async with works.running():
        for count in (0, 8, 16, 8):
            await works.see(count)
            await works.worked_off()
    requests = [json.loads(stored.data) for stored in await works.bus.read("INTAKE", ">")]
    assert len({request["name"] for request in requests}) == len(requests) == 2
    assert {request["expiresAfter"] for request in requests} == {"24h"}


async def test_an_event_requests_a_colony_too():
    beside = {"name": "beside", "when": "true", "then": "Request", "colony": COLONY}
    works = Bus(heard(beside, messages=[{"event": "addon.degraded"}], name="spare"))
    async with works.running():
        await works.say("addon.degraded", name="train-gpu.driver", n=1)
        await works.worked_off()
    assert await works.wishes() == ["cluster.requested.acme"]


async def test_colonies_and_profiles_are_limited_apart_and_withdrawals_never_are():
    beside = {"name": "beside", "when": "message.kind == 'cluster.ready'", "then": "Request", "colony": COLONY}
    works = Bus(heard(READY, RELEASED, beside, limit={"requests": 1, "every": "1h"}))
    async with works.running():
        for name in ("a", "b"):
            await works.say("cluster.ready", name=name, n=1)
            await works.say("cluster.released", name=name)
        await works.worked_off()
    assert works.outcomes() == {"asked": 4, "limited": 2}
    (reason,) = await works.reasons()
    assert "rule ready: more than 1 requests" in reason
    assert "rule beside: more than 1 requests" in reason


async def test_a_limit_of_profiles_survives_a_restart():
    works = Bus(heard(limit={"requests": 1, "every": "1h"}))
    for name in ("a", "b"):
        async with works.running():
            await works.say("cluster.ready", name=name)
            await works.worked_off()
    assert works.outcomes() == {"asked": 1, "limited": 1}


async def test_a_rule_that_fails_is_a_dead_letter_and_the_others_are_followed():
    broken = READY | {"name": "broken", "profile": {"clusters": {"names": ["${data.none}"]}, "addons": ADDONS}}
    works = Bus(heard(broken, READY))
    async with works.running():
        await works.say("cluster.ready")
        await works.worked_off()
    assert await works.reasons() == [
        "Trigger acme/t0, rule broken: holds, but: spec.rules[0].profile.clusters.names[0]: there is no 'none'"
    ]
    assert await works.wishes() == ["profile.requested.acme"]


class Costly(Here):
    """Finds one Trigger too costly."""

    async def evaluate(self, trigger, delivery):
        if trigger.name == "t0":
            raise TooCostly("its rules take more than 0.5 s for one event")
        return await super().evaluate(trigger, delivery)


async def test_a_trigger_that_costs_too_much_is_switched_off_and_the_others_are_followed():
    works = Bus(heard(), heard(), evaluators=Costly())
    async with works.running():
        await works.say("cluster.ready")
        await works.say("cluster.released")
        await works.worked_off()
    assert works.book.off == ["its rules take more than 0.5 s for one event"]
    assert await works.reasons() == ["Trigger acme/t0: its rules take more than 0.5 s for one event"]
    assert await works.wishes() == ["profile.requested.acme", "profile.withdraw.acme.tools-train-gpu"]


async def test_a_crash_after_any_call_to_the_bus_is_invisible():
    for calls in range(1, 12):
        works = Bus(heard())
        await works.say("cluster.provisioned")
        await works.say("cluster.ready")
        survived: Any = works.bus
        mortal: Any = Mortal(survived, calls)
        works.bus = mortal
        async with works.running():
            await asyncio.sleep(1)
        works.bus = survived
        async with works.running():
            await asyncio.sleep(600)
            await works.worked_off()
        assert (await works.wishes(), await works.reasons()) == (["profile.requested.acme"], [])


class Mortal:
    """A bus of which no call returns after the first few, although what was asked is done."""

    def __init__(self, bus, calls):
        self._bus, self._left = bus, calls

    def __getattr__(self, name):
        found = getattr(self._bus, name)
        if name not in ("publish", "read", "last"):
            return found

        async def called(*what, **how):
            result = await found(*what, **how)
            self._left -= 1
            if self._left <= 0:
                await asyncio.Event().wait()
            return result

        return called


async def test_what_nobody_hears_is_no_dead_letter_however_malformed():
    works = Bus(heard())
    async with works.running():
        await works.bus.publish(Message("addon.applied.acme.a", b"?"))
        await works.bus.publish(Message("cluster.ready.other.a", b"?"))
        await works.worked_off()
    assert await works.reasons() == []


async def test_a_profile_that_was_withdrawn_later_is_not_deployed_by_a_late_event():
    works = Bus(heard())
    await works.say("cluster.ready")
    async with works.running():
        await works.say("cluster.released")
        await works.worked_off()
    await works.bus.purge("INTAKE", "profile.requested.>")
    found = await anext(aiter(works.bus.consume(EVENTS_CONSUMER.__class__("other", "EVENTS", ("cluster.*.*.*",)))))
    again = TriggerLoop(works.context, Here(), Book(*works.specs))
    await again._handle(found)
    assert works.outcomes()["late"] == 1
