"""What is paid is told as it is: the control plane, a cluster that hibernates, and nodes that somebody else added."""

from datetime import UTC, datetime, timedelta
from typing import Any

import msgspec
import pytest

from events.errors import TryLater
from events.memory.bus import MemoryBus
from schemas.attempts import Rank, RecoverAttempt
from schemas.changes import PoolUnavailable, PricePool, Resize, Resized, Upgraded
from schemas.cluster import Hibernated, Ready, Waiting
from schemas.infra import InfraSeen
from schemas.inventory import ClusterSeen, Offer, Offers
from schemas.placement import Attempt, Placement
from schemas.wish import Adopt, Need, Wish
from services.clouds.existing_cluster import ExistingCluster, ExistingPool
from services.colony.accounting import so_far
from services.gateway.status.facts import Facts
from services.gateway.status.message import message
from services.provisioning.act import NO_CATALOG, ProvisioningCalls
from services.provisioning.lifecycle.decide import decide
from services.provisioning.lifecycle.todo import todo
from services.provisioning.market_view import MarketView
from services.provisioning.placement.adoption import UNPRICED
from services.provisioning.placement.rank import rank
from services.provisioning.placement.supply import OfferIndex
from tests.context import context
from tests.samples import POOL

T0 = datetime(2026, 1, 1, tzinfo=UTC)
HOUR = timedelta(hours=1)
replace = msgspec.structs.replace
OFFER = Offer(
    cloud="aws", region="r", zone="z", instance="x8", accelerator="H100", accelerators=8, price=10.0,
)  # fmt: skip
NEED = Need(pools=(replace(POOL, name="gpu", nodes=2),))
WISH = Wish(tenant="acme", colony="train", cluster="a", uid="c1", generation=1, need=NEED)


def ranked(asked=WISH, cost=0.1):
    market = OfferIndex()
    market.update(Offers(cloud="aws", region="r", offers=(OFFER,), control_plane_per_hour=cost))
    return rank(asked, market, {"aws": True})


def tell(state, *events, now=T0):
    for event in events:
        state = decide.decide(state, event, now)
    return state


def seen(nodes):
    return ClusterSeen(cluster="train-a", uid="c1.1", attempt=1, nodes=nodes, accelerators=8 * nodes)


def ready():
    reachable = InfraSeen(cluster="train-a", uid="c1.1", attempt=1, reachable=True)
    return tell(None, WISH, ranked(), reachable, seen(2))


def price(state):
    return state.attempt.placement.price_per_hour


def test_a_cluster_costs_its_nodes_and_its_control_plane():
    state = ready()
    assert (type(state), price(state)) == (Ready, 20.1)
    assert so_far(state, T0 + 10 * HOUR) == 201.0


def test_the_limit_counts_the_control_plane():
    assert ranked(replace(WISH, need=replace(NEED, max_price_per_hour=20.1))).placements
    refused = ranked(replace(WISH, need=replace(NEED, max_price_per_hour=20.0)))
    assert (refused.placements, refused.reason) == ((), "PriceCap")
    assert "$20.10" in refused.message


def test_one_cloud_is_cheaper_than_another_for_its_control_plane_too():
    market = OfferIndex()
    for cloud, cost in (("aws", 2.0), ("gcp", 0.5)):
        offers = (replace(OFFER, cloud=cloud),)
        market.update(Offers(cloud=cloud, region="r", offers=offers, control_plane_per_hour=cost))
    found = rank(WISH, market, {"aws": True, "gcp": True}).placements
    assert [(each.cloud, each.price_per_hour) for each in found[:2]] == [("gcp", 20.5), ("aws", 22.0)]


def test_one_that_hibernates_costs_its_control_plane():
    asleep = tell(ready(), replace(WISH, generation=2, need=replace(NEED, hibernate=True)), now=T0 + HOUR)
    asleep = tell(asleep, Resized(1, asleep.attempt.placement.lots), seen(0), now=T0 + HOUR)
    assert (type(asleep), price(asleep)) == (Hibernated, 0.1)
    assert so_far(asleep, T0 + 11 * HOUR) == pytest.approx(20.1 + 1.0)


