"""Where a cluster goes is held against a search that simply tries everything."""

from itertools import product
from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from schemas.inventory import Offer
from schemas.placement import Attempt
from schemas.wish import Need, Pool, Spot, Wish
from services.provisioning.placement import rank as placement
from services.provisioning.placement.predicates import MarketKnowledge
from services.provisioning.placement.supply import OfferIndex
from tests.examples import examples

REACH = {"aws": True, "gcp": False}


def rank(asked, offers, reach, failed=(), **more):
    return placement.rank(asked, OfferIndex.from_offers(offers), reach, failed, **more)


def offer(cloud="aws", region="r1", instance="x8", price=10.0, spot=None, **more) -> Offer:
    fields: dict[str, Any] = {"accelerator": "H100", "accelerators": 8} | more
    return Offer(cloud=cloud, region=region, instance=instance, price=price, spot_price=spot, **fields)


def pool(name="gpu", nodes=2, spot=Spot.PREFERRED, **more) -> Pool:
    fields: dict[str, Any] = {"accelerator": "H100", "accelerators_per_node": 8} | more
    return Pool(name=name, nodes=nodes, spot=spot, **fields)


def wish(*pools, **limits) -> Wish:
    need = Need(pools=pools or (pool(),), **limits)
    return Wish(tenant="acme", colony="train", cluster="a", uid="c1", generation=1, need=need)


def chosen(ranked):
    return [(p.cloud, p.region, p.lots[0].instance, p.lots[0].spot) for p in ranked.placements]


def tried(*placements, reason="NoCapacity", message="none there") -> tuple[Attempt, ...]:
    return tuple(
        Attempt(number=n, placement=p, reason=reason, message=message) for n, p in enumerate(placements, start=1)
    )


def test_spot_is_bought_where_it_is_cheaper_and_may_be():
    offers = (offer(price=10.0, spot=4.0), offer(instance="y8", price=3.0, spot=9.0))
    assert chosen(rank(wish(), offers, REACH))[:2] == [("aws", "r1", "y8", False), ("aws", "r1", "x8", True)]
    never = rank(wish(pool(spot=Spot.NEVER)), offers, REACH)
    assert chosen(never) == [("aws", "r1", "y8", False), ("aws", "r1", "x8", False)]
    only = rank(wish(pool(spot=Spot.ONLY)), offers, REACH)
    assert chosen(only) == [("aws", "r1", "x8", True), ("aws", "r1", "y8", True)]


def test_spot_is_not_bought_where_the_back_end_cannot():
    offers = (offer("gcp", spot=1.0),)
    assert chosen(rank(wish(), offers, REACH)) == [("gcp", "r1", "x8", False)]
    assert rank(wish(pool(spot=Spot.ONLY)), offers, REACH).reason == "NoOfferFits"


def test_clouds_and_regions_are_kept_to():
    offers = (offer(price=1.0), offer(region="r2", price=2.0), offer("gcp", "r2", price=3.0), offer("azure"))
    assert chosen(rank(wish(regions=("r2",)), offers, REACH)) == [
        ("aws", "r2", "x8", False),
        ("gcp", "r2", "x8", False),
    ]
    assert chosen(rank(wish(clouds=("gcp",)), offers, REACH)) == [("gcp", "r2", "x8", False)]


def test_a_machine_must_be_large_enough_and_hold_the_very_accelerators():
    small = offer(cpu=8.0, memory_gib=64.0)
    assert rank(wish(pool(cpu=8, memory_gib=64)), (small,), REACH).placements
    assert not rank(wish(pool(cpu=9)), (small,), REACH).placements
    assert not rank(wish(pool(memory_gib=65)), (small,), REACH).placements
    assert not rank(
        wish(), (offer(accelerators=4), offer(accelerators=12), offer(accelerator="A100")), REACH
    ).placements


def test_pools_of_one_cluster_stay_together_in_one_region():
    two = wish(pool("a"), pool("b", accelerator="L4", accelerators_per_node=1, nodes=1))
    light = {"accelerator": "L4", "accelerators": 1, "instance": "l"}
    offers = (offer(price=1.0), offer(region="r2", price=5.0), offer(region="r2", price=1.0, **light))
    (only,) = rank(two, offers, REACH).placements
    assert (only.region, only.price_per_hour) == ("r2", 11.0)
    assert [lot.pool for lot in only.lots] == ["a", "b"]


