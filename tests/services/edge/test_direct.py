"""A CloudEvent that asks for clusters is a request by itself: taken, or refused with its reason, at the door."""

import json

import pytest

from events.bus import Message
from tests.services.edge.house import SECRET, House, bearer
from tests.services.edge.test_triggers import Works

TYPE = "dev.alate.cluster.request"
SPEC = {"clusters": [{"name": "gpu", "pools": [{"accelerator": "H100", "acceleratorsPerNode": 8, "nodes": 2}]}]}
WISH = {"tenant": "acme", "name": "burst", "spec": SPEC}
PATH = "/hooks/cloudevents/acme/ci"


def sent(**wish: object) -> tuple[bytes, dict[str, str]]:
    event = {"specversion": "1.0", "id": "e1", "source": "/how", "type": TYPE, "data": WISH | wish}
    return json.dumps(event).encode(), {"Content-Type": "application/cloudevents+json"}


async def post(house: House, **wish: object):
    body, headers = sent(**wish)
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
