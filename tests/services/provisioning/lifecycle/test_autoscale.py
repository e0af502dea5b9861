"""Pods that find no node let their pool grow, a pause without use lets it shrink: within bounds, never to and fro."""

from datetime import UTC, datetime, timedelta

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from schemas.attempts import Observe
from schemas.changes import Resize, Resized, ResizeRefused
from schemas.cluster import Hibernated, Ready, UnmetDemand
from schemas.entity import Due, Wake
from schemas.infra import InfraSeen
from schemas.inventory import ClusterSeen, Demand, PoolSeen
from schemas.placement import Lot, Placement, Ranked
from schemas.wish import Need, Pool, Wish
from services.provisioning.lifecycle.autoscale import IDLE_PAUSE, shrink_lots
from services.provisioning.lifecycle.bin_packing import grow_lots
from services.provisioning.lifecycle.decide import decide
from services.provisioning.lifecycle.todo import todo
from tests.examples import examples

T0 = datetime(2026, 1, 1, tzinfo=UTC)
POOL = Pool(name="gpu", accelerator="H100", accelerators_per_node=8, nodes=2, min_nodes=1, max_nodes=6)
NEED = Need(pools=(POOL,))
WISH = Wish(tenant="acme", colony="train", cluster="a", uid="c1", generation=1, need=NEED)
LOT = Lot(
    pool="gpu", instance="x8", zone="z", accelerator="H100", accelerators_per_node=8,
    nodes=2, price_per_hour=1.0, spot=False,
)  # fmt: skip
replace = msgspec.structs.replace


def pods(*sizes, model=""):
    return tuple(Demand(accelerators=size, pods=sizes.count(size), model=model) for size in sorted({*sizes})[::-1])


def seen(nodes, used=0, *sizes, **shown):
    return ClusterSeen(
        cluster="train-a", uid="c1.1", attempt=1, nodes=nodes, accelerators=8 * nodes,
        used={"H100": used} if used else {}, demand=pods(*sizes), **shown,
    )  # fmt: skip


def tell(state, *events, now=T0):
    for event in events:
        state = decide.decide(state, event, now)
    return state


def size(state):
    return state.attempt.placement.nodes


def settled(state, **shown):
    return tell(state, Resized(1, state.attempt.placement.lots), seen(size(state), **shown))


def wished(generation, need):
    return replace(WISH, generation=generation, need=need)


UP = InfraSeen(cluster="train-a", uid="c1.1", attempt=1, reachable=True)
READY = tell(None, WISH, Ranked((Placement(cloud="aws", region="r", lots=(LOT,)),)), UP, seen(2))
IDLE = tell(READY, seen(2, idle_since=T0))


def more(demand, used=2, lots=(LOT,), need=NEED):
    found = grow_lots(need, lots, ClusterSeen(cluster="a", uid="u", used={"H100": used}, demand=demand))
    return [lot.nodes for lot in found]


@pytest.mark.parametrize(
    ("sizes", "used", "wanted"),
    [
        ((), 2, 2),
        ((8,), 2, 3),
        ((4, 4), 2, 3),
        ((5, 5, 5), 2, 5),
        ((1,) * 17, 2, 5),
        ((8,) * 40, 2, 6),
        ((8,), 1, 2),
        ((16,), 2, 2),
    ],
    ids=["nothing waits", "one node", "two on one", "no two fit", "many small", "the most", "one is free", "too large"],
)
def test_it_has_the_nodes_that_are_used_and_those_that_what_waits_would_fill(sizes, used, wanted):
    assert more(pods(*sizes), used) == [wanted]


def test_only_pods_that_may_run_there_count():
    assert more(pods(8, model="H200")) == [2]
    assert more(pods(8, model="H100")) == [3]


def test_a_pod_counts_for_one_pool_and_what_others_have_free_is_filled_first():
    other = replace(POOL, name="small", accelerator="L4", accelerators_per_node=1)
    fixed = replace(POOL, name="fixed", min_nodes=0, max_nodes=0)
    small, more_of_it = (
        replace(LOT, pool="small", accelerator="L4", accelerators_per_node=1),
        replace(LOT, pool="fixed"),
    )
    assert more(pods(1), lots=(LOT, replace(small, nodes=0)), need=Need(pools=(POOL, other))) == [3, 0]
    assert more(pods(1), lots=(LOT, small), need=Need(pools=(POOL, other))) == [2, 2]
    assert more(pods(8), used=3, lots=(LOT, more_of_it), need=Need(pools=(POOL, fixed))) == [2, 2]
    assert more(pods(8), used=4, lots=(LOT, more_of_it), need=Need(pools=(POOL, fixed))) == [3, 2]


