"""Each pool of a cluster shows what it has of what it shall have, where its nodes tell which pool they are of."""

from dataclasses import replace

import msgspec
import pytest

from schemas import cluster
from schemas.inventory import PoolSeen
from schemas.wish import Need
from services.gateway.status.colony import cluster_status
from services.gateway.status.conditions import cluster_conditions
from services.gateway.status.facts import Facts, pools, short_pools
from services.gateway.status.previous import PreviousConditions
from tests.services.gateway.known import ATTEMPT, LOT, NEED, PLACEMENT, SEEN, WHOLE, WISH, is_

MORE = msgspec.structs.replace(LOT, pool="more", nodes=1)
BOTH = msgspec.structs.replace(ATTEMPT, placement=msgspec.structs.replace(PLACEMENT, lots=(LOT, MORE)))


def rising(nodes, accelerators, **counted):
    """A cluster of the pools `workers` (2 nodes) and `more` (1), of which so much is there."""
    told = {name: PoolSeen(nodes=n, accelerators=a) for name, (n, a) in counted.items()}
    seen = msgspec.structs.replace(SEEN, nodes=nodes, accelerators=accelerators, pools=told)
    return replace(WHOLE, cluster=is_(cluster.Provisioned, attempt=BOTH), seen=seen)


def shown(facts):
    return [(each.name, each.nodes_ready, each.accelerators_ready) for each in pools(facts)]


def test_each_pool_tells_what_is_ready_of_it():
    assert shown(rising(2, 15, workers=(2, 15))) == [("workers", 2, 15), ("more", 0, 0)]


def test_nothing_is_made_up_of_several_pools_whose_nodes_do_not_tell():
    assert shown(rising(2, 16)) == [("workers", None, None), ("more", None, None)]


def test_the_only_pool_has_what_the_cluster_has():
    (pool,) = pools(WHOLE)
    assert (pool.nodes_ready, pool.nodes_wanted, pool.accelerators_ready, pool.accelerators_wanted) == (2, 2, 16, 16)


@pytest.mark.parametrize(("need", "nodes"), [(NEED, 2), (Need(pools=NEED.pools, hibernate=True), 0)])
def test_before_anything_is_counted_nothing_is_there_of_what_is_asked_for(need, nodes):
    asked = Facts(msgspec.structs.replace(WISH, need=need))
    assert [(each.nodes_ready, each.nodes_wanted) for each in pools(asked)] == [(0, nodes)]


@pytest.mark.parametrize(
    ("facts", "told"),
    [
        (rising(1, 8, workers=(1, 8)), "; pool workers has 1 of 2 nodes; pool more has 0 of 1 nodes"),
        (rising(3, 23, workers=(2, 15), more=(1, 8)), "; pool workers has 15 of 16 accelerators"),
        (rising(3, 24, workers=(2, 16), more=(1, 8)), ""),
        (rising(1, 8), ""),
        (replace(WHOLE, seen=SEEN), ""),
    ],
    ids=["nodes", "accelerators", "whole", "untold", "one pool"],
)
def test_people_are_told_which_of_several_pools_is_short(facts, told):
    assert short_pools(facts) == told


def risen(*, lent=False, of=("workers",), **models):
    """A cluster that shall have 16 H100 in the pool `workers`, with two nodes that are of these pools."""
    each = sum(models.values()) // 2
    names = of * (2 // len(of))
    told = {name: PoolSeen(nodes=names.count(name), accelerators=each * names.count(name)) for name in of}
    told |= {of[0]: msgspec.structs.replace(told[of[0]], by_model=models)} if len(of) == 1 else {}
    whole = {"nodes": 2, "accelerators": 2 * each, "by_model": models}
    seen = msgspec.structs.replace(SEEN, pools=told, **whole)
    return replace(WHOLE, cluster=is_(cluster.Provisioned, lent=lent), seen=seen)


def told_of(facts):
    return cluster_conditions(facts)["AcceleratorsReady"], cluster_status(facts, PreviousConditions(3))


def test_accelerators_of_another_model_are_not_ready_and_are_named():
    verdict, status = told_of(risen(H100=8, MI300X=8))
    assert (verdict.holds, status.accelerators_ready, status.pools[0].accelerators_ready) == (False, 8, 8)
    assert verdict.message == "2 of 2 nodes, 8 of 16 accelerators ready; 8 MI300X there, bought were H100"
    verdict, status = told_of(risen(H100=16))
    assert (verdict.holds, status.accelerators_ready) == (True, 16)


def test_nodes_of_a_lent_cluster_that_bear_another_pools_label_are_told_of():
    verdict, status = told_of(risen(lent=True, of=("gpu",), H100=16))
    assert (verdict.holds, status.nodes_ready, status.accelerators_ready) == (False, 0, 0)
    assert verdict.message == (
        "0 of 2 nodes, 0 of 16 accelerators ready; nodes belong to pool gpu, not workers: "
        "name the pool gpu or label the nodes alate.dev/pool=workers"
    )
    assert "belong" not in told_of(risen(lent=True, of=("workers",), H100=16))[0].message
