"""A workflow run asks by webhook for a cluster, has it, lets it go, and is told of it without asking."""

import asyncio
import json
from random import random

import pytest
import yaml

from events.kube.auth import transport
from events.kube.client import Kube
from events.kube.resources import TRIGGERS
from tests.services.edge.house import RUN, SECRET, SHA
from tests.services.outbound.receiver import receiving
from tests.services.outbound.world import Folder
from tests.story.test_edge import TRIGGER, accepted, gone, sent, until

pytestmark = [pytest.mark.stack, pytest.mark.timeout(300)]


async def trigger(stack) -> None:
    """The shipped one, which names the commit."""
    (written,) = yaml.safe_load_all(TRIGGER.read_text())
    written["metadata"]["namespace"] = "default"
    kube = Kube(await transport(str(stack.kubeconfig)), random=random)
    try:
        await kube.apply(TRIGGERS, written, manager="kubectl")
        await until(lambda: accepted(kube))
    finally:
        await kube.close()


async def test_a_workflow_run_has_a_cluster_and_is_told_that_it_is_ready_and_that_it_is_gone(stack):
    before = await dead_letters(stack)
    (stack.folder / "hooks" / "github.default.ci").write_text(SECRET)
    async with receiving() as forge, receiving() as tracker:
        folder = Folder(stack.folder / "outbound")
        folder.write(
            {"name": "forge", "format": "github", "url": forge.url},
            {"name": "tracker", "format": "cdevents", "url": tracker.url},
        )
        folder.secret("forge", "ghs_of_the_test")
        await trigger(stack)

        assert await sent(stack, RUN, "d-1") == 202
        await until(lambda: told(forge, "success"))
        (colony,) = (await stack.alate("get", "colony", "ci-4711-1", "-o", "json")).json["items"]
        assert colony["status"]["phase"] == "Ready"
        assert await sent(stack, RUN | {"action": "completed"}, "d-2") == 202
        await until(lambda: gone(stack))
        await until(lambda: told(tracker, "dev.cdevents.environment.deleted.0.3.0"))

    states = [json.loads(got.body)["state"] for got in forge.got]
    assert states[-1] == "success"
    assert set(states[:-1]) <= {"pending"}
    assert {got.path for got in forge.got} == {f"/repos/acme/models/statuses/{SHA}"}
    kinds = [json.loads(got.body)["type"].split(".")[3] for got in tracker.got]
    assert kinds == ["created", "deleted"]
    assert await asyncio.to_thread(logs_with, stack.folder / "logs", "ghs_of_the_test") == []
    assert await dead_letters(stack) == before


async def dead_letters(stack) -> list:
    return (await stack.alate("events", "dlq", "ls", "-o", "json")).json["items"]


async def told(receiver, word: str) -> bool:
    return bool(receiver.got) and word in receiver.got[-1].body.decode()


def logs_with(folder, secret: str) -> list[str]:
    return [log.name for log in folder.iterdir() if secret in log.read_text()]
