"""A cluster that was warned of its end lives on once a word on the bus says so, and ends when that is over."""

import asyncio
import json
from datetime import UTC, datetime

import pytest

from events.bus import Message
from events.cloudevents import CloudEvent, encode
from schemas.cluster import Ready, Released

pytestmark = [pytest.mark.looptime, pytest.mark.timeout(60)]

HOUR = 3600.0


async def extended(house, life):
    word = {"tenant": "default", "name": "train", "cluster": "gpu", "timeToLive": life}
    now, data = datetime(2026, 1, 1, tzinfo=UTC), json.dumps(word).encode()
    headers, body = encode(CloudEvent(id=life, source="/tests", type="dev.alate.colony.extend", time=now, data=data))
    await house.bus.publish(Message("colony.extend.default.train.gpu", body, headers))
    await asyncio.sleep(5)


async def test_a_warning_is_taken_back_by_a_longer_life_which_ends_in_its_time(house):
    async with house.at_work():
        await house.ask(timeToLive="1h", warnBefore="10m")
        await house.until(Ready)
        await asyncio.sleep(HOUR - 300)
        warned = await house.shown()
        assert (warned["teardown"]["phase"], warned["phase"]) == ("Warned", "Ready")
        for life in ("2h", "2h", "90m"):
            await extended(house, life)
            shown = await house.shown()
            assert (shown["teardown"]["phase"], shown["expiresAt"] > warned["expiresAt"]) == ("Armed", True)
        await asyncio.sleep(HOUR - 300)
        assert (await house.shown())["phase"] == "Ready"
        ended = await house.until(Released)
        assert (ended.reason, ended.attempts) == ("TimeToLive", 1)


async def test_a_word_that_comes_too_late_founds_nothing_anew(house):
    async with house.at_work():
        await house.ask(timeToLive="1h")
        await house.until(Released)
        await asyncio.sleep(60)
        await extended(house, "6h")
        await asyncio.sleep(HOUR)
        assert isinstance(await house.state(), Released)
        assert await house.paid() == []
        (letter,) = await house.bus.read("DLQ", ">")
        assert letter.subject.startswith("dlq.INTAKE.gateway-intake")
