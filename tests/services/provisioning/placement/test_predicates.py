"""Each rule lets through what it should, and nothing else; each refusal says how it misses."""

from typing import Any

import pytest

from schemas.inventory import Offer
from schemas.wish import Need, Pool, Spot
from services.provisioning.placement.cooldowns import market_slices
from services.provisioning.placement.predicates import (
    RULES,
    MarketKnowledge,
    OfferQuery,
    cpu_for_pods,
    fits,
    gib_for_pods,
    new_lot,
)
from services.provisioning.placement.supply import PricedOffer

REACH = {"aws": True, "own": False}


def entry(price=1.0, *, spot=False, zone="a", **more) -> PricedOffer:
    fields: dict[str, Any] = {
        "cloud": "aws",
        "region": "eu-west-1",
        "instance": "x",
        "accelerator": "H100",
        "accelerators": 8,
    } | more
    return PricedOffer(price, spot, zone, fields["instance"], Offer(price=price, zone=zone, **fields))


def pool(**more) -> Pool:
    return Pool(name="gpu", accelerator="H100", accelerators_per_node=8, nodes=2, **more)


def ask(reach=REACH, closed=frozenset(), known=None, **need) -> OfferQuery:
    return OfferQuery(Need(pools=(pool(),), **need), reach, None, closed, known or MarketKnowledge())


HERE = entry(cpu=96.0, memory_gib=1024.0)
CASES = {
    "Cloud": (ask(clouds=("own",)), pool(), HERE, "aws is not asked for"),
    "Region": (ask(regions=("us-east-1",)), pool(), HERE, "eu-west-1 is not asked for"),
    "Residency": (ask(residency=("DE", "US")), pool(), HERE, "it is in IE"),
    "Zone": (ask(), pool(zones=("b", "c")), HERE, "it is in zone a"),
    "Cpu": (ask(), pool(cpu=97), HERE, "it has 96 vCPUs, about 94.5 for pods"),
    "Memory": (ask(), pool(memory_gib=1025), HERE, "it has 1024 GiB, about 971.4 for pods"),
    "Disk": (ask(), pool(disk_gib=100), entry(disk_gib=99.0), "its disk has 99 GiB"),
    "Spot": (ask(), pool(spot=Spot.ONLY), HERE, "spot is only"),
    "Denied": (ask(known=MarketKnowledge(denied=frozenset({"aws"}))), pool(), HERE,
               "aws refused the tenant's credential lately"),
    "Tried": (ask(closed=frozenset(market_slices("aws", "eu-west-1", new_lot(pool(), HERE))[:1])), pool(), HERE,
              "a try failed there lately"),
    "Taken": (ask(known=MarketKnowledge(held={("aws", "eu-west-1", "a", "x"): 3})), pool(), entry(limit=4),
              "1 of 4 are free"),
}  # fmt: skip


def test_there_is_a_case_for_every_rule():
    assert list(CASES) == [rule.reason for rule in RULES]


@pytest.mark.parametrize("reason", CASES)
def test_a_rule_refuses_what_misses_it_and_says_how(reason):
    asked, wanted, found, said = CASES[reason]
    (rule,) = (rule for rule in RULES if not rule.holds(asked, wanted, found))
    assert (rule.reason, rule.missed(asked, wanted, found)) == (reason, said)
    assert not fits(asked, wanted, found)


@pytest.mark.parametrize("reason", CASES)
def test_what_asks_for_nothing_special_is_refused_by_no_rule(reason):
    found = CASES[reason][2]
    assert fits(ask(), pool(), found)


@pytest.mark.parametrize("residency", [("IE",), ("EU",), ("EEA",), ("US", "EU")])
def test_data_stays_where_any_of_the_named_laws_holds(residency):
    assert fits(ask(residency=residency), pool(), HERE)


def test_a_machine_whose_country_nobody_knows_is_in_none():
    assert not fits(ask(residency=("EU", "US")), pool(), entry(region="atlantis-1"))
    assert fits(ask(residency=("DE",)), pool(), entry(region="cellar", country="DE"))


def test_a_zone_that_is_asked_for_must_be_named_by_the_offer():
    assert fits(ask(), pool(zones=("a",)), HERE)
    assert not fits(ask(), pool(zones=("a",)), entry(zone=""))


def test_pods_get_what_the_system_and_its_daemons_leave():
    offer = HERE.offer
    assert (cpu_for_pods(offer), gib_for_pods(offer)) == (pytest.approx(94.46), pytest.approx(971.38, abs=0.01))
    assert fits(ask(), pool(pod_cpu=94.0, pod_memory_gib=971.0), HERE)
    assert not fits(ask(), pool(pod_cpu=95.0), HERE)
    assert not fits(ask(), pool(pod_memory_gib=972.0), HERE)
    assert not fits(ask(), pool(pod_cpu=0.1), entry())


def test_a_disk_that_is_made_to_measure_is_large_enough():
    assert fits(ask(), pool(disk_gib=9999), HERE)
