"""On real prices, what is bought is the cheapest there is: found here once more, by trying everything."""

import os
from datetime import UTC, datetime
from itertools import product
from pathlib import Path
from random import Random

import msgspec
import pytest

from schemas.inventory import Offer
from schemas.market import CapacityRefusal, CapacitySeen
from schemas.placement import Attempt, Lot, Placement
from schemas.wish import Need, Pool, Spot, Wish
from services.clients.catalog_sources import SAMPLE as SHIPPED
from services.market.capacity import learn
from services.market.catalog_parser import read_folder
from services.market.jurisdictions import EU, country
from services.provisioning.placement.predicates import MarketKnowledge
from services.provisioning.placement.rank import rank
from services.provisioning.placement.supply import OfferIndex

REQUESTS = 500
NOW = datetime(2026, 1, 1, tzinfo=UTC)

FOLDERS = [SHIPPED, *map(Path, filter(None, [os.environ.get("ALATE_TEST_CATALOG")]))]
"""The sample that is shipped, and another catalog in its form where one is named."""
WAYS = {Spot.NEVER: (False,), Spot.PREFERRED: (False, True), Spot.ONLY: (True,)}
LAWS = {"EU": EU}
Way = tuple[Offer, bool]


@pytest.fixture(params=FOLDERS, ids=str, scope="module")
def offers(request) -> list[Offer]:
    return [offer for catalog in read_folder(request.param).values() for offer in catalog.offers]


def request_of(dice: Random, offers: list[Offer]) -> tuple[Wish, dict[str, bool]]:
    """A random wish, for machines that are in the catalog most of the time; and what can be reached."""
    first = dice.choice(offers)
    near = [offer for offer in offers if (offer.cloud, offer.region) == (first.cloud, first.region)]
    models = [first, *dice.sample(near, dice.choice((0, 0, 1)))]
    pools = tuple(
        Pool(
            name=f"p{number}", accelerator=model.accelerator, accelerators_per_node=model.accelerators,
            nodes=dice.randint(1, 8), spot=dice.choice(tuple(Spot)), cpu=dice.choice((0, 0, 0, 8, 96)),
            memory_gib=dice.choice((0, 0, 0, 64, 1024)),
            zones=(model.zone,) if model.zone and dice.random() < 0.1 else (),
        )
        for number, model in enumerate(models)
    )  # fmt: skip
    clouds = sorted({offer.cloud for offer in offers})
    need = Need(
        pools=pools,
        clouds=tuple(dice.sample(clouds, 3)) if dice.random() < 0.1 else (),
        regions=(models[0].region,) if dice.random() < 0.1 else (),
        residency=dice.choice(((),) * 18 + (("EU",), ("US", "JP"))),
        max_price_per_hour=dice.choice((None, None, None, 500.0)),
    )
    reach = {cloud: dice.random() < 0.8 for cloud in dice.sample(clouds, dice.randint(5, len(clouds)))}
    return Wish(tenant="t", colony="c", cluster="a", uid="u", generation=1, need=need), reach


def cost(way: Way) -> float | None:
    return way[0].spot_price if way[1] else way[0].price


def serves(way: Way, pool: Pool, need: Need, reach: dict[str, bool]) -> bool:
    offer, spot = way
    return (
        (offer.accelerator, offer.accelerators) == (pool.accelerator, pool.accelerators_per_node)
        and offer.cloud in reach and offer.cloud in (need.clouds or reach)
        and offer.region in (need.regions or (offer.region,))
        and offer.zone in (pool.zones or (offer.zone,))
        and (not need.residency or any(country(offer) in LAWS.get(law, (law,)) for law in need.residency))
        and offer.cpu >= pool.cpu and offer.memory_gib >= pool.memory_gib
        and spot in WAYS[pool.spot] and cost(way) is not None and (reach[offer.cloud] or not spot)
    )  # fmt: skip


