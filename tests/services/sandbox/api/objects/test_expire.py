"""Events go an hour after they were last written, and nothing else does."""

import asyncio

import pytest

from services.sandbox.api.objects.expire import EVERY

EVENTS = "/api/v1/namespaces/default/events"
CONFIGMAPS = "/api/v1/namespaces/default/configmaps"
ABOUT = {"kind": "Colony", "namespace": "default", "name": "train"}

pytestmark = pytest.mark.looptime


def event(name):
    return {"metadata": {"name": name}, "involvedObject": ABOUT, "reason": "Ready", "message": "it is", "count": 1}


async def looked(world):
    await asyncio.sleep(EVERY + 1)
    return await world.client.names(EVENTS)


async def test_an_event_goes_an_hour_after_it_was_written(worlds):
    async with worlds() as world:
        assert (await world.client.create(EVENTS, event("a"))).status == 201
        assert (await world.client.create(CONFIGMAPS, {"metadata": {"name": "a"}})).status == 201
        world.later(minutes=59)
        assert await looked(world) == ["a"]
        world.later(minutes=2)
        assert await looked(world) == []
        assert await world.client.names(CONFIGMAPS) == ["a"]


async def test_an_event_that_is_counted_again_stays_for_another_hour(worlds):
    async with worlds() as world:
        for name in ("a", "b"):
            assert (await world.client.create(EVENTS, event(name))).status == 201
        world.later(minutes=59)
        assert (await world.client.patch(f"{EVENTS}/a", {"count": 2})).status == 200
        world.later(minutes=2)
        assert await looked(world) == ["a"]
