"""An add-on that leaves its objects takes its name off them, and deletes nothing."""

import pytest

from events.kube.resources import CONFIGMAPS
from services.addons.objects.leave import leave
from services.addons.record import read_record
from tests.services.addons.house import CONFIG, OTHER
from tests.services.addons.objects.steps import Hand

pytestmark = pytest.mark.looptime


@pytest.fixture
def hand(house):
    return Hand(house.workload)


async def test_what_is_left_is_nobodys_and_the_record_is_gone(hand):
    await hand.apply(f"{CONFIG}---{OTHER}")
    await hand.plain.delete(CONFIGMAPS, "theirs", "default")
    await leave(hand.target())
    left = await hand.plain.get(CONFIGMAPS, "settings", "default")
    assert (left["data"], left["metadata"].get("labels")) == ({"size": "small"}, None)
    assert (await read_record(hand.kube, "driver")).has == ()


async def test_what_another_addon_took_over_stays_its_own(hand):
    await hand.apply(CONFIG)
    await hand.apply(CONFIG.replace("small", "large"), "jobs", priority=1)
    await leave(hand.target())
    taken = await hand.plain.get(CONFIGMAPS, "settings", "default")
    assert taken["metadata"]["labels"]["alate.dev/addon"] == "jobs"


async def test_what_was_left_is_found_by_the_next_addon_and_outlives_it(hand):
    await hand.apply(CONFIG)
    await leave(hand.target())
    await hand.apply(CONFIG, "jobs")
    assert [str(each) for each in (await read_record(hand.kube, "jobs")).found] == ["ConfigMap settings"]
