"""Every way to buy that was left out is counted once, under the first rule it misses, with the nearest miss told."""

import msgspec

from schemas.inventory import Offer
from schemas.wish import Need, Pool, Spot, Wish
from services.provisioning.placement.exclusions import exclusions
from services.provisioning.placement.predicates import MarketKnowledge
from services.provisioning.placement.rank import offer_query, rank
from services.provisioning.placement.supply import OfferIndex

REACH = {"aws": True, "gcp": True}


def offer(cloud, region, instance, price, **more) -> Offer:
    return Offer(
        cloud=cloud, region=region, instance=instance, accelerator="H100", accelerators=8, price=price, **more
    )  # fmt: skip


MARKET = OfferIndex.from_offers(
    [
        offer("azure", "eastus", "nd", 1.0, cpu=96.0),
        offer("aws", "us-east-1", "p5", 20.0, cpu=192.0, spot_price=9.0),
        offer("aws", "us-east-1", "p4", 10.0, cpu=64.0),
        offer("gcp", "us-east1", "a3", 30.0, cpu=128.0),
    ]
)


def wish(cap=None, **more) -> Wish:
    pool = Pool(name="gpu", accelerator="H100", accelerators_per_node=8, nodes=2, spot=Spot.NEVER, **more)
    need = Need(pools=(pool,), max_price_per_hour=cap)
    return Wish(tenant="t", colony="c", cluster="a", uid="u", generation=1, need=need)


def told(asked) -> list[tuple[str, int, str]]:
    return [(each.reason, each.count, each.nearest) for each in exclusions(offer_query(asked, REACH), MARKET)]


def test_each_way_to_buy_counts_once_and_the_nearest_miss_is_told_in_the_rules_own_measure():
    assert told(wish(cpu=150)) == [
        ("Cloud", 1, "azure eastus nd at $1.00 a node: azure is not within reach"),
        ("Cpu", 2, "gcp us-east1 a3 at $30.00 a node: it has 128 vCPUs, about 126.1 for pods"),
        ("Spot", 1, "aws us-east-1 p5 spot at $9.00 a node: spot is never"),
    ]


def test_a_cloud_that_another_back_end_reaches_is_told_with_its_name():
    known = MarketKnowledge(elsewhere={"azure": "k0rdent", "aws": "k0rdent"})
    found = exclusions(offer_query(wish(), REACH, known=known), MARKET)
    assert found[0].nearest == "azure eastus nd at $1.00 a node: azure is reached with backend: k0rdent"


def test_where_no_machine_has_so_many_accelerators_those_that_are_sold_are_told():
    asked = wish(cpu=999)
    five = msgspec.structs.replace(asked.need.pools[0], accelerators_per_node=5)
    asked = msgspec.structs.replace(asked, need=msgspec.structs.replace(asked.need, pools=(*asked.need.pools, five)))
    assert rank(asked, MARKET, REACH).message.endswith("on aws, gcp: machines with H100 have 8 of them")


def test_what_only_costs_too_much_is_told_last():
    assert told(wish(cap=19.0))[-1] == (
        "PriceCap", 3, "aws us-east-1 p4 at $10.00 a node: 2 of it cost $20.00 an hour, the cap is $19.00",
    )  # fmt: skip


def test_where_nothing_fits_people_are_told_what_came_nearest():
    message = rank(wish(cpu=999), MARKET, REACH).message
    assert message.startswith("no offer has 2 nodes of 8 H100 (never spot) on aws, gcp; left out were 1 by Cloud, 4 by")
    assert message.endswith(
        "nearest came aws us-east-1 p5 spot at $9.00 a node: it has 192 vCPUs, about 189.5 for pods"
    )
