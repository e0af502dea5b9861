"""What stands is taken in as it is, at the market's price or its owner's; what is not as asked is told."""

from datetime import UTC, datetime, timedelta

import msgspec
import pytest

from schemas.inventory import Offer
from schemas.placement import Attempt, Placement, Ranked
from schemas.wish import Adopt, Need, Pool, Wish
from services.clouds.existing_cluster import ExistingCluster, ExistingPool
from services.provisioning.placement.adoption import rank_existing
from services.provisioning.placement.supply import OfferIndex

NOW = datetime(2026, 1, 1, tzinfo=UTC)
POOLS = tuple(Pool(name=name, accelerator="H100", accelerators_per_node=8, nodes=2) for name in ("a", "b"))
NEED = Need(pools=POOLS[:1], adopt=Adopt(name="theirs"))
MARKET = OfferIndex.from_offers(
    Offer(
        cloud="aws", region="eu-west-1", zone=zone, instance="x8", accelerator="H100", accelerators=8,
        price=price, spot_price=1.0,
    )
    for zone, price in (("z1", 4.0), ("z2", 3.0))
)  # fmt: skip
THERE = ExistingCluster("aws", "eu-west-1", (ExistingPool("", 2, "x8"),))
OWN = Adopt(name="theirs", node_price_per_hour=0.5)


def answer(there=THERE, tried=(), now=NOW, **more):
    need = msgspec.structs.replace(NEED, **more)
    wish = Wish(tenant="acme", colony="train", cluster="gpu", uid="c1", generation=1, need=need)
    return rank_existing(wish, there, MARKET, tried, now)


def prices(found):
    return [lot.price_per_hour for lot in found.placements[0].lots]


@pytest.mark.parametrize(
    ("stood", "price"),
    [
        (ExistingPool("", 2, "x8"), 3.0),
        (ExistingPool("", 2, "x8", "z1"), 4.0),
        (ExistingPool("", 2, "x8", spot=True), 1.0),
    ],
    ids=["cheapest zone", "its zone", "spot"],
)
def test_its_price_is_what_such_a_machine_costs_now(stood, price):
    found = answer(THERE._replace(pools=(stood,)))
    assert prices(found) == [price]
    assert [(lot.pool, lot.nodes, lot.instance, lot.zone) for lot in found.placements[0].lots] == [
        ("a", 2, "x8", stood.zone)
    ]


def test_what_its_owner_says_it_costs_goes_before_the_market_and_may_be_nothing():
    assert prices(answer(adopt=OWN)) == [0.5]
    assert prices(answer(adopt=msgspec.structs.replace(OWN, node_price_per_hour=0.0))) == [0.0]


def test_where_it_tells_nothing_of_itself_the_colony_is_believed():
    place = answer(ExistingCluster(), adopt=OWN).placements[0]
    assert (place.cloud, place.region, place.nodes, place.accelerators) == ("unknown", "unknown", 2, 16)
    named = answer(ExistingCluster(), adopt=OWN, clouds=("rack",), regions=("cellar",)).placements[0]
    assert (named.cloud, named.region) == ("rack", "cellar")


@pytest.mark.parametrize(
    ("there", "more", "told"),
    [
        (THERE, {"clouds": ("gcp",)}, "it is in aws eu-west-1, which is not asked for"),
        (THERE, {"regions": ("r2",)}, "it is in aws eu-west-1, which is not asked for"),
        (THERE, {"residency": ("US",)}, "it is in aws eu-west-1, which is not known to be in US"),
        (THERE, {"pools": POOLS}, "it has one pool: write these pools"),
        (
            THERE._replace(pools=(ExistingPool("c", 2), ExistingPool("d", 2))),
            {"pools": POOLS},
            "it has the pools c, d: write these pools",
        ),
        (
            THERE._replace(pools=(ExistingPool("", 5, "x8"),)),
            {},
            "its pool a has 5 nodes, not 2: write so many, and scale it then",
        ),
        (
            THERE._replace(version="v1.35.1"),
            {},
            "it has Kubernetes v1.35.1, not v1.34.0: write that version, and upgrade it then",
        ),
        (ExistingCluster("aws", nodes=5), {"adopt": OWN}, "it has 5 workers, not 2: write pools of so many"),
    ],
)
def test_what_is_not_what_was_asked_for_is_told_with_what_would_be_right(there, more, told):
    assert answer(there, **more) == Ranked((), "DoesNotFit", told)


@pytest.mark.parametrize(
    ("there", "machine"),
    [
        (THERE._replace(pools=(ExistingPool("", 2, "y4"),)), "y4 in aws eu-west-1"),
        (ExistingCluster("aws"), "its nodes"),
    ],
)
def test_a_price_that_nobody_knows_is_asked_for(there, machine):
    told = f"no catalog has a price for {machine} with these accelerators: say adopt.nodePricePerHour, or mend the pool"
    assert answer(there) == Ranked((), "NoPrice", told)


def test_one_that_costs_more_than_it_may_is_left():
    assert answer(max_price_per_hour=5.0) == Ranked((), "PriceCap", "it costs $6.00 an hour, the cap is $5.00")


def test_one_that_failed_is_taken_in_again_once_that_is_forgotten():
    failed = Attempt(number=1, placement=Placement(cloud="aws", region="r", lots=()), reason="TimeOut", failed_at=NOW)
    again = answer(tried=(failed,), now=NOW + timedelta(minutes=59))
    assert again == Ranked((), "TimeOut", "it could not be adopted: TimeOut")
    assert answer(tried=(failed,), now=NOW + timedelta(minutes=61)).placements


def test_one_that_belongs_to_another_colony_is_said_to_whatever_else_is_amiss():
    told = "theirs is adopted already, as other-gpu"
    for there in (THERE, ExistingCluster("aws", nodes=5)):
        assert answer(there._replace(adopted_as="other-gpu")) == Ranked((), "AlreadyExists", told)
    assert answer(THERE._replace(adopted_as="train-gpu")).placements
