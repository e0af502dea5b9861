"""A running cluster gets the version it is wished to have, and is ready all the while; what may not be is refused."""

from datetime import timedelta

import msgspec
import pytest

from schemas.changes import Resize, Rolling, Upgrade, Upgraded, UpgradeRefused
from schemas.cluster import Placing, Provisioned, Ready, Releasing
from schemas.entity import Due, Wake
from schemas.infra import InfraSeen
from schemas.teardown import TeardownReleasing
from services.provisioning.lifecycle.todo import todo
from services.provisioning.lifecycle.update import MACHINE_LIMIT
from tests.services.provisioning.lifecycle.test_resize import HOUR, T0, WISH, launching, ready, seen, tell
from tests.services.provisioning.lifecycle.test_resize import wish as sized

OLD, NEW = WISH.need.kubernetes_version, "v1.35.0"
REACHABLE = InfraSeen(cluster="train-a", uid="c1.1", attempt=1, reachable=True)
replace = msgspec.structs.replace


def wish(version=NEW, nodes=2, generation=2):
    asked = sized(nodes, generation)
    return replace(asked, need=replace(asked.need, kubernetes_version=version))


def upgrades(state):
    return [each.wish.need.kubernetes_version for each in todo(state) if isinstance(each, Upgrade)]


def version(state):
    return state.wish.need.kubernetes_version


def test_it_is_asked_for_until_all_of_it_runs_the_version():
    going = tell(ready(), wish(), Rolling(1, NEW, "1 of 2 machines run v1.35.0"))
    assert isinstance(going, Ready)
    assert (upgrades(going), version(going)) == ([NEW], OLD)
    assert [each.told for each in todo(going) if isinstance(each, Upgrade)] == ["1 of 2 machines run v1.35.0"]
    done = tell(going, Upgraded(1, NEW))
    assert (upgrades(done), version(done), done.upgrading) == ([], NEW, None)


def test_what_is_heard_twice_or_of_another_version_or_attempt_changes_nothing():
    going = tell(ready(), wish())
    assert tell(going, wish()) == going
    for stray in (Upgraded(1, "v1.34.9"), Upgraded(2, NEW), Rolling(2, NEW, "m"), UpgradeRefused(2, NEW, "m")):
        assert tell(going, stray) == going
    done = tell(going, Upgraded(1, NEW))
    for late in (Upgraded(1, NEW), Rolling(1, NEW, "m"), UpgradeRefused(1, NEW, "m"), wish()):
        assert tell(done, late) == done


def test_what_the_back_end_refuses_leaves_it_as_it_is_until_something_else_is_asked():
    refused = tell(ready(), wish(), UpgradeRefused(1, NEW, "no template has it"))
    assert (refused.refused, refused.upgrading, version(refused)) == ("no template has it", None, OLD)
    again = tell(refused, wish("v1.35.1", generation=3))
    assert (again.refused, upgrades(again)) == ("", ["v1.35.1"])


def test_a_refused_wish_leaves_what_is_on_its_way():
    going = tell(ready(), wish(), wish(OLD, generation=3))
    assert going.refused.startswith("kubernetesVersion never goes down")
    assert upgrades(going) == [NEW]


def test_before_there_is_an_api_a_wish_can_be_taken_back_and_time_does_not_run():
    waits = tell(launching(), wish())
    assert upgrades(waits) == []
    assert tell(waits, wish(OLD, generation=3)).upgrading is None
    late = T0 + HOUR
    risen = tell(waits, REACHABLE, now=late)
    assert isinstance(risen, Provisioned)
    assert (upgrades(risen), risen.upgrading.until) == ([NEW], late + 3 * MACHINE_LIMIT)


def test_one_node_of_several_may_be_away_and_no_more():
    going = tell(ready(), wish())
    assert isinstance(tell(going, seen(1)), Ready)
    assert isinstance(tell(going, seen(0)), Provisioned)
    assert isinstance(tell(going, Upgraded(1, NEW), seen(1)), Provisioned)


def test_once_it_is_late_it_has_to_be_whole():
    late = tell(tell(ready(), wish()), Due(), now=T0 + 3 * MACHINE_LIMIT)
    assert late.upgrading.late
    assert isinstance(tell(late, seen(1)), Provisioned)


def test_what_falls_short_while_it_rolls_has_the_whole_time_to_come_back():
    short = tell(tell(ready(), wish(nodes=2)), seen(0))
    assert short.deadline == T0 + 3 * MACHINE_LIMIT
    assert isinstance(tell(short, Due(), now=short.deadline - timedelta(seconds=1)), Provisioned)


def test_another_size_is_told_to_the_back_end_in_the_version_that_runs():
    going = tell(ready(), wish(), wish(nodes=3, generation=3))
    (asked,) = [each for each in todo(going) if isinstance(each, Resize)]
    assert (asked.wish.need.kubernetes_version, asked.attempt.placement.nodes) == (OLD, 3)
    assert upgrades(going) == [NEW]


def test_what_was_to_be_bought_meanwhile_is_bought_in_the_version_it_has_then():
    more = replace(WISH.need.pools[0], name="more")
    asked = replace(wish(), need=replace(wish().need, pools=(*WISH.need.pools, more)))
    going = tell(ready(), asked)
    assert going.wanted.kubernetes_version == OLD
    assert tell(going, Upgraded(1, NEW)).wanted.kubernetes_version == NEW


def test_one_that_fails_meanwhile_is_founded_anew_in_the_new_version():
    short = tell(tell(ready(), wish()), seen(0))
    failed = tell(short, Due(), now=short.deadline)
    assert isinstance(failed, Placing)
    assert version(failed) == NEW


def test_one_that_is_let_go_meanwhile_was_asked_for_in_the_new_version():
    order = TeardownReleasing(uid="c1.1", wish=WISH, reason="Deleted", deadline=T0)
    gone = tell(tell(ready(), wish()), order)
    assert isinstance(gone, Releasing)
    assert version(gone) == NEW


def test_there_is_one_timer_and_it_stands_at_what_comes_first():
    going = tell(tell(ready(), wish()), wish(nodes=3, generation=3), now=T0 + HOUR / 4)
    wakes = [each.at for each in todo(going) if isinstance(each, Wake)]
    assert wakes == [min(going.upgrading.until, going.resizing.until)]


@pytest.mark.parametrize("asked", ["v1.33.9", "v1.36.0"])
def test_what_cannot_follow_is_never_asked_of_the_back_end(asked):
    refused = tell(ready(), wish(asked))
    assert refused.refused.startswith("kubernetesVersion ")
    assert (upgrades(refused), version(refused)) == ([], OLD)
