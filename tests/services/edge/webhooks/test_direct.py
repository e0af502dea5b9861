"""A CloudEvent that asks for clusters is a request by itself: taken, or refused with its reason, at the door."""

import asyncio
import json
import time
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, aclosing
from pathlib import Path

import pytest

from events.backoff import Rate
from events.bus import Message
from events.memory.bus import MemoryBus
from services.edge.triggers.evaluator_pool import EvaluatorPool
from services.edge.triggers.fair_share import FairShare
from services.expressions.processes import EvaluatorEnded, TooCostly
from tests.services.edge.here import Here
from tests.services.edge.house import SECRET, House, bearer, furnished
from tests.services.edge.triggers.test_loop import Works

TYPE = "dev.alate.cluster.request"
SPEC = {"clusters": [{"name": "gpu", "pools": [{"accelerator": "H100", "acceleratorsPerNode": 8, "nodes": 2}]}]}
WISH = {"tenant": "acme", "name": "burst", "spec": SPEC}
PATH = "/hooks/cloudevents/acme/ci"


def sent(event_id: str = "e1", **wish: object) -> tuple[bytes, dict[str, str]]:
    event = {"specversion": "1.0", "id": event_id, "source": "/how", "type": TYPE, "data": WISH | wish}
    return json.dumps(event).encode(), {"Content-Type": "application/cloudevents+json"}


async def post(house: House, event_id: str = "e1", **wish: object):
    body, headers = sent(event_id, **wish)
    return await house.post(PATH, body, bearer(body, SECRET) | headers)


async def test_a_request_that_can_be_taken_is_kept(house: House):
    assert (await post(house)).status == 202
    (kept,) = await house.kept()
    assert json.loads(kept.data)["type"] == TYPE


@pytest.mark.parametrize(
    ("wrong", "why"),
    [
        ({"tenant": "other"}, "tenant is other: this endpoint asks for tenant acme alone"),
        ({"spec": {"clusters": []}}, "spec.clusters: must not be empty"),
        ({"more": 1}, "data is no request for clusters: "),
        ({"name": "No Name"}, "metadata.name"),
    ],
)
async def test_a_request_that_cannot_be_taken_is_refused_with_its_reason_and_not_kept(house: House, wrong, why):
    answer = await post(house, **wrong)
    assert (answer.status, answer.json["field"]) == (422, "data")
    assert why in answer.json["detail"]
    assert await house.kept() == ()


@pytest.mark.looptime
@pytest.mark.parametrize("mode", ["structured", "binary"])
async def test_a_kept_request_is_said_on_the_bus_once_with_its_cause(mode):
    works = Works()
    body, headers = sent()
    if mode == "binary":
        body = json.dumps(WISH).encode()
        headers = {"ce-specversion": "1.0", "ce-id": "e1", "ce-source": "/how", "ce-type": TYPE}
    async with works.running():
        for number in (1, 2):
            await works.bus.publish(Message(f"hook.cloudevents.acme.ci.m{number}", body, headers))
        await works.worked_off()
    (said,) = await works.bus.read("INTAKE", ">")
    assert said.subject == "cluster.requested.acme"
    assert (said.headers["ce-type"], said.headers["ce-causationid"]) == (TYPE, "e1")
    assert json.loads(said.data)["origin"] == "http"
    assert await works.reasons() == []


@pytest.mark.looptime
async def test_the_same_event_at_another_providers_endpoint_asks_for_nothing():
    works = Works()
    headers = {"ce-specversion": "1.0", "ce-id": "e1", "ce-source": "/how", "ce-type": TYPE}
    async with works.running():
        await works.bus.publish(Message("hook.plain.acme.ci.m", json.dumps(WISH).encode(), headers))
        await works.worked_off()
    assert await works.wishes() == []


def with_an_addon(manifests: str) -> dict[str, object]:
    (cluster,) = SPEC["clusters"]
    return {"clusters": [cluster | {"addons": [{"name": "a", "manifests": manifests}]}]}


LONG = with_an_addon("apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\ndata:\n  a: [" + "{}," * 260_000 + "]\n")


@pytest.fixture
async def apart(tmp_path: Path) -> AsyncIterator[House]:
    """A house with evaluators that are processes of their own."""
    async with AsyncExitStack() as stack:
        processes = await stack.enter_async_context(aclosing(EvaluatorPool()))
        house = await furnished(stack, MemoryBus(), tmp_path, Rate(50.0, 200))
        house.evaluators.inner = FairShare(processes, house.clock)
        yield house


async def test_a_request_that_takes_long_to_read_costs_the_door_nothing_and_is_refused(apart: House):
    began = time.thread_time()
    answer = await post(apart, spec=LONG)
    assert time.thread_time() - began < 0.3
    assert (answer.status, answer.json["field"]) == (422, "data")
    assert "takes more than 0.5 s of a processor" in answer.json["detail"]


async def test_one_tenants_requests_have_its_share_of_a_processor_and_anothers_are_taken(apart: House):
    apart.endpoint("cloudevents.other.ci", SECRET)
    statuses = [(await post(apart, spec=LONG)).status for _ in range(4)]
    assert statuses == [422, 422, 422, 429]
    body, headers = sent(tenant="other")
    there = await apart.post("/hooks/cloudevents/other/ci", body, bearer(body, SECRET) | headers)
    assert there.status == 202
    apart.passes(seconds=10)
    assert (await post(apart)).status == 202


async def test_many_small_requests_at_once_are_all_taken(apart: House):
    answers = await asyncio.gather(*(post(apart, f"e{number}", name=f"burst-{number}") for number in range(100)))
    assert {answer.status for answer in answers} == {202}


@pytest.mark.parametrize(("fails", "status"), [(EvaluatorEnded("gone"), 503), (TooCostly("too much"), 422)])
async def test_a_request_over_which_an_evaluator_fails_is_not_kept(house: House, fails, status):
    class Fails(Here):
        async def check(self, asked):
            raise fails

    house.evaluators.inner = Fails()
    assert (await post(house)).status == status
    assert await house.kept() == ()


@pytest.mark.looptime
async def test_a_kept_request_is_not_read_once_more():
    works = Works()
    body, headers = sent(spec=LONG)
    await works.bus.publish(Message("hook.cloudevents.acme.ci.m", body, headers))
    began = time.thread_time()
    async with works.running():
        await works.worked_off()
    assert time.thread_time() - began < 0.5
    assert await works.wishes() == ["cluster.requested.acme"]
