"""A running cluster gets the size it is wished to have, is ready all the while, and is billed piece by piece."""

from datetime import UTC, datetime, timedelta

import msgspec
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from schemas.attempts import Observe
from schemas.changes import Resize, Resized, ResizeRefused
from schemas.cluster import Placing, Provisioned, Ready
from schemas.entity import Due, Wake
from schemas.infra import InfraSeen
from schemas.inventory import ClusterSeen, PoolSeen
from schemas.placement import Lot, Placement, Ranked
from schemas.wish import Need, Pool, Wish
from services.provisioning.lifecycle.decide import decide
from services.provisioning.lifecycle.todo import todo
from services.provisioning.lifecycle.update import RESIZE_LIMIT
from tests.examples import examples

T0 = datetime(2026, 1, 1, tzinfo=UTC)
HOUR = timedelta(hours=1)
POOL = Pool(name="gpu", accelerator="H100", accelerators_per_node=8, nodes=2)
WISH = Wish(tenant="acme", colony="train", cluster="a", uid="c1", generation=1, need=Need(pools=(POOL,)))
LOT = Lot(
    pool="gpu", instance="x8", zone="z", accelerator="H100", accelerators_per_node=8,
    nodes=2, price_per_hour=1.5, spot=False,
)  # fmt: skip
OFFER = Ranked((Placement(cloud="aws", region="r", lots=(LOT,)),))
replace = msgspec.structs.replace


def tell(state, *events, now=T0):
    for event in events:
        state = decide.decide(state, event, now)
    return state


def wish(nodes, generation=2, **limits):
    pools = (replace(POOL, nodes=nodes),)
    return replace(WISH, generation=generation, need=Need(pools=pools, **limits))


def seen(nodes, **shown):
    return ClusterSeen(cluster="train-a", uid="c1.1", attempt=1, nodes=nodes, accelerators=8 * nodes, **shown)


def launching():
    return tell(None, WISH, OFFER)


def ready():
    reachable = InfraSeen(cluster="train-a", uid="c1.1", attempt=1, reachable=True)
    return tell(launching(), reachable, seen(2))


def nodes(state):
    return [lot.nodes for lot in state.attempt.placement.lots]


def taken(state):
    return Resized(1, state.attempt.placement.lots)


def resizes(state):
    return [each.attempt.placement.lots[0].nodes for each in todo(state) if isinstance(each, Resize)]


def test_the_machines_stay_of_their_kind_and_place_and_only_their_number_changes():
    state = tell(ready(), wish(3))
    assert state.attempt.placement.lots == (replace(LOT, nodes=3),)
    assert (state.wish.generation, state.wish.need.nodes) == (2, 3)


def test_the_back_end_is_told_until_it_has_taken_the_size():
    state = tell(ready(), wish(3))
    assert resizes(state) == [3]
    assert resizes(tell(state, taken(state))) == []


@pytest.mark.parametrize("size", [1, 5])
def test_it_is_ready_from_the_first_moment_of_a_resize_to_the_last(size):
    state = tell(ready(), wish(size))
    between = range(2, size) if size > 2 else range(2, size, -1)
    for count in between:
        state = tell(state, taken(state), seen(count))
        assert isinstance(state, Ready)
        assert state.resizing is not None
    state = tell(state, seen(size))
    assert (type(state), state.resizing, todo(state)) == (Ready, None, ())


def test_less_than_it_keeps_in_any_case_withdraws_ready():
    state = tell(ready(), wish(5))
    fewer = tell(state, taken(state), seen(1))
    assert (type(fewer), fewer.was_ready) == (Provisioned, True)
    assert isinstance(tell(fewer, seen(2)), Ready)


def test_one_that_was_whole_and_has_less_is_given_its_size_once_more():
    fewer = tell(ready(), seen(1))
    assert resizes(fewer) == [2]
    assert tell(fewer, taken(fewer)) is fewer
    assert resizes(tell(launching(), InfraSeen(cluster="train-a", uid="c1.1", attempt=1, reachable=True))) == []


def test_once_it_is_settled_the_new_size_is_what_ready_means():
    state = tell(ready(), wish(3))
    state = tell(state, taken(state), seen(3))
    assert isinstance(tell(state, seen(2)), Provisioned)