def test_nodes_that_somebody_adds_by_hand_are_billed_from_then_on_and_told():
    state = tell(ready(), seen(5), now=T0 + HOUR)
    assert (type(state), price(state), state.attempt.placement.nodes) == (Ready, 50.1, 2)
    assert so_far(state, T0 + 2 * HOUR) == pytest.approx(20.1 + 50.1)
    assert not [each for each in todo(state) if isinstance(each, Resize)]
    assert message(Facts(WISH, cluster=state, seen=seen(5))) == (
        "pool gpu has 5 nodes, 3 more than asked for, and they are billed: ask for nodes 5, or scale it back"
    )
    back = tell(state, seen(2), now=T0 + 2 * HOUR)
    assert (price(back), message(Facts(WISH, cluster=back, seen=seen(2)))) == (20.1, "")


def test_a_cluster_that_is_lent_whole_costs_what_was_asked_for_of_it():
    state = tell(replace(ready(), lent=True), seen(10))
    assert (price(state), message(Facts(WISH, cluster=state, seen=seen(10)))) == (20.1, "")


def test_what_was_added_by_hand_and_is_asked_for_then_is_paid_once():
    state = tell(ready(), seen(5))
    more = replace(WISH, generation=2, need=replace(NEED, pools=(replace(POOL, name="gpu", nodes=5),)))
    state = tell(state, more)
    state = tell(state, Resized(1, state.attempt.placement.lots), seen(5))
    assert (price(state), state.resizing) == (50.1, None)


def test_a_machine_beside_its_successor_is_nothing_added_by_hand():
    rolling = tell(ready(), replace(WISH, generation=2, need=replace(NEED, kubernetes_version="v1.35.0")))
    assert price(tell(rolling, seen(3))) == 20.1
    done = tell(rolling, seen(3), Upgraded(1, "v1.35.0"), seen(2))
    assert price(done) == 20.1


async def test_without_a_catalog_nothing_is_bought_and_the_setting_is_named():
    calls = ProvisioningCalls({}, None, None, None, priced=False)
    answer: Any
    (answer,) = await calls.rank(Rank(WISH, ()))
    assert (answer.placements, answer.reason, "ALATE_CATALOG" in NO_CATALOG) == ((), "NoCatalog", True)
    state = tell(None, WISH, answer)
    assert (type(state), state.message) == (Waiting, NO_CATALOG)


class Stands:
    """A back end where a cluster stands that others made."""

    async def read_existing(self, *_):
        return ExistingCluster("aws", "r", (ExistingPool("gpu", 2, "x8"),))


def unpriced():
    market_view = MarketView(context(MemoryBus(), lambda: T0))
    return ProvisioningCalls({"capi": Stands()}, market_view, {}, {}, priced=False)


def adopts(price):
    need = replace(NEED, backend="capi", adopt=Adopt(name="theirs", node_price_per_hour=price))
    return replace(WISH, need=need)


async def test_without_a_catalog_what_stands_is_taken_in_at_its_owners_price():
    (answer,) = await unpriced().rank(Rank(adopts(0.5), ()))
    assert (answer.adopts, [each.price_per_hour for each in answer.placements]) == ("theirs", [1.0])
    (answer,) = await unpriced().rank(Rank(adopts(None), ()))
    assert (answer.placements, answer.reason, "adopt.nodePricePerHour" in answer.message) == ((), "NoPrice", True)


async def test_without_a_catalog_a_lost_history_is_taken_in_again():
    bare = Attempt(number=1, placement=Placement(cloud="", region="", lots=()))
    owned = replace(bare, adopts="theirs")
    (told,) = await unpriced().recall(RecoverAttempt(replace(WISH, need=replace(NEED, backend="capi")), bare))
    assert (told.placement.nodes, told.placement.price_per_hour, told.message) == (2, 0.0, UNPRICED)
    (told,) = await unpriced().recall(RecoverAttempt(adopts(0.5), owned))
    assert (told.placement.price_per_hour, told.message) == (1.0, "")


async def test_without_a_catalog_no_pool_is_added_and_the_setting_is_named():
    (told,) = await unpriced().buy(PricePool(WISH, ready().attempt, ready().attempt.placement, steady=False))
    assert (type(told), told.message) == (PoolUnavailable, NO_CATALOG)


async def test_what_the_market_may_price_waits_until_it_has_spoken_and_an_owners_price_does_not():
    calls = ProvisioningCalls({"capi": Stands()}, MarketView(context(MemoryBus(), lambda: T0)), {}, {})
    with pytest.raises(TryLater, match="what the market offers"):
        await calls.rank(Rank(adopts(None), ()))
    answer: Any
    (answer,) = await calls.rank(Rank(adopts(0.5), ()))
    assert answer.placements
