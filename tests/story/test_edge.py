"""What comes in at the door of a running stack, as a sender sees it."""

import asyncio
import json

import aiohttp
import nats
import pytest

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

    client = await nats.connect(stack.nats)
    kept = await client.jetstream().get_last_msg("HOOKS", "hook.github.default.ci.*")
    info = await client.jetstream().stream_info("HOOKS")
    await client.close()
    assert (kept.data, info.state.messages) == (BODY, 1)
    assert await asyncio.to_thread(secrets_told, stack.folder / "logs") == []


def secrets_told(logs) -> list[str]:
    return [log.name for log in logs.iterdir() if SECRET in log.read_text()]
