"""A request enters few files on its way to a ready cluster, so that people can follow it."""

import asyncio
import json

import pytest

from events.bus import Message
from events.cloudevents import CloudEvent, encode
from schemas.cluster import Ready
from services.compose import SERVICES
from tests.contracts.clouds.house import House
from tests.services.sandbox.clouds.conftest import clock, sandbox
from tests.walks.request import entered, table

__all__ = ["sandbox"]
pytestmark = [pytest.mark.looptime, pytest.mark.timeout(60)]

MOST_FILES = 107
POOL = {"name": "md", "accelerator": "H100", "acceleratorsPerNode": 8, "nodes": 1, "spot": "never"}
ASKED = {"tenant": "default", "name": "train", "spec": {"clusters": [{"name": "gpu", "pools": [POOL]}]}}


async def test_a_request_enters_few_files(sandbox):
    house = House(sandbox, "capi")
    more = [SERVICES[name](house.ports).run() for name in ("edge", "outbound")]
    async with house.at_work(*more):
        await asyncio.sleep(60.0)
        data = json.dumps(ASKED).encode()
        headers, body = encode(
            CloudEvent(id="1", source="/ci", type="dev.alate.cluster.request", time=clock(), data=data)
        )
        with entered() as walk:
            await house.bus.publish(Message("cluster.requested", body, headers))
            await house.until(Ready)
    print(table(walk.files()))  # noqa: T201 - the walk is there to be read: pytest -s
    assert len(walk.files()) <= MOST_FILES