def test_what_was_counted_before_the_back_end_took_the_size_settles_nothing():
    state = tell(ready(), wish(5), wish(2, 3))
    assert tell(state, seen(2)).resizing is not None
    assert resizes(tell(state, seen(2))) == [2]


def test_what_never_was_whole_has_to_be_it_in_its_new_size():
    state = tell(launching(), wish(4))
    assert resizes(state) == [4]
    reachable = InfraSeen(cluster="train-a", uid="c1.1", attempt=1, reachable=True)
    state = tell(state, taken(state), reachable, seen(2))
    assert isinstance(state, Provisioned)
    assert isinstance(tell(state, seen(4)), Ready)


def test_time_until_the_change_is_billed_at_the_old_price_and_from_then_on_at_the_new_one():
    state = tell(ready(), wish(4), now=T0 + HOUR)
    assert (state.cost_usd, state.billed_since) == (3.0, T0 + HOUR)
    gone = InfraSeen(cluster="train-a", uid="c1.1", attempt=1, present=False)
    lost = tell(state, gone, now=T0 + 3 * HOUR)
    assert isinstance(lost, Placing)
    assert lost.cost_usd == 3.0 + 2 * 4 * 1.5


def test_a_size_that_breaks_the_limit_is_refused_and_everything_stays():
    state = tell(ready(), wish(4, max_price_per_hour=5.0))
    assert "more than maxPricePerHour 5" in state.refused
    assert (nodes(state), state.resizing, state.wish.need.nodes, state.wish.generation) == ([2], None, 2, 2)
    assert tell(state, wish(4, 3, max_price_per_hour=6.0)).refused == ""


def test_limits_follow_a_wish_whose_pools_are_refused():
    limits = replace(WISH.limits, time_to_live_seconds=60.0)
    other = replace(wish(2), need=replace(WISH.need, regions=("elsewhere",)), limits=limits)
    state = tell(ready(), other)
    assert (state.wish.need, state.wish.limits) == (WISH.need, limits)
    assert state.refused.startswith("regions cannot change")
    assert tell(state, replace(WISH, generation=3)).refused == ""


def test_a_refused_field_holds_up_no_later_size():
    """As somebody meets it who once wrote a version or a region that cannot be, and scales the cluster afterwards."""
    poisoned = replace(WISH.need, regions=("elsewhere",), kubernetes_version="v1.20.0")
    state = tell(ready(), replace(WISH, generation=2, need=poisoned))
    assert "regions cannot change" in state.refused
    assert "never goes down" in state.refused
    larger = replace(poisoned, pools=(replace(POOL, nodes=3),))
    state = tell(state, replace(WISH, generation=3, need=larger))
    assert (nodes(state), state.wish.need) == ([3], replace(WISH.need, pools=(replace(POOL, nodes=3),)))
    assert "regions cannot change" in state.refused
    state = tell(state, replace(WISH, generation=4, need=replace(larger, regions=(), kubernetes_version="v1.35.0")))
    assert (state.refused, state.upgrading.version) == ("", "v1.35.0")


def test_what_the_back_end_refuses_is_taken_back_and_told():
    state = tell(ready(), wish(4))
    refusal = ResizeRefused(1, state.attempt.placement.lots, "none left")
    state = tell(state, refusal)
    assert (nodes(state), state.wish.need.nodes, state.refused) == ([2], 2, "none left")
    assert resizes(state) == [2]
    settled = tell(state, taken(state), seen(2))
    assert (settled.resizing, settled.refused) == (None, "none left")


def test_where_even_the_way_back_is_refused_it_is_left_to_people():
    state = tell(ready(), wish(4))
    for _ in range(2):
        state = tell(state, ResizeRefused(1, state.attempt.placement.lots, "forbidden"))
    assert (nodes(state), state.resizing, todo(state), state.refused) == ([2], None, (), "forbidden")


def test_a_second_change_before_the_first_is_taken_goes_back_to_what_was_taken():
    state = tell(ready(), wish(4), wish(6, 3))
    state = tell(state, ResizeRefused(1, state.attempt.placement.lots, "none left"))
    assert nodes(state) == [2]


def test_a_replica_that_told_the_back_end_an_older_size_makes_the_newest_be_told_again():
    first = tell(ready(), wish(4))
    state = tell(first, wish(3, 3))
    state = tell(state, taken(state), seen(3))
    assert resizes(state) == []
    assert resizes(tell(state, taken(first))) == [3]


