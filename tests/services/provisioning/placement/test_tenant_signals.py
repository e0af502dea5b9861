"""What one cluster has learnt of a tenant's credential spares its neighbours; what is freed is offered to who waits."""

from datetime import UTC, datetime

import pytest

from schemas.attempts import MarketChanged
from schemas.cluster import Pending, Placing, Released, Waiting
from schemas.inventory import Offer
from schemas.placement import Attempt, Lot, Placement
from schemas.subjects import Key
from schemas.wish import Need, Pool, Wish
from services.provisioning.placement.cooldowns import COOLDOWNS
from services.provisioning.placement.predicates import MarketKnowledge
from services.provisioning.placement.rank import rank
from services.provisioning.placement.supply import OfferIndex, TenantSignals

T0 = datetime(2026, 1, 1, tzinfo=UTC)
ONE, TWO, OTHER = Key("cluster", "acme", "one"), Key("cluster", "acme", "two"), Key("cluster", "zeta", "one")
WISH = Wish(
    tenant="acme", colony="train", cluster="a", uid="c1", generation=1,
    need=Need(pools=(Pool(name="gpu", accelerator="H100", accelerators_per_node=8, nodes=2),)),
)  # fmt: skip
LOT = Lot(
    pool="gpu", instance="x", zone="", accelerator="H100", accelerators_per_node=8, nodes=2, price_per_hour=1.0,
    spot=False,
)  # fmt: skip


def placing(reason="Denied") -> Placing:
    at = Placement(cloud="aws", region="r", lots=(LOT,))
    return Placing(uid="u", wish=WISH, attempt=Attempt(number=1, placement=at, reason=reason, failed_at=T0))


def waiting() -> Waiting:
    return Waiting(uid="u", wish=WISH, reason="NoOfferFits", message="none", until=T0)


@pytest.fixture
def neighbours():
    return TenantSignals()


def test_a_refused_credential_is_known_to_the_tenants_other_clusters_for_a_while(neighbours):
    neighbours.note(ONE, placing())
    lasts = COOLDOWNS["Denied"].lasts
    assert neighbours.denied(TWO, T0) == {"aws"}
    assert neighbours.denied(TWO, T0 + lasts) == frozenset()
    assert neighbours.denied(ONE, T0) == neighbours.denied(OTHER, T0) == frozenset()


def test_other_failures_are_each_clusters_own(neighbours):
    neighbours.note(ONE, placing("BadTemplate"))
    assert neighbours.denied(TWO, T0) == frozenset()


@pytest.mark.parametrize("state", [Pending(uid="u2", wish=WISH), Released(uid="u", wish=WISH, reason="Deleted")])
def test_what_a_cluster_is_over_with_counts_no_more(neighbours, state):
    neighbours.note(ONE, placing())
    neighbours.note(ONE, state)
    assert neighbours.denied(TWO, T0) == frozenset()


def test_who_waits_for_an_accelerator_is_told_when_one_is_offered_or_given_back(neighbours):
    neighbours.note(ONE, waiting())
    neighbours.note(TWO, Pending(uid="u", wish=WISH))
    assert list(neighbours.market_moved(["L4", "H100"])) == [(ONE, MarketChanged())]
    assert list(neighbours.machines_released(Released(uid="u", wish=WISH, reason="Deleted"))) == [
        (ONE, MarketChanged())
    ]
    assert list(neighbours.market_moved(["L4"])) == []
    neighbours.note(ONE, Pending(uid="u", wish=WISH))
    assert list(neighbours.market_moved(["H100"])) == []


def test_a_cloud_that_refused_the_tenant_is_left_out_and_named_where_nothing_else_fits():
    market = OfferIndex.from_offers(
        [Offer(cloud="aws", region="r", instance="x", accelerator="H100", accelerators=8, price=1.0)]
    )
    ranked = rank(WISH, market, {"aws": False}, known=MarketKnowledge(denied=frozenset({"aws"})))
    assert (ranked.reason, ranked.message) == ("Denied", "the credentials of aws were refused to another cluster")
