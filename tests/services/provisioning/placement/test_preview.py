"""A plan is the ranking that founds, told with what weighs on it and with what was left out."""

from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from schemas.inventory import Offer
from schemas.market import CapacityRefusal, CapacitySeen
from schemas.wish import Need, Pool, Spot, Wish
from services.market.capacity import price_factor
from services.provisioning.placement.predicates import NOTHING_KNOWN, MarketKnowledge
from services.provisioning.placement.preview import ITS_PRICE, impossible_plan, knowledge_after, plan
from services.provisioning.placement.rank import MOST_RANKED, rank
from services.provisioning.placement.supply import OfferIndex

NOW = datetime(2026, 1, 1, tzinfo=UTC)
REACH = {"aws": True, "gcp": False}


def offer(cloud="aws", region="r1", instance="x8", price=10.0, **more) -> Offer:
    return Offer(
        cloud=cloud, region=region, instance=instance, accelerator="H100", accelerators=8, price=price, **more
    )  # fmt: skip


def wish(name="a", nodes=2, **limits) -> Wish:
    pool = Pool(name="gpu", accelerator="H100", accelerators_per_node=8, nodes=nodes, spot=Spot.PREFERRED)
    return Wish(tenant="t", colony="c", cluster=name, uid="u", generation=1, need=Need(pools=(pool,), **limits))


def refusal(reason="NoCapacity", instance="x8", **more) -> CapacityRefusal:
    return CapacityRefusal(reason=reason, instance=instance, accelerator="H100", at=NOW, attempt="u/1", **more)


def known(*refusals, **more) -> MarketKnowledge:
    seen = CapacitySeen(cloud="aws", region="r1", half_life_seconds=1800.0, refusals=refusals)
    return MarketKnowledge(signals={("aws", "r1"): seen}, now=NOW, **more)


REFUSALS = st.lists(
    st.builds(
        refusal, st.sampled_from(["NoCapacity", "Quota", "Interrupted"]), st.sampled_from(["x8", "y8"]),
        spot=st.booleans(),
    ),
    max_size=4,
)  # fmt: skip
PRICES = st.floats(1, 100).map(lambda price: round(price, 2))
OFFERS = st.lists(
    st.builds(
        offer, st.sampled_from(["aws", "gcp"]), st.sampled_from(["r1", "r2"]), st.sampled_from(["x8", "y8"]), PRICES,
        spot_price=PRICES,
    ),
    max_size=12, unique_by=lambda each: (each.cloud, each.region, each.instance),
)  # fmt: skip


@given(OFFERS, REFUSALS)
def test_its_choices_are_the_rankings_in_the_order_of_what_they_count_as(offers, refusals):
    market, now = OfferIndex.from_offers(offers), known(*refusals)
    made = plan(wish(), market, REACH, now)
    assert (
        tuple(each.placement for each in made.choices)
        == rank(wish(), market, REACH, known=now, most=MOST_RANKED).placements
    )
    counted = [each.counts_as for each in made.choices]
    assert counted == sorted(counted)
    for each in made.choices:
        (lot,) = each.placement.lots
        seen = now.signals.get((each.placement.cloud, each.placement.region))
        times = price_factor(seen, lot, spot=lot.spot, now=NOW) if seen else 1.0
        assert each.counts_as == pytest.approx(each.price_per_hour * times, abs=1e-5)
        assert (each.because == ITS_PRICE) == (times == 1.0)


def test_no_more_than_the_best_ten_are_told():
    market = OfferIndex.from_offers([offer(region=f"r{number}", price=10.0 + number) for number in range(20)])
    assert [each.price_per_hour for each in plan(wish(), market, REACH, NOTHING_KNOWN).choices] == [
        2 * (10.0 + number) for number in range(10)
    ]


def test_what_makes_a_choice_dearer_than_it_is_is_told():
    market = OfferIndex.from_offers([offer(spot_price=5.0)])
    now = known(refusal(spot=True), refusal("Interrupted", spot=True))
    by_spot = {each.placement.lots[0].spot: each for each in plan(wish(), market, REACH, now).choices}
    assert by_spot[False].because == ITS_PRICE
    assert by_spot[True].because == (
        "x8 spot was refused lately: 4.00 times; x8 spot is taken away 0.116 times an hour: 1.12 times"
    )
    assert by_spot[True].counts_as == pytest.approx(10.0 * 4 * 1.1155, rel=1e-3)


def test_what_was_refused_lately_is_told_of_the_accelerators_that_are_wanted():
    other = CapacityRefusal(reason="Quota", instance="l4", accelerator="L4", at=NOW, attempt="u/2")
    made = plan(wish(), OfferIndex.from_offers([offer()]), REACH, known(refusal(), other))
    assert [(each.cloud, each.region, each.refusal) for each in made.refused] == [("aws", "r1", refusal())]


def test_what_others_hold_of_limited_machines_is_told():
    market = OfferIndex.from_offers([offer(instance="own", limit=4), offer(instance="x8")])
    made = plan(wish(), market, REACH, MarketKnowledge(held={("aws", "r1", "", "own"): 3, ("aws", "r1", "", "x8"): 9}))
    (held,) = made.held
    assert (held.instance, held.held, held.limit) == ("own", 3, 4)
    assert [(each.reason, each.count) for each in made.excluded] == [("Taken", 1)]


def test_a_cloud_that_refused_the_tenant_is_told():
    made = plan(
        wish(),
        OfferIndex.from_offers([offer(), offer("gcp", price=99.0)]),
        REACH,
        MarketKnowledge(denied=frozenset({"aws"})),
    )
    assert made.denied == ("aws",)
    assert [each.placement.cloud for each in made.choices] == ["gcp"]


def test_where_nothing_fits_the_reason_is_the_rankings():
    made = plan(wish(max_price_per_hour=1.0), OfferIndex.from_offers([offer()]), REACH, NOTHING_KNOWN)
    assert (made.choices, made.reason) == ((), "PriceCap")
    assert made.message == "the cheapest offer costs $20.00 an hour, the cap is $1.00"


def test_what_one_cluster_gets_the_next_one_cannot_have():
    market = OfferIndex.from_offers([offer(instance="own", price=1.0, limit=3), offer(price=10.0)])
    first = plan(wish("a"), market, REACH, NOTHING_KNOWN)
    second = plan(wish("b"), market, REACH, knowledge_after(NOTHING_KNOWN, [first]))
    assert [each.choices[0].placement.lots[0].instance for each in (first, second)] == ["own", "x8"]


def test_a_plan_without_a_choice_takes_nothing_from_the_next():
    held = {("aws", "r1", "", "own"): 1}
    now = MarketKnowledge(held=held, now=NOW + timedelta(hours=1))
    assert knowledge_after(now, [impossible_plan(wish(), "NotInstalled", "no template")]) == now
