"""Where no zone can be asked for, a region without room is asked once, not zone by zone."""

import pytest

from events.kube.resources import CLUSTERTEMPLATES
from schemas.cluster import Ready
from tests.contracts.clouds.house import House, full

pytestmark = [pytest.mark.looptime, pytest.mark.timeout(60)]


@pytest.fixture
async def house(sandbox):
    """Over k0rdent's own charts, which know no zones."""
    patch = {"status": {"config": {"worker": {"availabilityZone": None}}}}
    await sandbox.kube.patch(CLUSTERTEMPLATES, "aws-standalone-cp-1-0-43", "default", patch, subresource="status")
    return House(sandbox, "k0rdent")


async def test_a_region_without_room_is_asked_once_for_a_machine(house):
    async with house.at_work():
        await house.offer("r1", 10.0, zones=3)
        await house.faults(full(["r1"]))
        await house.ask()
        ready = await house.until(Ready)
        told = [(each.reason, each.placement.region, each.placement.lots[0].zone) for each in ready.failed_attempts]
        assert told == [("NoCapacity", "r1", "")]
        assert ready.attempt.placement.region == "r2"
