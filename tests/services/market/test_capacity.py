"""A refusal makes an offer dearer at once and ever less from then on; told twice it counts once."""

import math
from datetime import UTC, datetime, timedelta

import msgspec
import pytest

from schemas.cluster import Placing, Provisioned, Ready
from schemas.market import CapacitySeen
from schemas.placement import Attempt, Lot, Placement
from schemas.wish import Need, Pool, Wish
from services.market.capacity import (
    FORGET_AFTER,
    INTERRUPTION_HALF_LIVES,
    INTERRUPTION_HOURS,
    MOST_REFUSALS,
    forgive,
    learn,
    price_factor,
    refusal_weight,
    refusals,
)

T0 = datetime(2026, 1, 1, tzinfo=UTC)
HOUR = timedelta(hours=1)
WISH = Wish(
    tenant="acme", colony="train", cluster="a", uid="c1", generation=1,
    need=Need(pools=(Pool(name="gpu", accelerator="H100", accelerators_per_node=8, nodes=2),)),
)  # fmt: skip
EMPTY = CapacitySeen(cloud="aws", region="r1", half_life_seconds=3600.0)


def lot(instance="p5", zone="a", *, spot=False, accelerator="H100") -> Lot:
    return Lot(
        pool="gpu", instance=instance, zone=zone, accelerator=accelerator, accelerators_per_node=8, nodes=2,
        price_per_hour=10.0, spot=spot,
    )  # fmt: skip


def attempt(*lots, number=1, reason="NoCapacity", message="") -> Attempt:
    placement = Placement(cloud="aws", region="r1", lots=lots or (lot(),))
    return Attempt(number=number, placement=placement, reason=reason, message=message)


def placing(failed=None, *tried, since=T0, uid="u1") -> Placing:
    return Placing(uid=uid, wish=WISH, attempt=failed, failed_attempts=tried, since=since)


def told(state) -> CapacitySeen:
    return learn(EMPTY, (refusal for _, refusal in refusals(state)), state.since)


def test_a_failed_attempt_weighs_one_and_half_of_it_a_half_life_later():
    seen = told(placing(attempt()))
    weights = [refusal_weight(seen, lot(), spot=False, now=T0 + hours * HOUR) for hours in (0, 1, 2)]
    assert weights == [1.0, 0.5, 0.25]
    assert [price_factor(seen, lot(), spot=False, now=T0 + hours * HOUR) for hours in (0, 1)] == [4.0, 2.5]
    assert price_factor(seen, lot("p4"), spot=False, now=T0) == 1.0


def test_a_clock_that_goes_back_makes_nothing_weigh_more_than_it_did():
    assert refusal_weight(told(placing(attempt())), lot(), spot=False, now=T0 - HOUR) == 1.0


def test_no_capacity_is_a_matter_of_one_zone_one_machine_and_one_way_to_buy():
    seen = told(placing(attempt()))
    others = ((lot(zone="b"), False), (lot("p4"), False), (lot(), True))
    assert [refusal_weight(seen, other, spot=spot, now=T0) for other, spot in others] == [0.0, 0.0, 0.0]


def test_no_capacity_where_no_zone_was_asked_for_is_a_matter_of_all_zones():
    seen = told(placing(attempt(lot(zone=""))))
    others = ((lot(zone="b"), False), (lot("p4"), False), (lot(), True))
    assert [refusal_weight(seen, other, spot=spot, now=T0) for other, spot in others] == [1.0, 0.0, 0.0]


def test_a_quota_is_a_matter_of_the_whole_region():
    seen = told(placing(attempt(reason="Quota")))
    assert refusal_weight(seen, lot("p4", "b"), spot=False, now=T0) == 1.0
    assert refusal_weight(seen, lot("p4", "b", accelerator="L4"), spot=False, now=T0) == 0.0
    assert refusal_weight(seen, lot(), spot=True, now=T0) == 0.0


@pytest.mark.parametrize("reason", ["NeverReady", "Denied", "Taken", "Lost", ""])
def test_other_failures_say_nothing_of_the_market(reason):
    assert told(placing(attempt(reason=reason))).refusals == ()


def test_an_attempt_told_while_it_is_released_and_after_counts_once():
    seen = told(placing(attempt()))
    later = placing(None, attempt(), since=T0 + HOUR)
    again = learn(seen, (refusal for _, refusal in refusals(later)), later.since)
    assert again == seen
    assert again.refusals[0].at == T0


