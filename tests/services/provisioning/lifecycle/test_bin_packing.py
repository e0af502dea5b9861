"""Only nodes that a pod could use hold its pool's growth back, and only pools that it could use grow for it."""

from itertools import product

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from schemas.inventory import ClusterSeen, Demand, PoolSeen
from schemas.wish import Need
from services.provisioning.lifecycle.bin_packing import grow_lots
from tests.examples import examples
from tests.samples import LOT, POOL

replace = msgspec.structs.replace
SIZE = 4
"""Accelerators of a node here."""


def need(cap=None, **bounds):
    """Pools by name: the fewest and the most nodes of each."""
    pools = (
        replace(
            POOL, name=name, accelerator="H100", accelerators_per_node=SIZE, nodes=most, min_nodes=least, max_nodes=most
        )
        for name, (least, most) in bounds.items()
    )
    return Need(pools=tuple(pools), max_price_per_hour=cap)


def lots(price=1.0, **nodes):
    return tuple(
        replace(
            LOT, pool=name, accelerator="H100", accelerators_per_node=SIZE, nodes=many, price_per_hour=price, group=None
        )
        for name, many in nodes.items()
    )


def told(*demand, **used):
    pools = {name: PoolSeen(nodes=9, used=many) for name, many in used.items()}
    return ClusterSeen(cluster="train-a", uid="c1.1", demand=demand, pools=pools)


def sizes(*args):
    return {lot.pool: lot.nodes for lot in grow_lots(*args)}


def waits(pods=1, *pools, size=SIZE):
    return Demand(accelerators=size, pods=pods, pools=pools)


BOTH = need(a=(1, 4), b=(1, 4))


def test_a_free_node_out_of_a_pods_reach_holds_no_growth_back():
    assert sizes(BOTH, lots(a=2, b=2), told(waits(1, "a"), a=2, b=0)) == {"a": 3, "b": 2}
    assert sizes(BOTH, lots(a=2, b=2), told(waits(1, "a", "b"), a=2, b=0)) == {"a": 2, "b": 2}


def test_a_pool_grows_for_no_pod_that_could_not_use_it():
    assert sizes(BOTH, lots(a=1, b=1), told(waits(2, "b"), a=1, b=1)) == {"a": 1, "b": 3}
    assert sizes(BOTH, lots(a=1, b=1), told(waits(2), a=1, b=1)) == {"a": 1, "b": 1}


def test_one_that_could_use_few_pools_is_put_before_one_that_could_use_many():
    free_in_a = told(waits(1, "a", "b"), waits(1, "a"), a=1, b=2)
    assert sizes(need(a=(1, 2), b=(1, 4)), lots(a=2, b=2), free_in_a) == {"a": 2, "b": 3}


def test_what_one_pool_may_not_have_or_cost_goes_to_the_next_that_can_be_used():
    assert sizes(need(a=(1, 2), b=(1, 4)), lots(a=1, b=1), told(waits(3, "a", "b"), a=1, b=1)) == {"a": 2, "b": 3}
    cheap = (*lots(9.0, a=1), *lots(1.0, b=1))
    assert sizes(need(12.0, a=(1, 4), b=(1, 4)), cheap, told(waits(3, "a", "b"), a=1, b=1)) == {"a": 1, "b": 3}


def test_tenths_of_a_dollar_add_up_to_the_limit():
    assert sizes(need(0.3, a=(1, 9)), lots(0.1, a=1), told(waits(9, "a"), a=1)) == {"a": 3}


def test_nodes_that_do_not_tell_their_pool_may_be_of_any_that_is_not_seen():
    seen = replace(told(waits(1, "")), used={"H100": 2})
    assert sizes(need(a=(1, 4)), lots(a=2), seen) == {"a": 3}
    adopted = replace(told(waits(1, "theirs"), theirs=2), used={"H100": 2})
    assert sizes(need(a=(1, 4)), lots(a=2), adopted) == {"a": 3}
    assert sizes(BOTH, lots(a=2, b=2), told(waits(1, "b"), b=2)) == {"a": 2, "b": 3}


