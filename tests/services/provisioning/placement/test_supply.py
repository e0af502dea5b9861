"""The kept index answers as a search through everything would, however its offers came and went."""

from hypothesis import given, settings
from hypothesis import strategies as st

from schemas.inventory import Offer, Offers
from schemas.wish import Need, Pool, Spot, Wish
from services.provisioning.placement.rank import rank
from services.provisioning.placement.supply import OfferIndex
from tests.examples import examples

REACH = {"aws": True, "gcp": False}
PLACES = st.tuples(st.sampled_from(("aws", "gcp", "azure")), st.sampled_from(("r1", "r2")))
PRICES = st.integers(1, 20).map(float)
GOODS = st.lists(
    st.tuples(
        st.sampled_from(("x", "y", "z")), st.sampled_from(("", "a")), st.sampled_from(("H100", "A100")),
        st.sampled_from((4, 8)), PRICES, st.none() | PRICES, st.sampled_from((0.0, 64.0)),
    ),
    max_size=5,
    unique_by=lambda good: good[:2],
)  # fmt: skip
NEWS = st.lists(st.tuples(PLACES, GOODS), max_size=12)


def offers(place, goods) -> tuple[Offer, ...]:
    return tuple(
        Offer(
            cloud=place[0], region=place[1], instance=instance, zone=zone, accelerator=accelerator,
            accelerators=count, price=price, spot_price=spot, cpu=cpu,
        )
        for instance, zone, accelerator, count, price, spot, cpu in goods
    )  # fmt: skip


def heard(news) -> tuple[OfferIndex, list[Offer]]:
    market, last = OfferIndex(), {}
    for place, goods in news:
        last[place] = offers(place, goods)
        market.update(Offers(cloud=place[0], region=place[1], offers=last[place]))
    return market, [offer for held in last.values() for offer in held]


def wish(spot=Spot.PREFERRED, cpu=0, **limits) -> Wish:
    pool = Pool(name="gpu", accelerator="H100", accelerators_per_node=8, nodes=2, spot=spot, cpu=cpu)
    return Wish(tenant="t", colony="c", cluster="a", uid="u", generation=1, need=Need(pools=(pool,), **limits))


WISHES = st.builds(
    wish,
    st.sampled_from(Spot),
    st.sampled_from((0, 32)),
    clouds=st.sampled_from(((), ("aws",), ("gcp", "azure"))),
    regions=st.sampled_from(((), ("r1",))),
    max_price_per_hour=st.none() | st.integers(1, 40).map(float),
)


def exhaustive(asked: Wish, listed: list[Offer]):
    """Everything that fits, by looking at every offer, sorted as it should be."""
    need, (pool,) = asked.need, asked.need.pools
    found = []
    for offer in listed:
        there = offer.cloud in REACH and offer.cloud in (need.clouds or REACH)
        there = there and offer.region in (need.regions or (offer.region,)) and offer.cpu >= pool.cpu
        if not there or (offer.accelerator, offer.accelerators) != ("H100", 8):
            continue
        prices = {False: offer.price, True: offer.spot_price if REACH[offer.cloud] else None}
        kinds = {Spot.NEVER: (False,), Spot.PREFERRED: (False, True), Spot.ONLY: (True,)}[pool.spot]
        for spot in kinds:
            total = None if prices[spot] is None else 2 * prices[spot]
            if total is not None and (need.max_price_per_hour is None or total <= need.max_price_per_hour):
                found.append((total, spot, offer.cloud, offer.region, offer.zone, offer.instance))
    return sorted(found)


def answered(ranked):
    return [
        (p.price_per_hour, p.lots[0].spot, p.cloud, p.region, p.lots[0].zone, p.lots[0].instance)
        for p in ranked.placements
    ]


@settings(max_examples=examples(300), deadline=None)
@given(NEWS, WISHES, st.none() | st.integers(1, 4))
def test_the_index_answers_as_an_exhaustive_search_does(news, asked, most):
    market, listed = heard(news)
    assert answered(rank(asked, market, REACH, most=most)) == exhaustive(asked, listed)[:most]


@settings(max_examples=examples(100), deadline=None)
@given(NEWS)
def test_a_market_that_changed_is_the_market_that_was_there_from_the_start(news):
    market, listed = heard(news)
    fresh = OfferIndex.from_offers(listed)
    for accelerator in ("H100", "A100"):
        for count in (4, 8):
            assert market.by_region(accelerator, count) == fresh.by_region(accelerator, count)
    assert market.limited_regions == fresh.limited_regions


def test_a_region_that_offers_nothing_any_more_is_gone_from_every_shelf():
    market, _ = heard([(("aws", "r1"), [("x", "", "H100", 8, 1.0, None, 0.0)]), (("aws", "r1"), [])])
    assert market.by_region("H100", 8) == {}


def test_an_offer_is_found_by_its_name():
    market, (offer,) = heard([(("aws", "r1"), [("x", "a", "H100", 8, 1.0, 0.5, 0.0)])])
    assert market.offer(("aws", "r1"), "H100", 8, "a", "x") is offer
    assert market.offer(("aws", "r1"), "H100", 8, "b", "x") is None
    assert market.offer(("aws", "r2"), "H100", 8, "a", "x") is None


def test_where_something_is_limited_is_known_and_forgotten():
    limited = Offer(cloud="own", region="r", instance="dgx", accelerator="H100", accelerators=8, price=0.0, limit=4)
    market = OfferIndex.from_offers((limited,))
    assert market.limited_regions == {("own", "r")}
    market.replace(("own", "r"), ())
    assert market.limited_regions == set()
    assert market.by_region("H100", 8) == {}
