"""The answers to probes are shown to speak of this process alone."""

import asyncio
from contextlib import suppress

import aiohttp
import pytest

from events.errors import Denied
from services.process.health import ProcessHealth, served


async def ask(url):
    async with aiohttp.ClientSession() as session, session.get(url) as answer:
        return answer.status, await answer.text()


async def test_a_process_that_has_not_seen_everything_lives_but_is_not_ready():
    health = ProcessHealth(lambda: 0.0)
    async with served("127.0.0.1:0", health) as url:
        assert await ask(f"{url}/healthz") == (200, "alive\n")
        assert await ask(f"{url}/readyz") == (503, "not ready\n")
        health.ready = True
        assert await ask(f"{url}/readyz") == (200, "ready\n")


async def test_a_process_that_does_not_hear_all_there_is_is_not_ready_and_says_why():
    trouble = ["the feed is silent"]
    health = ProcessHealth(lambda: 0.0, trouble=lambda: trouble[0])
    health.ready = True
    async with served("127.0.0.1:0", health) as url:
        assert await ask(f"{url}/readyz") == (503, "not ready: the feed is silent\n")
        assert await ask(f"{url}/healthz") == (200, "alive\n")
        trouble[0] = ""
        assert await ask(f"{url}/readyz") == (200, "ready\n")


async def test_a_loop_without_a_heartbeat_is_dead():
    now = [0.0]
    health = ProcessHealth(lambda: now[0], stale=15.0)
    async with served("127.0.0.1:0", health) as url:
        now[0] = 14.9
        assert (await ask(f"{url}/healthz"))[0] == 200
        now[0] = 15.0
        assert await ask(f"{url}/healthz") == (503, "not alive\n")


@pytest.mark.looptime
async def test_a_turning_loop_stays_alive_for_an_hour():
    health = ProcessHealth(asyncio.get_running_loop().time)
    with suppress(TimeoutError):
        await asyncio.wait_for(health.beat(), 3600)
    assert health.alive
    await asyncio.sleep(15.1)
    assert not health.alive


async def test_metrics_are_served_only_if_wanted_in_the_form_that_is_accepted():
    async with served("127.0.0.1:0", ProcessHealth(lambda: 0.0), lambda accept: (accept.encode(), "text/plain")) as url:
        assert await ask(f"{url}/metrics") == (200, "*/*")
    async with served("127.0.0.1:0", ProcessHealth(lambda: 0.0)) as url:
        assert (await ask(f"{url}/metrics"))[0] == 404


async def test_a_busy_port_is_one_sentence():
    async with served("127.0.0.1:0", ProcessHealth(lambda: 0.0)) as url:
        address = url.removeprefix("http://")
        with pytest.raises(Denied, match=rf"ALATE_HEALTH_ADDRESS {address} cannot be had .*0 for a free one"):
            async with served(address, ProcessHealth(lambda: 0.0)):
                pass
