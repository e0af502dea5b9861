"""Of what an add-on has on a cluster all is taken away, and nothing that is not its own."""

import pytest

from events.faults import TryLater
from events.kinds import COLONIES, find
from schemas.addon import Awaits
from tests.services.addons.house import CONFIG, KIND, OTHER, UNKNOWN, UNSERVED

pytestmark = pytest.mark.looptime


async def test_what_the_colony_lists_no_more_is_taken_away_and_the_others_stand(house):
    await house.put_on(driver=f"{CONFIG}---{KIND}", jobs=OTHER)
    assert await house.there() == {
        "settings",
        "theirs",
        "gadgets.example.org",
        "alate-addon-driver",
        "alate-addon-jobs",
    }
    await house.colony(jobs=OTHER)
    assert await house.off() == ""
    assert await house.there() == {"theirs", "alate-addon-jobs"}


async def test_what_it_was_made_of_before_is_taken_away_as_well(house):
    await house.put_on(driver=CONFIG)
    await house.put_on(driver=KIND)
    await house.colony()
    assert await house.off() == ""
    assert await house.there() == set()


async def test_a_kind_that_others_have_objects_of_is_left_and_that_is_said(house):
    await house.put_on(driver=f"{KIND}---{CONFIG}", jobs=UNKNOWN)
    await house.colony(jobs=UNKNOWN)
    told = "CustomResourceDefinition gadgets.example.org is left: 1 objects of that kind are others'"
    assert await house.off() == told
    assert await house.there() == {"gadgets.example.org", "one", "alate-addon-jobs"}


async def test_a_kind_of_which_only_addons_that_go_too_have_objects_is_waited_for(house):
    await house.put_on(driver=KIND, jobs=UNKNOWN)
    await house.colony()
    for _ in range(3):
        with pytest.raises(TryLater, match="1 objects of driver are going"):
            await house.withdraw(dropped=True, stays=True)
    await house.workload.delete(await find(house.workload, "example.org/v1", "Gadget"), "one", "default")
    assert await house.off() == ""
    assert await house.there() == {"alate-addon-jobs"}


async def test_where_the_cluster_ends_a_kind_goes_with_all_its_objects(house):
    await house.put_on(driver=KIND, jobs=UNKNOWN)
    assert await house.off(dropped=False, stays=False) == ""
    assert await house.there() == {"alate-addon-jobs"}


async def test_what_another_addon_has_as_well_is_left(house):
    await house.put_on(driver=f"{CONFIG}---{OTHER}", jobs=OTHER)
    await house.colony(jobs=OTHER)
    assert await house.off() == "ConfigMap theirs belongs to another add-on as well"
    assert await house.there() == {"theirs", "alate-addon-jobs"}


async def test_without_a_colony_it_is_still_known_what_there_is(house):
    await house.put_on(driver=CONFIG)
    await house.management.delete(COLONIES, "train", "default")
    assert await house.off(dropped=False, stays=False) == ""
    assert await house.there() == set()


async def test_what_an_object_cannot_be_written_for_was_noted_before(house):
    await house.colony(f"{CONFIG}---{UNKNOWN}")
    assert await house.apply() == (Awaits(house.digest, UNSERVED),)
    await house.colony()
    assert await house.off() == ""
    assert await house.there() == set()