@pytest.mark.parametrize("used", [0, 1, 2])
def test_what_is_used_on_untold_nodes_is_counted_on_the_first_of_its_kind(used):
    seen = replace(told(replace(waits(1), pools=None)), used={"H100": used})
    assert sizes(BOTH, lots(a=1, b=1), seen) == {"a": 1 + used // 2, "b": 1}


@pytest.mark.parametrize("seen", [told(waits(1, "a"), a=2), replace(told(waits(1, "")), used={"H100": 2})])
def test_what_is_in_use_while_it_is_given_back_is_not_taken_for_free(seen):
    assert sizes(need(a=(1, 4)), lots(a=1), seen) == {"a": 3}
    assert sizes(need(a=(1, 4)), lots(a=3), seen) == {"a": 3}


names = st.sampled_from("abc")
pools = st.dictionaries(names, st.tuples(st.integers(0, 2), st.integers(0, 1), st.integers(0, 2)), min_size=1)
"""By name: free nodes, used ones, how many more there may be."""


def built(drawn):
    """A need, its lots and what is used."""
    had = {name: max(free + used, 1) for name, (free, used, _) in sorted(drawn.items())}
    bounds = {name: (1, many + drawn[name][2]) for name, many in had.items()}
    return need(**bounds), lots(**had), {name: used for name, (_, used, _) in drawn.items()}


def placed(rooms, pods):
    """The most of these pods that such rooms hold, by trying everything; each pod: its pools and its size."""
    if not pods:
        return 0
    (reach, size), *rest = pods
    best = placed(rooms, rest)
    for at in {(name, room): at for at, (name, room) in enumerate(rooms) if name in reach and room >= size}.values():
        name, room = rooms[at]
        best = max(best, 1 + placed([*rooms[:at], (name, room - size), *rooms[at + 1 :]], rest))
    return best


def rooms(nodes, used):
    return [(name, SIZE) for name, many in nodes.items() for _ in range(many - used[name])]


def fewest(most, used, had, pods):
    """By trying every size: how many pods can be held at all, and the fewest nodes that hold so many."""
    every = product(*(range(had[name], max(most[name], had[name]) + 1) for name in had))
    held = {nodes: placed(rooms(dict(zip(had, nodes, strict=True)), used), pods) for nodes in every}
    top = max(held.values())
    return top, min(sum(nodes) for nodes, many in held.items() if many == top)


whole = st.lists(st.one_of(names.map(lambda name: (name,)), st.just(("a", "b", "c"))), max_size=4)


@settings(max_examples=examples(80), deadline=None)
@given(pools, whole)
def test_for_pods_of_whole_nodes_that_could_use_one_pool_or_all_it_buys_the_fewest_nodes_that_hold_the_most(
    drawn, pods
):
    asked, had, used = built(drawn)
    now = sizes(asked, had, told(*(waits(1, *reach) for reach in pods), **used))
    each = [(reach, SIZE) for reach in pods]
    top, least = fewest(
        {pool.name: pool.most for pool in asked.pools}, used, {lot.pool: lot.nodes for lot in had}, each
    )
    assert (placed(rooms(now, used), each), sum(now.values())) == (top, least)


mixed = st.lists(st.tuples(st.sets(names).map(lambda some: tuple(sorted(some))), st.integers(1, SIZE)), max_size=4)


@settings(max_examples=examples(80), deadline=None)
@given(pools, mixed)
def test_whatever_pods_wait_no_pool_grows_for_what_it_cannot_hold_and_none_stays_small_that_would_help(drawn, pods):
    asked, had, used = built(drawn)
    now = sizes(asked, had, told(*(waits(1, *reach, size=size) for reach, size in pods), **used))
    most, before = {pool.name: pool.most for pool in asked.pools}, {lot.pool: lot.nodes for lot in had}
    for name, nodes in now.items():
        able = sum(name in reach for reach, _ in pods)
        assert before[name] <= nodes <= max(before[name], min(most[name], before[name] + able))
    assert sizes(asked, lots(**now), told(*(waits(1, *reach, size=size) for reach, size in pods), **used)) == now
    missing = len(pods) - placed(rooms(now, used), pods)
    stuck = [reach for reach, _ in pods if all(now[name] >= most[name] for name in reach if name in now)]
    assert missing <= len(stuck)
