"""What ended of itself costs nothing more, whatever is edited, until somebody asks for it again."""

import asyncio
import json
from datetime import timedelta
from typing import Any

import pytest

from events.bus import Message
from events.cloudevents import CloudEvent, encode
from events.kube.resources import COLONIES
from schemas.cluster import Ready, Released
from services.colony.edits import recreating
from tests.services.sandbox.clouds.conftest import clock

pytestmark = [pytest.mark.looptime, pytest.mark.timeout(60)]

EDITS: dict[str, Any] = {
    "limits": {"timeToLive": "90m", "idleAfter": "80m"},
    "need": {"maxPricePerHour": 99.0},
    "addons": {"addons": [{"name": "hello", "manifests": "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: hello}"}]},
}


async def ended(house):
    """It was founded, and its time is up."""
    await house.ask(timeToLive="1h")
    await house.until(Ready)
    await house.until(Released)
    await asyncio.sleep(60)


async def edit(house, **fields):
    (asked,) = (await house.kube.get(COLONIES, "train", "default"))["spec"]["clusters"]
    spec = {"spec": {"clusters": [asked | fields]}}
    await house.kube.patch(COLONIES, "train", "default", spec, manager="person")


async def founded(house):
    """How often."""
    return len({state.uid for state in await house.states()})


async def test_no_edit_founds_it_again_and_its_status_says_what_does(house):
    async with house.at_work():
        await ended(house)
        for fields in EDITS.values():
            await edit(house, **fields)
            await asyncio.sleep(120)
        assert (await founded(house), await house.paid()) == (1, [])
        shown = await house.shown()
    assert (shown["phase"], shown["message"]) == (
        "Released",
        "it has ended (TimeToLive): no edit creates it again, but `alate recreate train/gpu` does, or a later askedAt",
    )


async def test_asked_for_again_it_is_founded_again_once_with_all_that_was_edited_meanwhile(house):
    async with house.at_work():
        await ended(house)
        await edit(house, **EDITS["limits"])
        patch = recreating(await house.kube.get(COLONIES, "train", "default"), "gpu", clock())
        await house.kube.patch(COLONIES, "train", "default", patch, kind="json", manager="person")
        state = await house.until(Ready)
        assert state.wish.limits.time_to_live_seconds == timedelta(minutes=90).total_seconds()
        await house.until(Released)
        await edit(house, **EDITS["need"])
        await asyncio.sleep(120)
        assert (await founded(house), await house.paid()) == (2, [])


async def test_another_request_for_it_founds_it_again_the_same_one_heard_twice_does_not(house):
    pool = {"name": "md", "accelerator": "H100", "acceleratorsPerNode": 8, "nodes": 1, "spot": "never"}
    spec = {"clusters": [{"name": "gpu", "pools": [pool], "backend": house.backend, "timeToLive": "1h"}]}
    data = json.dumps({"tenant": "default", "name": "train", "spec": spec}).encode()
    async with house.at_work():
        told = []
        for request in ("push-1", "push-2"):
            event = CloudEvent(id=request, source="/ci", type="dev.alate.cluster.request", time=clock(), data=data)
            headers, body = encode(event)
            await house.bus.publish(Message("cluster.requested", body, headers))
            await house.until(Ready)
            await house.until(Released)
            await house.bus.publish(Message("cluster.requested", body, headers))
            await asyncio.sleep(120)
            told.append(await founded(house))
        assert (told, await house.paid()) == ([1, 2], [])
