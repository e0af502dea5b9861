"""The Pods that the chart describes, two of each, found and end clusters while some are stopped and some are killed."""

import asyncio
from typing import Any

import pytest

from schemas.subjects import Key
from services.clients.catalog_sources import SAMPLE
from services.compose import SERVICES
from tests.deploy.chart import rendered
from tests.deploy.pods import playing
from tests.story.house import agreed, at_work, colony, until_ready

pytestmark = [pytest.mark.stack, pytest.mark.slow, pytest.mark.timeout(600)]
STOPPED = ("gateway", "inventory", "provisioning")
KILLED = ("gateway", "inventory", "provisioning", "addons", "teardown")
SECONDS = 15.0
"""How long they are stopped: longer than their entries among the members live."""


async def test_nothing_is_lost_doubled_or_left_while_pods_are_stopped_and_killed(tmp_path):
    async with at_work(tmp_path / "stack") as house:
        keys = {name: house.wiring.key(name).read_bytes() for name in SERVICES}
        values: dict[str, Any] = {"nats": {"url": house.wiring.bus, "keysSecret": "keys"}, "replicas": 2}
        values["settings"] = {"ALATE_CATALOG": str(SAMPLE)}
        async with playing(rendered(values), tmp_path / "pods", {"keys": keys}, house.wiring.management) as pods:
            assert len(pods) == 2 * len(SERVICES)
            for number in range(4):
                await house.ask(colony(number))
            await asyncio.sleep(2)
            for service in STOPPED:
                pods[f"alate-{service}-0"].stop()
            for number in range(4, 8):
                await house.ask(colony(number))
            await asyncio.sleep(SECONDS)
            for service in STOPPED:
                pods[f"alate-{service}-0"].go_on()
            for service in KILLED:
                await pods[f"alate-{service}-1"].kill()
            for number in range(8, 12):
                await house.ask(colony(number))
            for number in range(12):
                await until_ready(house, number)
            assert len(await agreed(house)) == 12
            for number in range(12):
                await house.go(f"c{number}")
            proof = await house.left(120, {Key("cluster", "default", f"c{number}-a") for number in range(12)})
            assert proof.clean, proof