def test_it_grows_no_further_than_the_cluster_may_cost():
    assert more(pods(*(8,) * 9), need=replace(NEED, max_price_per_hour=4.5)) == [4]
    assert more(pods(*(8,) * 9), need=replace(NEED, max_price_per_hour=1.0)) == [2]


demands = st.lists(
    st.builds(
        Demand, accelerators=st.integers(1, 9), pods=st.integers(1, 30), model=st.sampled_from(("", "H100", "L4"))
    ),
    max_size=6,
)


@settings(max_examples=examples(300), deadline=None)
@given(demands, st.integers(0, 6), st.integers(1, 6), st.one_of(st.none(), st.floats(1, 8)))
def test_whatever_waits_its_size_stays_within_bounds_and_never_falls_for_it(demand, used, nodes, cap):
    (found,) = more(tuple(demand), used, (replace(LOT, nodes=nodes),), replace(NEED, max_price_per_hour=cap))
    assert nodes <= found <= max(nodes, POOL.most)
    assert cap is None or found * LOT.price_per_hour <= max(cap, nodes * LOT.price_per_hour)


@settings(max_examples=examples(200), deadline=None)
@given(st.lists(st.integers(1, 8), min_size=1, max_size=12), st.data())
def test_it_grows_once_for_what_waits_however_slowly_the_nodes_join_and_the_pods_find_them(sizes, data):
    """Nodes join one by one, and at each the scheduler may be late with its pods: the size asked for stays."""
    state = tell(READY, seen(2, 2, *sizes))
    wanted, waiting, used = size(state), sorted(sizes, reverse=True), 2
    assert len([each for each in todo(state) if isinstance(each, Resize)]) == (wanted > 2)
    state = tell(state, Resized(1, state.attempt.placement.lots))
    for joined in range(3, wanted + 1):
        state = tell(state, seen(joined, used, *waiting))
        while used < joined and waiting and data.draw(st.booleans()):
            room, used = 8, used + 1
            for one in tuple(waiting):
                if one <= room:
                    waiting.remove(one)
                    room -= one
            state = tell(state, seen(joined, used, *waiting))
        assert size(state) == wanted


def test_what_comes_to_wait_meanwhile_is_added_and_what_a_person_asked_for_comes_first():
    state = tell(READY, seen(2, 2, 8))
    assert (size(state), state.resizing.demanded) == (3, True)
    assert size(tell(state, seen(2, 2, 8, 8))) == 4
    asked = tell(READY, wished(2, Need(pools=(replace(POOL, nodes=3),))))
    assert tell(asked, seen(2, 2, 8, 8)) is asked
    assert size(tell(settled(asked), seen(3, 2, 8, 8))) == 4


def test_nodes_that_never_come_are_asked_for_no_more_once_nobody_waits():
    growing = tell(READY, seen(2, 2, 8, 8))
    state = tell(growing, Resized(1, growing.attempt.placement.lots), seen(2, idle_since=T0))
    assert (state.resizing is not None, state.scale_down_at) == (True, T0 + IDLE_PAUSE)
    assert Wake(T0 + IDLE_PAUSE) in todo(state)
    assert size(tell(state, Due(), now=T0 + IDLE_PAUSE)) == 1


def test_what_comes_to_wait_while_nodes_are_given_back_lets_it_grow_again():
    going = tell(IDLE, Due(), now=T0 + IDLE_PAUSE)
    assert size(tell(going, seen(1, 1, 8), now=T0 + IDLE_PAUSE)) == 2


def test_nothing_is_given_back_while_anything_is_used_and_all_but_the_least_after_a_pause_without():
    assert IDLE.scale_down_at == T0 + IDLE_PAUSE
    assert todo(IDLE) == (Observe(WISH, IDLE.attempt), Wake(T0 + IDLE_PAUSE))
    assert tell(IDLE, Due(), now=T0 + IDLE_PAUSE - timedelta(seconds=1)) is IDLE
    less = tell(IDLE, Due(), now=T0 + IDLE_PAUSE)
    assert (type(less), size(less)) == (Ready, 1)
    again = settled(less, idle_since=T0)
    assert (again.scale_down_at, again.resizing) == (None, None)


