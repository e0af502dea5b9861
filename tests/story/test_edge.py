"""What comes in at the door of a running stack, as a sender sees it."""

import asyncio
import json
from pathlib import Path

import aiohttp
import pytest

from events.jetstream.bus import connect
from events.jetstream.credentials import NkeyCredentials
from events.kube.resources import TRIGGERS
from tests.services.edge.house import RUN, SECRET, github

pytestmark = [pytest.mark.stack, pytest.mark.timeout(300)]

TRIGGER = Path(__file__).parents[2] / "deploy" / "triggers" / "github-workflow.yaml"
BODY = json.dumps(RUN).encode()


async def test_a_signed_webhook_is_on_the_bus_once_when_it_is_answered(stack):
    (stack.folder / "hooks" / "github.default.first").write_text(SECRET)
    async with aiohttp.ClientSession() as session:
        answers = [
            (await session.post(f"{stack.hooks}/github/default/first", data=BODY, headers=headers)).status
            for headers in (github(BODY), github(BODY), github(BODY, "a guess"))
        ]
    assert answers == [202, 202, 401]

    bus = await connect(
        stack.nats, name="operator", streams=(), credentials=NkeyCredentials(nkey=stack.key("operator"))
    )
    kept = await bus.read("HOOKS", "hook.github.default.first.*")
    await bus.close()
    assert [each.data for each in kept] == [BODY]
    assert await asyncio.to_thread(secrets_told, stack.folder / "logs") == []


def secrets_told(logs) -> list[str]:
    return [log.name for log in logs.iterdir() if SECRET in log.read_text()]


async def sent(stack, run, delivery) -> int:
    body = json.dumps(run).encode()
    async with aiohttp.ClientSession() as session:
        headers = github(body, delivery=delivery)
        return (await session.post(f"{stack.hooks}/github/default/ci", data=body, headers=headers)).status


async def accepted(kube) -> bool:
    status = (await kube.get(TRIGGERS, "github-workflow", "default")).get("status", {})
    return {each["type"]: each["status"] for each in status.get("conditions", ())}.get("Ready") == "True"


async def gone(stack) -> bool:
    return (await stack.alate("get", "colony", "ci-4711-1")).code == 1


async def until(true) -> None:
    async with asyncio.timeout(120):
        while not await true():  # noqa: ASYNC110 - other processes have no event to wait for
            await asyncio.sleep(0.1)