def test_what_takes_long_goes_on_and_people_are_told_once():
    state = tell(ready(), wish(4))
    state = tell(state, taken(state))
    assert {Observe(state.wish, state.attempt), Wake(T0 + RESIZE_LIMIT)} == set(todo(state))
    assert tell(state, Due()) is state
    late = tell(state, Due(), now=T0 + RESIZE_LIMIT)
    assert (late.resizing.late, todo(late)) == (True, ())
    assert tell(late, seen(4)).resizing is None


def pooled(**nodes):
    """A count by pool."""
    pools = {name: PoolSeen(nodes=number, accelerators=8 * number) for name, number in nodes.items()}
    return seen(sum(nodes.values()), pools=pools)


def swapped():
    """A cluster of pools of 2 nodes and of 1 that is to have 1 and 2, as the back end knows."""
    other = replace(POOL, name="more", nodes=1)
    asked = replace(WISH, need=Need(pools=(POOL, other)))
    both = replace(OFFER.placements[0], lots=(LOT, replace(LOT, pool="more", nodes=1)))
    reachable = InfraSeen(cluster="train-a", uid="c1.1", attempt=1, reachable=True)
    state = tell(None, asked, Ranked((both,)), reachable, pooled(gpu=2, more=1))
    change = Need(pools=(replace(POOL, nodes=1), replace(other, nodes=2)))
    state = tell(state, replace(asked, generation=2, need=change))
    return tell(state, taken(state))


def test_one_pool_smaller_and_another_larger_by_as_many_is_settled_once_each_has_its_size():
    state = swapped()
    for there in (pooled(gpu=2, more=1), pooled(gpu=1, more=1), pooled(gpu=2, more=2)):
        state = tell(state, there)
        assert (type(state), state.resizing is None) == (Ready, False)
    assert tell(state, pooled(gpu=1, more=2)).resizing is None


def test_what_one_pool_still_has_too_much_of_hides_no_loss_in_another():
    fewer = tell(swapped(), pooled(gpu=2, more=0))
    assert (type(fewer), fewer.was_ready) == (Provisioned, True)


def test_where_nodes_do_not_tell_their_pool_all_are_counted_together():
    assert tell(swapped(), seen(3)).resizing is None


def test_a_pool_that_shrinks_while_another_grows_needs_no_more_than_both_had_and_keep():
    state = swapped()
    back = Need(pools=(replace(POOL, nodes=3), replace(POOL, name="more", nodes=1)))
    state = tell(state, replace(state.wish, generation=3, need=back))
    assert (state.resizing.least, state.resizing.nodes) == ({"gpu": 1, "more": 1}, 2)
    assert isinstance(tell(state, pooled(gpu=1, more=1)), Ready)


@pytest.mark.parametrize(("before", "after", "grows"), [(2, 3, True), (2, 1, False)])
def test_only_what_grows_asks_whether_there_is_room(before, after, grows):
    (asked,) = (each for each in todo(tell(ready(), wish(after))) if isinstance(each, Resize))
    assert (nodes(ready()), asked.grows) == ([before], grows)


@example([("wish", 1), ("wish", 2), ("late", 3), ("refuse", 1), ("wish", 2)])
@settings(max_examples=examples(200), deadline=None)
@given(st.lists(st.tuples(st.sampled_from(("wish", "tell", "late", "refuse")), st.integers(1, 5)), max_size=12))
def test_whatever_is_told_late_or_refused_the_back_end_ends_with_what_the_state_says(steps):
    """Two replicas tell it; one of them may have read its order long ago."""
    state, there, asked = ready(), 2, []
    for generation, (what, number) in enumerate(steps, 2):
        if what == "wish":
            state = tell(state, wish(number, generation))
        asked += [each.attempt.placement.lots for each in todo(state) if isinstance(each, Resize)]
        if asked and what in ("tell", "late"):
            lots = asked[-1] if what == "tell" else asked[number % len(asked)]
            there = lots[0].nodes
            state = tell(state, Resized(1, lots))
        if what == "refuse":
            state = tell(state, ResizeRefused(1, state.attempt.placement.lots, "no"))
    while lots := resizes(state):
        there = lots[0]
        state = tell(state, taken(state))
    assert nodes(state) == [state.wish.need.nodes]
    assert there == state.wish.need.nodes or "no" in state.refused
    assert isinstance(state, Ready)
