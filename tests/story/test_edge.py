"""What comes in at the door of a running stack, as a sender sees it."""

import asyncio
import json

import aiohttp
import pytest

from events.credentials import Credentials
from events.jetstream import connect
from tests.services.edge.house import RUN, SECRET, github

pytestmark = [pytest.mark.stack, pytest.mark.timeout(300)]

BODY = json.dumps(RUN).encode()


async def test_a_signed_webhook_is_on_the_bus_once_when_it_is_answered(stack):
    (stack.folder / "hooks" / "github.default.ci").write_text(SECRET)
    async with aiohttp.ClientSession() as session:
        answers = [
            (await session.post(f"{stack.hooks}/github/default/ci", data=BODY, headers=headers)).status
            for headers in (github(BODY), github(BODY), github(BODY, "a guess"))
        ]
    assert answers == [202, 202, 401]

    bus = await connect(stack.nats, name="operator", streams=(), credentials=Credentials(nkey=stack.key("operator")))
    kept = await bus.read("HOOKS", "hook.github.default.ci.*")
    await bus.close()
    assert [each.data for each in kept] == [BODY]
    assert await asyncio.to_thread(secrets_told, stack.folder / "logs") == []


def secrets_told(logs) -> list[str]:
    return [log.name for log in logs.iterdir() if SECRET in log.read_text()]
