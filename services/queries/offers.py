"""Offers with recent refusals in their region, the cheapest first."""

from collections.abc import Iterator, Sequence
from datetime import datetime

import msgspec

from events.bus import Stored
from schemas.inventory import Offer
from schemas.market import CapacitySeen
from schemas.registry import declared
from services.market.capacity import concerns, price_factor
from services.queries.item import Item

CAPACITY = declared(CapacitySeen).at("", "").rstrip(".")


def items(stored: Stored) -> Iterator[Item]:
    """The offers of a region, each as of when its price is; or what is known of its capacity."""
    if stored.subject.startswith(CAPACITY):
        seen = msgspec.json.decode(stored.data, type=CapacitySeen)
        yield {"cloud": seen.cloud, "region": seen.region, "capacity": stored.data}
        return
    said = msgspec.json.decode(stored.data)
    for offer in said["offers"]:
        yield offer | {"asOf": said.get("asOf")}


def names(item: Item) -> tuple[str, ...]:
    """The names that select an offer."""
    if "capacity" in item:
        return (item["cloud"], item["region"])
    return (item["cloud"], item["region"], item.get("zone", ""), item["instance"], item["accelerator"])


def arranged(some: Sequence[Item], everything: Sequence[Item], now: datetime) -> list[Item]:
    """Offers only, each with the refusals that make it less likely, cheapest first."""
    found = {
        names(item): msgspec.json.decode(item["capacity"], type=CapacitySeen)
        for item in everything
        if "capacity" in item
    }
    shown = [_with(item, found.get((item["cloud"], item["region"])), now) for item in some if "capacity" not in item]
    return sorted(shown, key=lambda item: (item["price"], names(item)))


def _with(item: Item, seen: CapacitySeen | None, now: datetime) -> Item:
    if seen is None:
        return item
    offer = msgspec.convert({k: v for k, v in item.items() if k != "asOf"}, Offer)
    hit = [r for r in seen.refusals for spot in (False, True) if concerns(r, offer, spot=spot)]
    if not hit:
        return item
    counts = {
        "onDemand": round(price_factor(seen, offer, spot=False, now=now), 3),
        "spot": round(price_factor(seen, offer, spot=True, now=now), 3),
    }
    return item | {"refusals": msgspec.to_builtins(hit), "countsTimes": counts}
