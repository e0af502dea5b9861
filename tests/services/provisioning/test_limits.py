"""Machines of which there are only so many are never promised twice, and are all there is to be had used."""

from itertools import permutations
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from schemas.entity import EPOCH
from schemas.inventory import Offer
from schemas.market import CapacityRefusal, CapacitySeen
from schemas.wish import Need, Pool, Spot, Wish
from services.provisioning.placement.predicates import MarketKnowledge
from services.provisioning.placement.rank import rank
from services.provisioning.placement.supply import OfferIndex
from tests.examples import examples

REACH = {"own": False, "aws": True}
HERE = ("own", "r")
ABSURD = 18_446_744_073_709_551_615


def node(instance, cpu=0.0, limit=1, price=0.0, **more) -> Offer:
    fields: dict[str, Any] = {"accelerator": "H100", "accelerators": 8} | more
    return Offer(cloud="own", region="r", instance=instance, cpu=cpu, limit=limit, price=price, **fields)


def pool(name, cpu=0, nodes=1, **more) -> Pool:
    fields: dict[str, Any] = {"accelerator": "H100", "accelerators_per_node": 8} | more
    return Pool(name=name, nodes=nodes, cpu=cpu, spot=Spot.NEVER, **fields)


def wish(*pools, **limits) -> Wish:
    need = Need(pools=pools or (pool("gpu"),), **limits)
    return Wish(tenant="acme", colony="train", cluster="a", uid="c1", generation=1, need=need)


def ranked(pools, offers, **held):
    known = MarketKnowledge(held={(*HERE, "", instance): count for instance, count in held.items()})
    return rank(wish(*pools), OfferIndex.from_offers(offers), REACH, known=known)


FOUR = tuple(node(f"n{cpu}", float(cpu)) for cpu in (68780, 68800, 119525, 119495))


@pytest.mark.parametrize(
    ("count", "cpu", "fits"),
    [
        (4, 68780, True), (3, 68800, True), (2, 100000, True), (2, 119495, True),
        (4, 70000, False), (3, 100000, False), (2, 119525, False),
    ],
)  # fmt: skip
def test_case_1_so_many_of_a_size_fit_on_four_nodes_of_different_sizes_and_no_more(count, cpu, fits):
    found = ranked([pool(f"p{n}", cpu) for n in range(count)], FOUR)
    assert bool(found.placements) == fits
    if fits:
        used = [lot.instance for lot in found.placements[0].lots]
        assert len(set(used)) == count
    else:
        assert found.reason == "NoOfferFits"


def test_case_1_pools_of_different_kinds_fit_in_whatever_order_they_are_asked_for():
    offers = (node("big", 16.0), node("small", 4.0), node("gpu", 8.0, accelerator="L4", accelerators=1))
    pools = (pool("a", 2), pool("b", 8), pool("c", 1, accelerator="L4", accelerators_per_node=1))
    for order in permutations(pools):
        (placement, *_) = ranked(order, offers).placements
        assert {lot.pool: lot.instance for lot in placement.lots} == {"a": "small", "b": "big", "c": "gpu"}


@pytest.mark.parametrize("held", [1, 8, ABSURD])
def test_case_2_where_as_much_or_more_is_held_than_there_is_nothing_is_left_and_the_reason_is_told(held):
    found = ranked((pool("gpu"),), (node("n"),), n=held)
    assert (found.placements, found.reason) == ((), "Taken")
    assert found.message == "every machine that fits is held by another cluster: it is free when that one is released"


def test_case_4_what_is_held_counts_until_it_is_released():
    offers = (node("n", limit=4),)
    assert ranked((pool("gpu", nodes=2),), offers, n=2).placements
    assert not ranked((pool("gpu", nodes=2),), offers, n=3).placements
    assert ranked((pool("gpu", nodes=2),), offers).placements


def test_case_4_new_prices_do_not_free_what_is_held():
    assert not ranked((pool("gpu", nodes=2),), (node("n", limit=4, price=0.5),), n=3).placements


def test_two_pools_of_one_cluster_do_not_count_the_same_machine():
    assert not ranked((pool("a"), pool("b")), (node("n", limit=1),)).placements
    assert ranked((pool("a"), pool("b")), (node("n", limit=2),)).placements