@pytest.mark.parametrize("word", [seen(2, 1), seen(2, idle_since=T0, known=False)], ids=["used", "not heard"])
def test_what_is_used_or_cannot_be_heard_is_not_taken_for_idle(word):
    state = tell(IDLE, word)
    assert (state.scale_down_at, size(tell(state, Due(), now=T0 + IDLE_PAUSE))) == (None, 2)


def test_a_refusal_is_no_fault_of_the_wish_and_it_is_asked_again_after_a_pause():
    growing = tell(READY, seen(2, 2, 8))
    state = tell(growing, ResizeRefused(1, growing.attempt.placement.lots, "others hold the rest"))
    assert (size(state), state.refused, state.wish.need, state.scale_up_from) == (2, "", NEED, T0 + IDLE_PAUSE)
    state = settled(state)
    assert size(tell(state, seen(2, 2, 8))) == 2
    assert Wake(T0 + IDLE_PAUSE) in todo(state)
    assert size(tell(state, Due(), seen(2, 2, 8), now=T0 + IDLE_PAUSE)) == 3


def test_fewer_nodes_that_are_refused_are_asked_for_again_after_a_pause_and_not_at_once():
    idle = tell(READY, seen(2, idle_since=T0 - IDLE_PAUSE), Due())
    assert size(idle) == 1
    refused = tell(idle, ResizeRefused(1, idle.attempt.placement.lots, "no such size"))
    assert refused.unmet_demand is None  # no pods wait
    state = settled(refused, idle_since=T0 - IDLE_PAUSE)
    assert size(tell(state, Due(), seen(2, idle_since=T0 - IDLE_PAUSE))) == 2
    assert [each for each in todo(state) if isinstance(each, Wake)] == [Wake(T0 + IDLE_PAUSE)]
    again = tell(state, Due(), now=T0 + IDLE_PAUSE)
    assert size(again) == 1
    assert tell(again, Due(), now=T0 + IDLE_PAUSE).scale_up_from is None


def test_a_refusal_is_told_until_it_is_followed_or_nothing_waits_any_more():
    growing = tell(READY, seen(2, 2, 8))
    refused = tell(growing, ResizeRefused(1, growing.attempt.placement.lots, "others hold it", "Taken"), seen(2, 2, 8))
    assert refused.unmet_demand == UnmetDemand(reason="Taken", message="others hold it")
    refused = tell(refused, Resized(1, (LOT,)), seen(2, 2, 8), seen(2, 2, 8, 8))
    assert (refused.resizing, refused.unmet_demand.reason) == (None, "Taken")
    assert tell(refused, Due(), seen(2, 2, 8), now=T0 + IDLE_PAUSE).unmet_demand is None
    assert tell(refused, seen(2, 2)).unmet_demand is None
    assert (
        tell(refused, wished(2, Need(pools=(replace(POOL, min_nodes=0, max_nodes=0),))), seen(2, 2, 8)).unmet_demand
        is None
    )


def test_what_may_not_cost_more_says_so_in_the_same_words_however_many_wait():
    capped = tell(READY, wished(2, replace(NEED, max_price_per_hour=2.5)))
    told = tell(capped, seen(2, 2, 8))
    assert (size(told), told.unmet_demand.reason) == (2, "PriceCap")
    assert told.unmet_demand.message == (
        "pods wait for pool gpu: one more node of x8 would make it 3 USD per hour, more than maxPricePerHour 2.5"
    )
    assert tell(told, seen(2, 2, 8, 8, 8)) == told
    assert tell(told, seen(2, 2)).unmet_demand is None


def test_what_it_may_not_have_at_all_is_no_refusal():
    largest = tell(READY, wished(2, Need(pools=(replace(POOL, nodes=2, max_nodes=2, min_nodes=1),))))
    assert tell(largest, seen(2, 2, 8)).unmet_demand is None


def test_what_a_person_says_counts_when_it_is_said_and_what_the_pods_ask_for_afterwards():
    state = settled(tell(READY, seen(2, 2, 8, 8)))
    assert size(state) == 4
    assert size(tell(state, wished(2, replace(NEED, max_price_per_hour=90.0)))) == 4
    assert size(tell(state, wished(2, Need(pools=(replace(POOL, max_nodes=3),))))) == 3
    assert size(tell(state, wished(2, Need(pools=(replace(POOL, nodes=5),))))) == 5
    assert size(tell(state, wished(2, Need(pools=(replace(POOL, min_nodes=0, max_nodes=0),))))) == 2