def test_attempts_of_two_clusters_add_up():
    seen = learn(told(placing(attempt())), (r for _, r in refusals(placing(attempt(), uid="u2"))), T0)
    assert refusal_weight(seen, lot(), spot=False, now=T0) == 2.0


def test_only_the_last_of_what_was_tried_is_news():
    state = placing(None, attempt(lot("old")), attempt(lot("new"), number=2))
    assert [refusal.instance for _, refusal in refusals(state)] == ["new"]


def test_of_several_machines_the_one_that_the_message_names_is_blamed():
    both = (lot("p5"), lot("p4"))
    assert [r.instance for _, r in refusals(placing(attempt(*both, message="no p4 in zone a")))] == ["p4"]
    assert [r.instance for _, r in refusals(placing(attempt(*both, message="none")))] == ["p5", "p4"]


@pytest.mark.parametrize(
    ("message", "ways"),
    [("no spot p5 in zone a", [True]), ("no p5 in zone a", [False]), ("none", [False, True])],
)
def test_of_one_machine_bought_both_ways_only_the_one_that_was_refused_is_blamed(message, ways):
    both = (lot("p5"), lot("p5", spot=True))
    assert [r.spot for _, r in refusals(placing(attempt(*both, message=message)))] == ways


def test_a_cluster_that_is_ready_on_the_same_machines_proves_older_refusals_wrong():
    seen = told(placing(attempt()))
    ready = Ready(uid="u2", wish=WISH, attempt=attempt(reason=""), billed_since=T0, kubeconfig="k", since=T0 + HOUR)
    assert forgive(seen, ready).refusals == ()
    assert forgive(seen, msgspec.structs.replace(ready, since=T0)) == seen
    elsewhere = msgspec.structs.replace(ready, attempt=attempt(lot(zone="b"), reason=""))
    assert forgive(seen, elsewhere) == seen


def interrupted(number=1, *lots) -> Provisioned:
    return Provisioned(
        uid="u1", wish=WISH, attempt=attempt(*(lots or (lot(spot=True),)), reason=""), billed_since=T0, deadline=T0,
        kubeconfig="k", was_ready=True, interruptions=number, since=T0 + number * HOUR,
    )  # fmt: skip


def test_an_interruption_makes_spot_of_its_kind_dearer_in_the_whole_region_for_a_long_time():
    seen = told(interrupted())
    rate = math.log(2) / INTERRUPTION_HALF_LIVES  # an hour; the half-life is twelve hours here
    factor = 1 + INTERRUPTION_HOURS * rate
    at = T0 + HOUR
    assert price_factor(seen, lot(zone="b"), spot=True, now=at) == pytest.approx(factor)
    assert price_factor(seen, lot(), spot=True, now=at + INTERRUPTION_HALF_LIVES * HOUR) == pytest.approx(
        1 + INTERRUPTION_HOURS * rate / 2
    )
    assert price_factor(seen, lot(), spot=False, now=at) == price_factor(seen, lot("p4"), spot=True, now=at) == 1.0
    assert refusal_weight(seen, lot(), spot=True, now=at) == 0.0


def test_each_interruption_counts_once_and_being_whole_again_does_not_undo_it():
    twice = learn(told(interrupted()), (r for _, r in refusals(interrupted(2))), T0 + 2 * HOUR)
    amended = msgspec.structs.replace(interrupted(2), since=T0 + 3 * HOUR)
    assert learn(twice, (r for _, r in refusals(amended)), amended.since) == twice
    assert len(twice.refusals) == 2
    whole = interrupted(2).to(Ready)
    assert forgive(twice, msgspec.structs.replace(whole, since=T0 + 9 * HOUR)) == twice
    assert told(interrupted(1, lot())).refusals == ()


def test_what_weighs_nothing_any_more_is_forgotten_when_something_new_is_learnt():
    seen = told(placing(attempt()))
    late = T0 + (FORGET_AFTER + 1) * HOUR
    assert learn(seen, (), late) == seen
    assert learn(EMPTY, seen.refusals, late) == EMPTY
    newer = learn(seen, (r for _, r in refusals(placing(attempt(), since=late, uid="u2"))), late)
    assert [refusal.at for refusal in newer.refusals] == [late]


def test_no_more_than_so_many_are_kept_the_newest():
    seen = EMPTY
    for number in range(MOST_REFUSALS + 5):
        state = placing(attempt(number=number), since=T0 + timedelta(seconds=number))
        seen = learn(seen, (refusal for _, refusal in refusals(state)), state.since)
    assert len(seen.refusals) == MOST_REFUSALS
    assert seen.refusals[0].at == T0 + timedelta(seconds=5)