def cheapest(wish: Wish, offers: list[Offer], reach: dict[str, bool], gone: set[Way]) -> float | None:
    """The least that the wish can cost: every way to buy for every pool, in every region."""
    ways = [(offer, spot) for offer in offers for spot in (False, True) if (offer, spot) not in gone]
    totals = []
    for place in {(offer.cloud, offer.region) for offer in offers}:
        here = [way for way in ways if (way[0].cloud, way[0].region) == place]
        columns = [
            [pool.nodes * cost(w) for w in here if serves(w, pool, wish.need, reach)] for pool in wish.need.pools
        ]
        totals += [round(sum(chosen), 6) for chosen in product(*columns)]
    cap = wish.need.max_price_per_hour
    return min((total for total in totals if cap is None or total <= cap), default=None)


def test_for_random_requests_what_is_bought_is_the_true_minimum(offers):
    dice, market, found = Random(4711), OfferIndex.from_offers(offers), 0
    for _ in range(REQUESTS):
        wish, reach = request_of(dice, offers)
        best = next(iter(rank(wish, market, reach, most=1).placements), None)
        least = cheapest(wish, offers, reach, set())
        assert (best and best.price_per_hour) == (least and pytest.approx(least, abs=1e-6)), wish
        found += best is not None
    assert found > REQUESTS / 2


class Memory:
    """What a market has refused to anyone: all clusters heed it."""

    def __init__(self) -> None:
        self.signals: dict[tuple[str, str], CapacitySeen] = {}

    @property
    def known(self) -> MarketKnowledge:
        return MarketKnowledge(signals=self.signals, now=NOW)

    def learn(self, at: Placement, refused: list[Lot], attempt: str) -> None:
        place = (at.cloud, at.region)
        seen = self.signals.get(place, CapacitySeen(cloud=at.cloud, region=at.region, half_life_seconds=900.0))
        told = (
            CapacityRefusal(
                reason="NoCapacity", instance=lot.instance, accelerator=lot.accelerator, zone=lot.zone, spot=lot.spot,
                at=NOW, attempt=attempt,
            )
            for lot in refused
        )  # fmt: skip
        self.signals[place] = learn(seen, told, NOW)


def bought(
    wish: Wish, market: OfferIndex, reach: dict[str, bool], gone: set[tuple[str, ...]], memory: Memory
) -> tuple[float | None, int]:
    """What the wish costs in the end, offer after offer, where some have no room; and after how many tries."""
    tried: list[Attempt] = []
    while placements := rank(wish, market, reach, tried, known=memory.known, most=1).placements:
        at = placements[0]
        none = [lot for lot in at.lots if (at.cloud, at.region, lot.zone, lot.instance, lot.spot) in gone]
        if not none:
            return at.price_per_hour, len(tried)
        said = f"there is no {'spot ' * none[0].spot}{none[0].instance} in {none[0].zone}"
        tried.append(Attempt(number=len(tried) + 1, placement=at, reason="NoCapacity", message=said, failed_at=NOW))
        assert len(tried) <= len(gone), "what has no room is asked for again"
        memory.learn(at, none[:1], f"{wish.name}/{len(tried)}")
    return None, len(tried)


def sold_out(dice: Random, offers: list[Offer]) -> set[Way]:
    return {(offer, spot) for offer in offers for spot in (False, True) if dice.random() < 0.5}


@pytest.mark.parametrize("together", [False, True], ids=["each on a market of its own", "all on one market"])
def test_where_offers_are_sold_out_the_cost_is_within_one_percent_of_the_best_still_to_be_had(offers, together):
    """On one market each heeds what the others were refused, which must make nobody pay more."""
    dice, market, tries = Random(42), OfferIndex.from_offers(offers), 0
    gone, memory = sold_out(dice, offers), Memory()
    for number in range(REQUESTS):
        if not together:
            gone, memory = sold_out(dice, offers), Memory()
        asked, reach = request_of(dice, offers)
        wish = msgspec.structs.replace(asked, cluster=f"a{number}")
        names = {(o.cloud, o.region, o.zone, o.instance, spot) for o, spot in gone}
        paid, failed = bought(wish, market, reach, names, memory)
        least = cheapest(wish, offers, reach, gone)
        assert (paid is None) == (least is None), wish
        assert paid is None or paid <= 1.01 * least, wish
        tries += failed
    assert tries > REQUESTS / 4
