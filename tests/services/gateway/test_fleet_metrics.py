"""What there is and what it costs: wanted while it lives, ready once it is, paid for until it is given back."""

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from schemas.cluster import Launching, Pending, Placing, Ready, Released
from schemas.placement import Attempt, Lot, Placement
from schemas.wish import Need, Pool, Wish
from services.gateway.gauges import COST, PRICE, READY, WANTED, fleet

NOW = datetime(2026, 1, 1, tzinfo=UTC)
POOL = Pool(name="gpu", accelerator="H100", accelerators_per_node=8, nodes=2)
WISH = Wish(tenant="acme", colony="train", cluster="a", uid="c1", generation=1, need=Need(pools=(POOL, POOL)))
LOT = Lot(
    pool="gpu", instance="x", zone="", accelerator="H100",
    accelerators_per_node=8, nodes=2, price_per_hour=3.0, spot=True,
)  # fmt: skip
HELD = Attempt(number=1, placement=Placement(cloud="aws", region="r", lots=(LOT, LOT)))
PAID: dict[str, Any] = {
    "wish": WISH,
    "uid": "u",
    "attempt": HELD,
    "billed_since": NOW - timedelta(hours=2),
    "cost_usd": 1.0,
}
CLUSTER = ("domain", "cluster")
H100 = (CLUSTER, ("accelerator", "H100"))


def test_what_is_wanted_is_no_less_wanted_while_there_is_none():
    found = fleet([Pending(uid="u", wish=WISH), Pending(uid="v", wish=WISH)], NOW)
    assert found[WANTED] == {H100: 64.0}
    assert (found[READY], found[PRICE]) == ({}, {})


@pytest.mark.parametrize(
    ("state", "ready"),
    [
        (Launching(**PAID, deadline=NOW), {}),
        (Ready(**PAID, kubeconfig="k"), {H100: 32.0}),
        (Placing(**PAID), {}),
    ],
    ids=lambda each: type(each).__name__,
)
def test_machines_are_paid_for_from_when_they_are_ordered_until_they_are_gone(state, ready):
    found = fleet([state], NOW)
    assert found[READY] == ready
    assert found[PRICE] == {(CLUSTER, ("cloud", "aws"), ("spot", "true")): 12.0}
    assert list(found[COST].values()) == [1.0 + 2 * 12.0]


def test_what_has_ended_is_neither_wanted_nor_paid_for_and_what_it_cost_is_told():
    found = fleet([Released(uid="u", wish=WISH, reason="Deleted", cost_usd=7.5)], NOW)
    assert (found[WANTED], found[READY], found[PRICE]) == ({}, {}, {})
    assert found[COST] == {(CLUSTER, ("state", "released")): 7.5}
