"""A running cluster gets pools it has not, loses those it shall not have, and is what it was until they are bought."""

from datetime import UTC, datetime, timedelta

import msgspec
import pytest

from schemas.attempts import AttemptGone, Rank
from schemas.changes import PoolPriced, PoolUnavailable, PricePool, Resize, Resized, ResizeRefused
from schemas.cluster import Hibernated, Placing, Provisioned, Ready, Releasing
from schemas.infra import InfraSeen
from schemas.inventory import ClusterSeen
from schemas.placement import Lot, Placement, Ranked
from schemas.teardown import TeardownReleasing
from schemas.wish import Need, Pool, Wish
from services.provisioning.lifecycle.decide import decide
from services.provisioning.lifecycle.todo import todo
from services.provisioning.market_view import pools_unavailable_message, wish_for_new_pools

T0 = datetime(2026, 1, 1, tzinfo=UTC)
HOUR = timedelta(hours=1)
POOL = Pool(name="gpu", accelerator="H100", accelerators_per_node=8, nodes=2)
MORE = Pool(name="more", accelerator="A100", accelerators_per_node=4, nodes=3)
NEED = Need(pools=(POOL,))
BOTH = Need(pools=(MORE, POOL))
WISH = Wish(tenant="acme", colony="train", cluster="a", uid="c1", generation=1, need=NEED)
LOT = Lot(
    pool="gpu", instance="x8", zone="z", accelerator="H100", accelerators_per_node=8,
    nodes=2, price_per_hour=1.5, spot=False,
)  # fmt: skip
replace = msgspec.structs.replace
MORE_LOT = replace(
    LOT, pool="more", instance="y4", accelerator="A100", accelerators_per_node=4, nodes=3, price_per_hour=1.0
)
OFFER = Ranked((Placement(cloud="aws", region="r", lots=(LOT,)),))
REACHABLE = InfraSeen(cluster="train-a", uid="c1.1", attempt=1, reachable=True)
LOST = replace(REACHABLE, present=False)
BOUGHT = PoolPriced(1, BOTH, (MORE_LOT,))


def tell(state, *events, now=T0):
    for event in events:
        state = decide.decide(state, event, now)
    return state


def wish(need=BOTH, generation=2):
    return replace(WISH, generation=generation, need=need)


def seen(nodes, accelerators):
    return ClusterSeen(cluster="train-a", uid="c1.1", attempt=1, nodes=nodes, accelerators=accelerators)


def ready():
    return tell(None, WISH, OFFER, REACHABLE, seen(2, 16))


def told(state):
    """What the back end is told."""
    return Resized(1, state.attempt.placement.lots)


def larger():
    """Ready, with both pools."""
    state = tell(ready(), wish(), BOUGHT)
    return tell(state, told(state), seen(5, 28))


def pools(state):
    return [lot.pool for lot in state.attempt.placement.lots]


def asked(state, kind):
    return [each for each in todo(state) if isinstance(each, kind)]


def test_until_a_new_pool_is_bought_it_is_what_it_was_and_the_market_is_asked():
    state = tell(ready(), wish())
    assert (state.wish.need, state.wish.generation, pools(state), state.resizing) == (NEED, 2, ["gpu"], None)
    assert asked(state, PricePool) == [PricePool(wish(), 1, state.attempt.placement, steady=False)]
    assert asked(state, Resize) == []


def test_what_is_bought_joins_the_others_in_the_order_of_the_colony_and_ready_stays():
    state = tell(ready(), wish(), BOUGHT)
    assert (type(state), state.attempt.placement.lots) == (Ready, (MORE_LOT, LOT))
    assert (state.wish, state.wanted, asked(state, PricePool)) == (wish(), None, [])
    assert [each.grows for each in asked(state, Resize)] == [True]
    assert isinstance(tell(state, told(state), seen(2, 16)), Ready)
    assert larger().resizing is None


def test_less_than_it_had_before_the_new_pool_withdraws_ready():
    assert isinstance(tell(ready(), wish(), BOUGHT, seen(1, 8)), Provisioned)


def test_a_pool_that_is_not_wanted_any_more_goes_and_the_others_have_to_stay():
    state = tell(larger(), wish(NEED, 3))
    assert (pools(state), state.resizing.nodes, asked(state, PricePool)) == (["gpu"], 2, [])
    assert [each.grows for each in asked(state, Resize)] == [False]
    gone = tell(state, told(state), seen(2, 16))
    assert (type(gone), gone.resizing) == (Ready, None)


def test_each_piece_of_time_is_billed_for_the_pools_it_had():
    state = tell(tell(ready(), wish(), BOUGHT, now=T0 + HOUR), wish(NEED, 3), now=T0 + 2 * HOUR)
    assert state.cost_usd == pytest.approx(2 * 1.5 + (2 * 1.5 + 3 * 1.0))


def test_what_the_market_has_not_is_told_and_everything_stays():
    state = tell(ready(), wish(), PoolUnavailable(1, BOTH, "none left"))
    assert (state.refused, state.wanted, state.wish.need, todo(state)) == ("none left", None, NEED, ())
    assert asked(tell(state, wish(BOTH, 3)), PricePool)


def test_an_answer_of_the_market_for_other_pools_founds_nothing():
    asked = tell(None, WISH, wish())
    assert tell(asked, OFFER) == asked


