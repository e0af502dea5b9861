"""What one pool has too much of is no help to another; nodes that do not tell their pool may be of any."""

from datetime import UTC, datetime, timedelta
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from schemas.cluster import Provisioned, Resizing
from schemas.inventory import ClusterSeen, PoolSeen
from schemas.placement import Attempt, Placement
from schemas.wish import Need, Wish
from services.colony.accounting import by_pool, missing_from, missing_now
from tests.samples import LOT, POOL

NOW = datetime(2026, 1, 1, tzinfo=UTC)
WISH = Wish(tenant="acme", colony="train", cluster="a", uid="c1", generation=1, need=Need(pools=(POOL,)))


def lots(**nodes):
    return tuple(msgspec.structs.replace(LOT, pool=name, nodes=number) for name, number in nodes.items())


def state(adopts="", resizing=None, **nodes):
    attempt = Attempt(number=1, placement=Placement(cloud="aws", region="r", lots=lots(**nodes)), adopts=adopts)
    known = {"wish": WISH, "attempt": attempt, "billed_since": NOW, "resizing": resizing}
    return Provisioned(uid="c1.1", since=NOW, deadline=NOW, kubeconfig="k", **known)


def seen(untold=0, lost=0, **pools):
    """Nodes by pool, and those that tell none; so many accelerators are lost in the pool that comes first."""
    each = {name: PoolSeen(nodes=nodes, accelerators=8 * nodes) for name, nodes in pools.items()}
    for name in list(each)[:1]:
        each[name] = msgspec.structs.replace(each[name], accelerators=each[name].accelerators - lost)
    nodes = untold + sum(pools.values())
    return ClusterSeen(cluster="train-a", uid="c1.1", nodes=nodes, accelerators=8 * nodes - lost, pools=each)


@pytest.mark.parametrize(
    ("there", "lacks"),
    [
        (seen(a=2, b=1), (0, 0)),
        (seen(a=1, b=2), (1, 8)),
        (seen(a=3), (1, 8)),
        (seen(a=2, b=1, lost=1), (0, 1)),
        (seen(a=3, b=1, lost=8), (0, 0)),
        (seen(b=1, untold=2), (0, 0)),
        (seen(a=1, untold=2), (0, 0)),
        (seen(a=1, untold=1), (1, 8)),
        (seen(a=2, former=5), (1, 8)),
        (seen(untold=3), (0, 0)),
    ],
)
def test_what_is_short_is_told_pool_by_pool(there, lacks):
    assert missing_from(state(a=2, b=1), there, lots(a=2, b=1)) == lacks


def of(**models):
    """One pool ``a`` of as many nodes as there are models, with so many accelerators of each."""
    there = {name.replace("_", ":"): number for name, number in models.items()}
    pool = PoolSeen(nodes=len(models), accelerators=sum(there.values()), by_model=there)
    whole: dict[str, Any] = {"nodes": pool.nodes, "accelerators": pool.accelerators, "by_model": there}
    return ClusterSeen(cluster="train-a", uid="c1.1", pools={"a": pool}, **whole)


@pytest.mark.parametrize(
    ("there", "lacks"),
    [
        (of(H100=16, H200=0), (0, 0)),
        (of(H100=8, MI300X=8), (0, 8)),
        (of(H100=8, A100=8), (0, 8)),
        (of(H100=8, nvidia_unknown=8), (0, 0)),
        (of(H100=8, amd_unknown=8), (0, 8)),
        (of(**{"H100": 8, "10de_2331": 8}), (0, 0)),
        (of(**{"H100": 8, "H100-NVL": 8}), (0, 0)),
        (of(**{"A100 + H100": 16, "": 0}), (0, 0)),
    ],
)
def test_accelerators_of_another_model_are_not_what_was_bought(there, lacks):
    assert missing_from(state(a=2), there, lots(a=2)) == lacks
    untold = msgspec.structs.replace(there, pools={})
    assert missing_from(state(a=2), untold, lots(a=2)) == lacks


def test_what_is_free_goes_first_where_it_is_just_what_was_bought():
    bought = [msgspec.structs.replace(LOT, accelerator=model, nodes=1) for model in ("H100", "H200")]
    there = {"nvidia:unknown": 8, "H100": 8}
    seen_ = ClusterSeen(cluster="train-a", uid="c1.1", nodes=2, accelerators=16, by_model=there)
    assert not any(missing_from(state(a=2), seen_, bought))


SIZES = st.dictionaries(st.sampled_from("abc"), st.integers(0, 4), min_size=1)


@given(SIZES, st.integers(0, 12))
def test_where_no_node_tells_its_pool_all_pools_are_counted_together(wanted, nodes):
    missing = max(sum(wanted.values()) - nodes, 0)
    assert missing_from(state(**wanted), seen(untold=nodes), lots(**wanted)) == (missing, 8 * missing)


@given(SIZES, SIZES, st.integers(0, 4))
def test_nothing_is_short_exactly_if_nodes_that_tell_no_pool_can_fill_every_gap(wanted, pools, untold):
    gap = sum(max(nodes - pools.get(name, 0), 0) for name, nodes in wanted.items())
    assert (missing_from(state(**wanted), seen(untold, **pools), lots(**wanted)).nodes == 0) is (gap <= untold)


def test_while_a_size_changes_what_stays_of_each_pool_is_enough():
    until = NOW + timedelta(hours=1)
    changing = state(a=1, b=4, resizing=Resizing(nodes=3, accelerators=24, least={"a": 1, "b": 2}, until=until))
    assert not any(missing_now(changing, seen(a=1, b=2)))
    assert missing_now(changing, seen(a=2, b=1)) == (1, 8)
    together = Resizing(nodes=3, accelerators=24, until=until)  # as states of 0.1.0 have it
    assert not any(missing_now(state(a=1, b=4, resizing=together), seen(a=2, b=1)))


def test_the_only_pool_has_all_that_is_not_told_to_be_of_another():
    assert by_pool(state(a=2), seen(untold=1, a=1, former=1), ["a"]) == {"a": PoolSeen(nodes=2, accelerators=16)}


def test_of_several_pools_nothing_is_said_while_a_node_may_be_of_any():
    both = state(a=2, b=1)
    assert by_pool(both, seen(a=2, untold=1), ["a", "b"]) == {}
    assert by_pool(both, seen(a=2), ["a", "b"]) == {"a": PoolSeen(nodes=2, accelerators=16), "b": PoolSeen()}


def test_names_that_others_gave_the_nodes_of_an_adopted_cluster_mean_nothing():
    assert not any(missing_from(state(adopts="theirs", a=2), seen(gpu=2), lots(a=2)))
    assert by_pool(state(adopts="theirs", a=2), seen(gpu=2), ["a"]) == {"a": PoolSeen(nodes=2, accelerators=16)}