def test_one_that_hibernates_listens_to_no_pod_and_wakes_with_what_it_began_with():
    grown_up = settled(tell(READY, seen(2, 2, 8)))
    asleep = tell(grown_up, wished(2, replace(NEED, hibernate=True)), seen(0, 0, 8))
    assert (type(asleep), size(asleep)) == (Hibernated, 0)
    assert size(tell(asleep, wished(3, NEED))) == 2


def test_pools_without_bounds_are_left_as_they_are():
    fixed = Need(pools=(replace(POOL, min_nodes=0, max_nodes=0),))
    state = tell(READY, wished(2, fixed))
    assert tell(state, seen(2, 2, 8), seen(2, idle_since=T0)) is state
    assert todo(state) == ()
    assert shrink_lots((LOT,), fixed, ("gpu",)) == (LOT,)


OTHER = replace(POOL, name="other", nodes=3)
BOTH = replace(WISH, need=Need(pools=(POOL, OTHER)))
LOTS = (LOT, replace(LOT, pool="other", nodes=3))


def two(gpu=None, other=None, *, untold=0, nodes=(2, 3), **shown):
    """Two pools, each with since when it is idle; and ready nodes that do not tell their pool."""
    pools = {
        name: PoolSeen(nodes=many, accelerators=8 * many, idle_since=idle)
        for (name, idle), many in zip((("gpu", gpu), ("other", other)), nodes, strict=True)
    }
    return replace(seen(sum(nodes) + untold, **shown), pools=pools)


PAIR = tell(None, BOTH, Ranked((Placement(cloud="aws", region="r", lots=LOTS),)), UP, two())


def sizes(state):
    return [lot.nodes for lot in state.attempt.placement.lots]


def test_a_pool_of_which_nothing_is_used_goes_to_its_least_while_another_is_at_work():
    state = tell(PAIR, two(other=T0))
    assert (state.idle_pools, Wake(T0 + IDLE_PAUSE) in todo(state)) == ({"other": T0}, True)
    assert tell(state, Due(), now=T0 + IDLE_PAUSE - timedelta(seconds=1)) is state
    less = tell(state, Due(), now=T0 + IDLE_PAUSE)
    assert (type(less), sizes(less), less.idle_pools) == (Ready, [2, 1], {})
    settled = tell(less, Resized(1, less.attempt.placement.lots), two(other=T0, nodes=(2, 1)))
    assert (settled.resizing, settled.scale_down_at) == (None, None)


def test_pools_that_fall_idle_one_after_the_other_are_given_back_one_after_the_other():
    later = T0 + timedelta(minutes=4)
    first = tell(PAIR, two(gpu=later, other=T0), Due(), now=T0 + IDLE_PAUSE)
    assert sizes(first) == [2, 1]
    state = tell(first, two(gpu=later, other=T0))
    assert (state.idle_pools, state.scale_down_at) == ({"gpu": later}, later + IDLE_PAUSE)
    assert sizes(tell(state, Due(), now=later + IDLE_PAUSE)) == [1, 1]


@pytest.mark.parametrize("word", [two(), two(other=T0, untold=1), two(other=T0, known=False)],
                         ids=["used again", "any node may be of it", "not heard"])  # fmt: skip
def test_a_pool_of_which_anything_may_be_used_keeps_its_nodes(word):
    state = tell(PAIR, two(other=T0), word)
    assert (state.idle_pools, state.scale_down_at) == ({}, None)
    assert sizes(tell(state, Due(), now=T0 + IDLE_PAUSE)) == [2, 3]


def test_where_nodes_do_not_tell_their_pool_the_whole_cluster_has_to_be_idle():
    state = tell(PAIR, two(untold=1, idle_since=T0))
    assert state.idle_pools == {"gpu": T0, "other": T0}
    assert sizes(tell(state, Due(), now=T0 + IDLE_PAUSE)) == [1, 1]


def test_what_an_earlier_release_told_of_a_lull_was_of_every_pool():
    assert sizes(tell(replace(PAIR, scale_down_at=T0), Due())) == [1, 1]