@pytest.mark.parametrize("answer", [BOUGHT, PoolUnavailable(1, BOTH, "none left")])
def test_an_answer_to_what_is_not_asked_any_more_changes_nothing(answer):
    other = replace(BOTH, pools=(POOL, replace(MORE, nodes=1)))
    for state in (ready(), tell(ready(), wish(), wish(other, 3)), tell(ready(), wish(), wish(NEED, 3)), larger()):
        assert tell(state, answer) == state


def test_what_the_back_end_refuses_is_taken_back_with_its_pool():
    state = tell(ready(), wish(), BOUGHT)
    back = tell(state, ResizeRefused(1, state.attempt.placement.lots, "no such machine"))
    assert (pools(back), back.wish.need.pools, back.refused) == (["gpu"], (POOL,), "no such machine")
    assert [each.attempt.placement.lots for each in asked(back, Resize)] == [(LOT,)]


def test_a_pool_whose_end_the_back_end_refuses_is_there_again_as_it_was_asked_for():
    state = tell(larger(), wish(NEED, 3))
    back = tell(state, ResizeRefused(1, state.attempt.placement.lots, "forbidden"))
    assert (back.attempt.placement.lots, back.wish.need) == ((MORE_LOT, LOT), BOTH)


def test_two_changes_that_the_back_end_has_not_taken_go_back_to_what_it_took():
    third = replace(MORE, name="third")
    state = tell(ready(), wish(), BOUGHT, wish(replace(BOTH, pools=(POOL, MORE, third)), 3))
    state = tell(state, PoolPriced(1, state.wanted, (replace(MORE_LOT, pool="third"),)))
    back = tell(state, ResizeRefused(1, state.attempt.placement.lots, "no"))
    assert (pools(back), back.wish.need.pools) == (["gpu"], (POOL,))


def test_other_sizes_wait_for_the_new_pool_and_come_with_it():
    need = replace(BOTH, pools=(MORE, replace(POOL, nodes=1)))
    state = tell(ready(), wish(need))
    assert [lot.nodes for lot in state.attempt.placement.lots] == [2]
    state = tell(state, PoolPriced(1, need, (MORE_LOT,)))
    assert [lot.nodes for lot in state.attempt.placement.lots] == [3, 1]


def test_what_would_cost_more_than_the_limit_with_the_new_pool_is_refused():
    need = replace(BOTH, max_price_per_hour=5.0)
    state = tell(ready(), wish(need), PoolPriced(1, need, (MORE_LOT,)))
    assert "more than maxPricePerHour 5" in state.refused
    assert (pools(state), state.wanted) == (["gpu"], None)


def test_one_that_falls_asleep_with_a_new_pool_has_no_machine_of_it_and_wakes_with_all():
    need = replace(BOTH, hibernate=True)
    asleep = tell(ready(), wish(need), PoolPriced(1, need, (MORE_LOT,)))
    assert (type(asleep), asleep.attempt.placement.nodes, pools(asleep)) == (Hibernated, 0, ["more", "gpu"])
    awake = tell(asleep, told(asleep), wish(BOTH, 3))
    assert (type(awake), awake.attempt.placement.nodes) == (Provisioned, 5)


def test_one_that_sleeps_wakes_with_a_new_pool_once_that_is_bought():
    asleep = tell(ready(), wish(replace(NEED, hibernate=True)))
    waits = tell(asleep, told(asleep), wish(BOTH, 3))
    assert (type(waits), len(asked(waits, PricePool))) == (Hibernated, 1)
    awake = tell(waits, PoolPriced(1, BOTH, (MORE_LOT,)))
    assert (type(awake), awake.attempt.placement.nodes) == (Provisioned, 5)


def test_one_that_is_lost_meanwhile_is_founded_anew_with_all_its_pools():
    lost = tell(ready(), wish(), LOST, AttemptGone(1))
    assert (type(lost), lost.wish) == (Placing, wish())
    assert asked(lost, Rank)[0].wish == wish()


def test_one_that_is_let_go_meanwhile_knows_what_was_asked_of_it():
    order = TeardownReleasing(uid="c1.1", wish=wish(), reason="Idle", deadline=T0)
    going = tell(ready(), wish(), order)
    assert (type(going), going.wish) == (Releasing, wish())


def test_one_that_was_interrupted_often_is_told_to_buy_on_demand_first():
    (buy,) = asked(tell(replace(ready(), interruptions=3), wish()), PricePool)
    assert buy.steady


def buying(need):
    (buy,) = asked(tell(ready(), wish(need)), PricePool)
    return wish_for_new_pools(buy)


def test_the_market_is_asked_for_the_new_pool_alone_where_the_others_are():
    need = buying(BOTH).need
    assert (need.pools, need.clouds, need.regions, need.max_price_per_hour) == ((MORE,), ("aws",), ("r",), None)


@pytest.mark.parametrize(("most", "left"), [(10.0, 7.0), (3.0, 0.0)])
def test_what_the_limit_leaves_beside_the_others_is_all_it_may_cost(most, left):
    assert buying(replace(BOTH, max_price_per_hour=most)).need.max_price_per_hour == left


def test_what_cannot_be_bought_is_told_in_one_sentence_with_the_way():
    assert pools_unavailable_message(buying(BOTH), "no offer") == (
        "pool more cannot be added in aws r beside what is there (no offer): "
        "ask for another one, or add another cluster to the Colony"
    )
