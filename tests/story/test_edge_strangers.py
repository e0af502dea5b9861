"""One tenant's Trigger and strangers at the door of a running stack: others' webhooks go on being answered."""

import json
from random import random

import aiohttp
import pytest

from events.kube.auth import transport
from events.kube.client import Kube
from events.kube.resources import NAMESPACES, TRIGGERS
from tests.services.edge.house import SECRET, github
from tests.story.test_edge import until

pytestmark = [pytest.mark.stack, pytest.mark.timeout(300)]

COSTLY = "data.many.all(a, data.many.all(b, data.many.all(c, a + b + c >= 0)))"
CLUSTER = {"name": "gpu", "pools": [{"accelerator": "H100", "acceleratorsPerNode": 8, "nodes": 1}]}


def trigger(namespace: str, when: str) -> dict:
    rule = {"name": "start", "when": when, "then": "Request", "colony": {"clusters": [CLUSTER]}}
    return {
        "apiVersion": TRIGGERS.api_version,
        "kind": TRIGGERS.kind,
        "metadata": {"name": "t", "namespace": namespace},
        "spec": {"endpoint": "t", "name": "of-${data.id}", "rules": [rule]},
    }


async def test_a_trigger_that_takes_too_much_is_switched_off_and_others_webhooks_are_followed(stack):
    for tenant in ("default", "hostile"):
        (stack.folder / "hooks" / f"github.{tenant}.t").write_text(SECRET)
    kube = Kube(await transport(str(stack.kubeconfig)), random=random)
    try:
        for made in (trigger("hostile", COSTLY), trigger("default", "data.id == 'good'")):
            await make(kube, made)
            await until(lambda made=made: accepted(kube, made["metadata"]["namespace"], "Followed"))
        sent = [await send(stack, "hostile", {"id": n, "many": list(range(500))}) for n in range(4)]
        sent.append(await send(stack, "default", {"id": "good"}))
        assert sent == [202] * 5
        await until(lambda: founded(stack, "of-good"))
        await until(lambda: accepted(kube, "hostile", "TooCostly"))
        await until(lambda: buried(stack, "its rules take more than 0.5 s of a processor for one event"))
        made = trigger("hostile", "data.id == 1")
        await kube.apply(TRIGGERS, made, manager="kubectl")
        await until(lambda: accepted(kube, "hostile", "Followed"))
    finally:
        await kube.close()


async def test_a_trigger_whose_loops_are_nested_deep_is_refused_as_it_is_made(stack):
    when = "true"
    for level in range(20):
        when = f"[0,1,2,3,4,5,6,7,8,9].all(v{level}, {when})"
    kube = Kube(await transport(str(stack.kubeconfig)), random=random)
    try:
        await make(kube, trigger("nested", when))
        await until(lambda: accepted(kube, "nested", "Invalid"))
    finally:
        await kube.close()


async def make(kube: Kube, made: dict) -> None:
    """The Trigger and its namespace."""
    place = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": made["metadata"]["namespace"]}}
    await kube.apply(NAMESPACES, place, manager="kubectl")
    await kube.apply(TRIGGERS, made, manager="kubectl")


async def accepted(kube: Kube, namespace: str, reason: str) -> bool:
    status = (await kube.get(TRIGGERS, "t", namespace)).get("status", {})
    return [each["reason"] for each in status.get("conditions", ()) if each["type"] == "Accepted"] == [reason]


async def send(stack, tenant: str, body: dict) -> int:
    data = json.dumps(body).encode()
    async with aiohttp.ClientSession() as session:
        headers = github(data, delivery=f"{tenant}-{body['id']}")
        return (await session.post(f"{stack.hooks}/github/{tenant}/t", data=data, headers=headers)).status


async def founded(stack, name: str) -> bool:
    return (await stack.alate("get", "colony", name)).code == 0


async def buried(stack, why: str) -> bool:
    return why in (await stack.alate("events", "dlq", "ls")).out