def test_own_nodes_that_are_taken_give_way_to_a_cloud():
    cloud = Offer(cloud="aws", region="r", instance="p5", accelerator="H100", accelerators=8, price=30.0)
    offers = (node("n"), cloud)
    assert [p.cloud for p in ranked((pool("gpu"),), offers).placements] == ["own", "aws"]
    assert [p.cloud for p in ranked((pool("gpu"),), offers, n=1).placements] == ["aws"]


def test_an_offer_without_a_limit_is_never_taken():
    cloud = Offer(cloud="aws", region="r", instance="p5", accelerator="H100", accelerators=8, price=30.0)
    known = MarketKnowledge(held={("aws", "r", "", "p5"): ABSURD})
    assert rank(wish(), OfferIndex.from_offers((cloud,)), REACH, known=known).placements


@settings(max_examples=examples(200), deadline=None)
@given(
    st.lists(st.tuples(st.integers(1, 3), st.sampled_from((1.0, 2.0)), st.none() | st.integers(1, 3)), max_size=4),
    st.lists(st.tuples(st.integers(1, 3), st.integers(1, 3)), min_size=1, max_size=3),
    st.lists(st.integers(0, 3), min_size=4, max_size=4),
)
def test_no_placement_takes_more_than_is_left(goods, asked, held):
    offers = tuple(node(f"n{n}", float(cpu), limit, price) for n, (cpu, price, limit) in enumerate(goods))
    pools = [pool(f"p{n}", cpu, nodes) for n, (cpu, nodes) in enumerate(asked)]
    taken = {f"n{n}": count for n, count in enumerate(held)}
    for placement in ranked(pools, offers, **taken).placements:
        assert [lot.pool for lot in placement.lots] == [each.name for each in pools]
        for offer in offers:
            takes = sum(lot.nodes for lot in placement.lots if lot.instance == offer.instance)
            assert offer.limit is None or not takes or takes + taken[offer.instance] <= offer.limit


@settings(max_examples=examples(200), deadline=None)
@given(
    st.lists(st.integers(1, 5), max_size=5),
    st.lists(st.integers(1, 5), min_size=1, max_size=4),
)
def test_single_nodes_find_their_place_whenever_there_is_a_way_to_place_them(nodes, asked):
    found = ranked([pool(f"p{n}", cpu) for n, cpu in enumerate(asked)], [node(f"n{i}", c) for i, c in enumerate(nodes)])
    way = any(all(cpu <= size for cpu, size in zip(asked, sizes, strict=True)) for sizes in
              permutations(nodes, len(asked)))  # fmt: skip
    assert bool(found.placements) == way


def refused(instance, reason="NoCapacity") -> CapacityRefusal:
    return CapacityRefusal(reason=reason, instance=instance, accelerator="H100", at=EPOCH, attempt="u/1")


def signalled(offers, *refusals, **limits):
    seen = CapacitySeen(cloud="aws", region="r", half_life_seconds=1800.0, refusals=refusals)
    asked = wish(pool("gpu"), **limits)
    return rank(asked, OfferIndex.from_offers(offers), REACH, known=MarketKnowledge(signals={("aws", "r"): seen}))


def cloud(instance, price, region="r") -> Offer:
    return Offer(cloud="aws", region=region, instance=instance, accelerator="H100", accelerators=8, price=price)


def test_what_was_refused_just_now_counts_four_times_its_price_and_is_paid_at_its_price():
    offers = (cloud("p5", 10.0), cloud("p6", 39.0), cloud("p7", 41.0), cloud("p8", 40.5, "other"))
    found = [(p.lots[0].instance, p.price_per_hour) for p in signalled(offers, refused("p5")).placements]
    assert found == [("p6", 39.0), ("p5", 10.0), ("p8", 40.5), ("p7", 41.0)]


def test_what_was_refused_is_still_bought_where_nothing_else_fits():
    assert [p.lots[0].instance for p in signalled((cloud("p5", 10.0),), refused("p5")).placements] == ["p5"]


def test_the_cap_is_held_against_what_is_paid():
    assert signalled((cloud("p5", 10.0),), refused("p5"), max_price_per_hour=10.0).placements
    assert signalled((cloud("p5", 10.0),), refused("p5"), max_price_per_hour=9.0).reason == "PriceCap"


def test_a_quota_makes_the_whole_region_dearer():
    offers = (cloud("p5", 10.0), cloud("p6", 11.0), cloud("p7", 30.0, "other"))
    found = [p.lots[0].instance for p in signalled(offers, refused("p5", "Quota")).placements]
    assert found == ["p7", "p5", "p6"]
