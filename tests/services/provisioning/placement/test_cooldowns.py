"""What a failure closes is as wide, and stays closed as long, as its reason says."""

from datetime import UTC, datetime, timedelta

import msgspec
import pytest

from schemas.inventory import Offer
from schemas.placement import Attempt
from schemas.wish import Need, Pool, Spot, Wish
from services.provisioning.placement.cooldowns import COOLDOWNS, cooldown, still_counts
from services.provisioning.placement.predicates import MarketKnowledge
from services.provisioning.placement.rank import rank
from services.provisioning.placement.supply import OfferIndex

T0 = datetime(2026, 1, 1, tzinfo=UTC)
REACH = {"aws": True, "gcp": True}
NAMES = {
    "same": ("aws", "r1", "a", "x"),
    "zone": ("aws", "r1", "b", "x"),
    "type": ("aws", "r1", "a", "y"),
    "region": ("aws", "r2", "a", "x"),
    "cloud": ("gcp", "r1", "a", "x"),
}


def offer(cloud, region, zone, instance) -> Offer:
    return Offer(
        cloud=cloud, region=region, zone=zone, instance=instance, accelerator="H100", accelerators=8,
        price=10.0, spot_price=5.0,
    )  # fmt: skip


MARKET = OfferIndex.from_offers(offer(*names) for names in NAMES.values())


def ask(spot=Spot.ONLY) -> Wish:
    need = Need(pools=(Pool(name="gpu", accelerator="H100", accelerators_per_node=8, nodes=2, spot=spot),))
    return Wish(tenant="acme", colony="train", cluster="a", uid="c1", generation=1, need=need)


def failed(reason) -> Attempt:
    best = rank(ask(), MARKET, REACH).placements[0]
    return Attempt(number=1, placement=best, reason=reason, message="no", failed_at=T0)


def left(reason, spot=Spot.ONLY, after=timedelta(0), of=failed) -> set[str]:
    ranked = rank(ask(spot), MARKET, REACH, (of(reason),), known=MarketKnowledge(now=T0 + after))
    places = {(p.cloud, p.region, p.lots[0].zone, p.lots[0].instance) for p in ranked.placements}
    return {name for name, place in NAMES.items() if place in places}


@pytest.mark.parametrize(
    ("reason", "open_"),
    [
        ("NoCapacity", {"zone", "type", "region", "cloud"}),
        ("Interrupted", {"zone", "type", "region", "cloud"}),
        ("Taken", {"zone", "type", "region", "cloud"}),
        ("NeverReady", {"type", "region", "cloud"}),
        ("Quota", {"region", "cloud"}),
        ("TimeOut", {"region", "cloud"}),
        ("Failed", {"region", "cloud"}),
        ("Denied", {"cloud"}),
        ("NotInstalled", {"same", "zone", "type", "region", "cloud"}),
        ("BadTemplate", {"cloud"}),
    ],
)
def test_a_failure_closes_what_would_fail_alike_and_leaves_the_rest(reason, open_):
    assert left(reason) == open_


def nowhere(reason) -> Attempt:
    """The same, where no zone was asked for."""
    attempt = failed(reason)
    lots = tuple(msgspec.structs.replace(lot, zone="") for lot in attempt.placement.lots)
    return msgspec.structs.replace(attempt, placement=msgspec.structs.replace(attempt.placement, lots=lots))


def test_no_capacity_where_no_zone_was_asked_for_closes_the_machine_in_all_zones():
    assert left("NoCapacity", of=nowhere) == {"type", "region", "cloud"}


@pytest.mark.parametrize(
    ("reason", "on_demand"),
    [("NoCapacity", True), ("Quota", True), ("Interrupted", True), ("NeverReady", False), ("TimeOut", False)],
)
def test_what_spot_machines_met_closes_those_on_demand_only_where_buying_is_not_the_cause(reason, on_demand):
    assert ("same" in left(reason, Spot.NEVER)) == on_demand


@pytest.mark.parametrize("reason", sorted(COOLDOWNS))
def test_a_failure_is_forgotten_when_its_time_is_over_and_not_before(reason):
    lasts = cooldown(reason).lasts
    if cooldown(reason).final:
        assert still_counts(failed(reason), T0 + timedelta(days=3650))
        return
    assert not lasts or "same" not in left(reason, after=lasts - timedelta(seconds=1))
    assert "same" in left(reason, after=lasts)


def test_where_one_failure_can_be_mended_by_time_that_is_what_is_told():
    only = OfferIndex.from_offers([offer(*NAMES["same"]), offer(*NAMES["cloud"])])
    tried: tuple[Attempt, ...] = ()
    known = MarketKnowledge(now=T0)
    for reason in ("NoCapacity", "BadTemplate"):
        best = rank(ask(), only, REACH, tried, known=known).placements[0]
        tried += (Attempt(number=1, placement=best, reason=reason, message="no", failed_at=T0),)
    assert rank(ask(), only, REACH, tried, known=known).reason == "NoCapacity"


def test_of_two_pools_only_the_one_whose_machine_had_no_room_looks_elsewhere():
    pools = tuple(
        Pool(name=n, accelerator=n, accelerators_per_node=8, nodes=1, spot=Spot.NEVER) for n in ("H100", "A100")
    )
    two = Wish(tenant="t", colony="c", cluster="a", uid="u", generation=1, need=Need(pools=pools))
    market = OfferIndex.from_offers(
        Offer(cloud="aws", region="r1", instance=f"{kind}-{n}", accelerator=kind, accelerators=8, price=float(n))
        for kind in ("H100", "A100")
        for n in (1, 2)
    )
    best = rank(two, market, REACH).placements[0]
    tried = (Attempt(number=1, placement=best, reason="NoCapacity", message="no H100-1 left", failed_at=T0),)
    following = rank(two, market, REACH, tried, known=MarketKnowledge(now=T0)).placements[0]
    assert [lot.instance for lot in following.lots] == ["H100-2", "A100-1"]