def test_what_was_tried_is_not_offered_again_but_its_spot_sister_is():
    offers = (offer(spot=4.0),)
    first = rank(wish(), offers, REACH).placements[0]
    assert chosen(rank(wish(), offers, REACH, tried(first))) == [("aws", "r1", "x8", False)]


def test_another_zone_of_the_same_machine_is_another_offer():
    offers = (offer(zone="a"), offer(zone="b"))
    first = rank(wish(), offers, REACH).placements[0]
    assert rank(wish(), offers, REACH, tried(first)).placements[0].lots[0].zone == "b"


def test_one_tried_machine_does_not_close_a_region_that_has_another_for_each_pool():
    two = wish(pool("a", cpu=1), pool("b", cpu=2))
    before = (offer(instance="x", price=1.0, cpu=1.0), offer(instance="y", price=2.0, cpu=2.0))
    first = rank(two, before, REACH).placements[0]
    assert [lot.instance for lot in first.lots] == ["x", "y"]
    later = (*before, offer(instance="z", price=3.0, cpu=2.0))
    assert [lot.instance for lot in rank(two, later, REACH, tried(first)).placements[0].lots] == ["z", "z"]


def test_prices_that_moved_since_hide_no_machine_that_was_not_tried():
    two = wish(pool("a"), pool("b", accelerator="A100"))
    other = {"accelerator": "A100"}
    before = (offer(instance="a1", price=1.0), offer(instance="a2", price=2.0),
              offer(instance="b1", price=1.0, **other), offer(instance="b2", price=2.0, **other))  # fmt: skip
    first = rank(two, before, REACH).placements[0]
    later = (*before[:2], offer(instance="b1", price=3.0, **other), before[3])
    (left,) = rank(two, later, REACH, tried(first)).placements
    assert [lot.instance for lot in left.lots] == ["a2", "b2"]


def test_nothing_is_offered_above_the_cap_and_the_reason_says_how_much_is_missing():
    ranked = rank(wish(max_price_per_hour=19.99), (offer(),), REACH)
    assert (ranked.reason, ranked.message) == (
        "PriceCap", "the cheapest offer costs $20.00 an hour, the cap is $19.99",
    )  # fmt: skip
    assert rank(wish(max_price_per_hour=20.0), (offer(),), REACH).placements


def test_where_all_was_tried_the_reason_is_the_last_ones():
    first = rank(wish(), (offer(),), REACH).placements[0]
    ranked = rank(wish(), (offer(),), REACH, tried(first))
    assert (ranked.reason, ranked.message) == (
        "NoCapacity", "every offer that fits was tried; the last said: none there",
    )  # fmt: skip
    assert "the last said: Quota" in rank(wish(), (offer(),), REACH, tried(first, reason="Quota", message="")).message


@pytest.mark.parametrize(
    ("limits", "where"),
    [
        ({}, "on aws, gcp"),
        ({"clouds": ("gcp",)}, "on gcp"),
        ({"clouds": ("azure", "ibm")}, "on azure, ibm: within reach are aws, gcp"),
        ({"clouds": ("azure", "gcp")}, "on gcp"),
        ({"regions": ("r1", "r2")}, "on aws, gcp in r1, r2"),
    ],
)
def test_where_nothing_fits_the_reason_says_what_was_looked_for_and_where(limits, where):
    ranked = rank(wish(**limits), (), REACH)
    assert ranked.reason == "NoOfferFits"
    assert ranked.message == f"no offer has 2 nodes of 8 H100 (preferred spot) {where}"


def test_of_one_node_people_are_told_in_the_singular():
    one = msgspec.structs.replace(wish().need.pools[0], nodes=1)
    assert rank(wish(one), (), REACH).message.startswith("no offer has 1 node of 8 H100 (preferred spot)")


def test_a_cloud_within_reach_that_offers_nothing_is_not_named_instead():
    ranked = rank(wish(clouds=("ibm",)), (offer(),), REACH | {"dev": False})
    assert ranked.message.endswith("on ibm: within reach are aws")


def test_of_clouds_that_were_asked_for_those_that_another_back_end_reaches_are_told_with_its_name():
    known = MarketKnowledge(elsewhere={"azure": "k0rdent", "gcp": "k0rdent"})
    ranked = rank(wish(clouds=("azure", "ibm")), (), REACH, known=known)
    assert ranked.message.endswith("azure is reached with backend: k0rdent; within reach are aws, gcp")


