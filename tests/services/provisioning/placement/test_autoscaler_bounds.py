"""A cluster whose size an autoscaler sets is bought for its largest, is ready at its least, and costs what is there."""

from datetime import UTC, datetime, timedelta

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from schemas.changes import Resize, Resized, ResizeRefused
from schemas.cluster import Provisioned, Ready
from schemas.infra import InfraSeen
from schemas.inventory import ClusterSeen, Demand, Offer, PoolSeen
from schemas.placement import Attempt, NodeGroup
from schemas.wish import Need, ScaledBy, Wish
from services.colony.accounting import so_far
from services.provisioning.lifecycle.decide import decide
from services.provisioning.lifecycle.todo import todo
from services.provisioning.placement.predicates import MarketKnowledge
from services.provisioning.placement.rank import rank
from services.provisioning.placement.supply import OfferIndex, machines_of
from tests.samples import POOL

T0 = datetime(2026, 1, 1, tzinfo=UTC)
HOUR = timedelta(hours=1)
replace = msgspec.structs.replace
OFFER = Offer(
    cloud="aws", region="r", zone="z", instance="x8", accelerator="H100", accelerators=8, cpu=192.0, memory_gib=2048.0,
    price=10.0,
)  # fmt: skip
NAMES = ("a", "b")
PODS = (Demand(accelerators=8, pods=9),)


def wish(generation=1, *, most=5, least=1, cap=None, names=("a",)):
    pools = tuple(replace(POOL, name=name, nodes=least, max_nodes=most) for name in names)
    need = Need(
        pools=pools, max_price_per_hour=cap, backend="capi", scaled_by=ScaledBy.CLUSTER_AUTOSCALER
    )  # fmt: skip
    return Wish(tenant="acme", colony="train", cluster="a", uid="c1", generation=generation, need=need)


def ranked(asked, *offers, held=None):
    return rank(
        asked, OfferIndex.from_offers(offers or (OFFER,)), {"aws": True}, known=MarketKnowledge(held=held or {})
    )


def seen(*there, **shown):
    pools = {name: PoolSeen(nodes=n, accelerators=8 * n) for name, n in zip(NAMES, there, strict=False)}
    total = sum(there)
    return ClusterSeen(
        cluster="train-a", uid="c1.1", attempt=1, nodes=total, accelerators=8 * total, pools=pools, **shown
    )


def tell(state, *events, now=T0):
    for event in events:
        state = decide.decide(state, event, now)
    return state


def ready(asked, *there):
    up = InfraSeen(cluster="train-a", uid="c1.1", attempt=1, reachable=True)
    return tell(None, asked, ranked(asked), up, seen(*there))


def sizes(state):
    return [lot.nodes for lot in state.attempt.placement.lots]


def resizes(state):
    return [command for command in todo(state) if isinstance(command, Resize)]


def test_it_is_founded_with_the_fewest_nodes_and_knows_what_the_autoscaler_is_told():
    (placement,) = ranked(wish()).placements
    (lot,) = placement.lots
    assert (lot.nodes, lot.group) == (1, NodeGroup(least=1, most=5, cpu=192.0, memory_gib=2048.0))
    assert (placement.price_per_hour, placement.most_per_hour) == (10.0, 50.0)


def test_what_its_largest_size_would_cost_must_be_allowed():
    assert ranked(wish(cap=50.0)).placements
    refused = ranked(wish(cap=49.0))
    assert refused.message == "the cheapest offer costs $50.00 an hour at its largest size, the cap is $49.00"


def test_limited_machines_are_held_for_its_largest_size():
    limited = replace(OFFER, limit=5)
    (placement,) = ranked(wish(), limited).placements
    held = machines_of(Attempt(number=1, placement=placement))
    assert held == {("aws", "r", "z", "x8"): 5}
    assert ranked(wish(least=1, most=2), limited, held=held).reason == "Taken"


def test_what_is_counted_is_what_it_costs_from_then_on():
    state = tell(ready(wish(), 1), seen(3), now=T0 + HOUR)
    assert (sizes(state), state.cost_usd, state.billed_since) == ([3], 10.0, T0 + HOUR)
    state = tell(state, seen(2), now=T0 + 2 * HOUR)
    assert (sizes(state), state.cost_usd) == ([2], 40.0)
    assert (state.resizing, resizes(state)) == (None, [])


@given(st.lists(st.tuples(st.integers(1, 5), st.integers(1, 5)), max_size=8))
def test_whatever_it_does_between_the_bounds_it_is_ready_and_never_told_a_size(steps):
    state, spent, last = ready(wish(names=NAMES), 1, 1), 0.0, (1, 1)
    for hours, there in enumerate(steps, 1):
        shown, now, spent = seen(*there, demand=PODS), T0 + hours * HOUR, spent + 10.0 * sum(last)
        state = tell(state, shown, now=now)
        assert (type(state), sizes(state), resizes(state)) == (Ready, list(there), [])
        assert so_far(state, now) == pytest.approx(spent)
        assert tell(state, shown, now=now) is state
        last = there


def test_fewer_than_the_fewest_are_not_ready_and_still_cost_that_many():
    state = tell(ready(wish(least=2), 4), seen(1), now=T0 + HOUR)
    assert isinstance(state, Provisioned)
    assert tell(state, seen(2), now=T0 + HOUR).attempt.placement.nodes == 2


def test_while_nodes_cannot_be_told_apart_nothing_is_guessed():
    state = ready(wish(names=NAMES), 1, 1)
    unnamed = replace(seen(2, 1), nodes=4)
    assert sizes(tell(state, unnamed)) == [1, 1]


def test_another_bound_is_told_to_the_back_end_and_the_size_stays():
    state = tell(ready(wish(), 1), seen(3), wish(2, most=8))
    (lot,) = state.attempt.placement.lots
    assert (lot.nodes, lot.most, len(resizes(state))) == (3, 8, 1)
    asked = state.attempt.placement.lots
    state = tell(state, seen(4), Resized(1, asked))  # it went on meanwhile
    assert (state.resizing.ordered, resizes(state)) == (True, [])
    assert tell(state, seen(4)).resizing is None


def test_a_bound_that_is_refused_is_taken_back_and_the_autoscalers_size_is_not():
    state = tell(ready(wish(), 1), seen(3), wish(2, most=8))
    state = tell(state, ResizeRefused(1, state.attempt.placement.lots, "no room"), seen(3))
    (lot,), (pool,) = state.attempt.placement.lots, state.wish.need.pools
    assert (lot.nodes, lot.most, pool.nodes, pool.max_nodes, state.refused) == (3, 5, 1, 5, "no room")


@pytest.mark.parametrize(
    ("changed", "told"),
    [
        (wish(2, least=2), "of pool a nodes and minNodes cannot change while the cluster runs, the autoscaler decides"),
        (wish(2, most=8, cap=79.0), "8 nodes of what it runs on cost 80 USD per hour, more than maxPricePerHour 79"),
        (replace(wish(2), need=replace(wish().need, scaled_by=ScaledBy.ALATE)), "scaledBy cannot change while"),
    ],
)
def test_what_cannot_change_while_it_runs_is_refused_with_the_way(changed, told):
    state = tell(ready(wish(), 1), changed)
    assert state.refused.startswith(told)
    assert (sizes(state), resizes(state)) == ([1], [])