KINDS = st.sampled_from(("H100", "A100"))
PRICES = st.sampled_from((1.0, 1.5, 2.0, 3.0))
MARKETS = st.lists(
    st.builds(
        offer,
        cloud=st.sampled_from(("aws", "gcp", "azure")),
        region=st.sampled_from(("r1", "r2")),
        instance=st.sampled_from(("x", "y", "z")),
        zone=st.sampled_from(("", "a")),
        price=PRICES,
        spot=st.none() | PRICES,
        accelerator=KINDS,
    ),
    max_size=7,
    unique_by=lambda o: (o.cloud, o.region, o.zone, o.instance),
)
POOLS = st.lists(
    st.builds(pool, nodes=st.integers(1, 3), spot=st.sampled_from(Spot), accelerator=KINDS), min_size=1, max_size=2
)


def everything(asked, offers, refused=frozenset()):
    """Every price at which the pools can be had, by trying all machines for all pools in every region.

    What was refused where no zone was asked for is refused in every zone.
    """
    kinds = {Spot.NEVER: (False,), Spot.PREFERRED: (False, True), Spot.ONLY: (True,)}
    for place in {(o.cloud, o.region) for o in offers if o.cloud in REACH}:
        here = [o for o in offers if (o.cloud, o.region) == place]
        lots = [
            [
                each.nodes * (o.spot_price if spot else o.price)
                for o in here
                for spot in kinds[each.spot]
                if o.accelerator == each.accelerator
                and (not spot or (o.spot_price is not None and REACH[o.cloud]))
                and refused.isdisjoint((*place, zone, o.instance, spot) for zone in (o.zone, ""))
            ]
            for each in asked.need.pools
        ]
        yield from map(sum, product(*lots))


@settings(max_examples=examples(200), deadline=None)
@given(MARKETS, POOLS)
def test_the_first_placement_is_the_cheapest_there_is(offers, pools):
    asked = wish(*pools)
    ranked = rank(asked, offers, REACH)
    prices = [p.price_per_hour for p in ranked.placements]
    assert prices == sorted(prices)
    assert prices[:1] == sorted(everything(asked, offers))[:1]
    assert bool(ranked.reason) == (not prices)


@settings(max_examples=examples(200), deadline=None)
@given(MARKETS, MARKETS, POOLS, st.integers(1, 3))
def test_after_failures_it_is_the_cheapest_of_what_was_not_tried_even_if_prices_moved(before, offers, pools, failures):
    asked = wish(*pools)
    lost = rank(asked, before, REACH).placements[:failures]
    refused = {(p.cloud, p.region, lot.zone, lot.instance, lot.spot) for p in lost for lot in p.lots}
    ranked = rank(asked, offers, REACH, tried(*lost))
    assert [p.price_per_hour for p in ranked.placements[:1]] == sorted(everything(asked, offers, refused))[:1]


@settings(max_examples=examples(100), deadline=None)
@given(MARKETS, POOLS, st.randoms(use_true_random=False))
def test_the_order_in_which_offers_came_makes_no_difference(offers, pools, dice):
    shuffled = list(offers)
    dice.shuffle(shuffled)
    assert rank(wish(*pools), shuffled, REACH) == rank(wish(*pools), offers, REACH)


@settings(max_examples=examples(100), deadline=None)
@given(MARKETS, POOLS, PRICES)
def test_the_cap_leaves_out_what_is_dearer_and_nothing_else(offers, pools, cap):
    free = rank(wish(*pools), offers, REACH).placements
    capped = rank(wish(*pools, max_price_per_hour=cap), offers, REACH)
    assert capped.placements == tuple(p for p in free if p.price_per_hour <= cap)
    assert (capped.reason == "PriceCap") == (bool(free) and not capped.placements)


def test_pools_are_paired_alike_whatever_the_order_of_offers_that_cost_the_same():
    two = wish(pool("a"), pool("b", accelerator="A100"))
    offers = tuple(
        offer(instance=name, price=2.0, accelerator=kind) for kind in ("H100", "A100") for name in ("x", "y", "z")
    )
    assert rank(two, offers, REACH) == rank(two, offers[2::-1] + offers[3:], REACH)


def test_ties_go_to_on_demand_then_by_name():
    offers = (offer("gcp", price=4.0), offer(region="r2", price=4.0), offer(price=9.0, spot=4.0))
    names = chosen(rank(wish(), offers, REACH))[:3]
    assert names == [("aws", "r2", "x8", False), ("gcp", "r1", "x8", False), ("aws", "r1", "x8", True)]
    assert msgspec.json.encode(rank(wish(), offers, REACH)) == msgspec.json.encode(rank(wish(), offers[::-1], REACH))
