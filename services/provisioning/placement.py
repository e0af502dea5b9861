"""Placement answers which offers satisfy a wish, best first, as a pure function."""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence

from schemas.cluster import Attempt, Lot, Placement, Ranked
from schemas.inventory import Offer
from schemas.wish import Need, Pool, Spot, Wish

Reach = Mapping[str, bool]
"""The clouds that can be had, and whether as spot."""
Place = tuple[str, str]
KINDS = {Spot.NEVER: (False,), Spot.PREFERRED: (False, True), Spot.ONLY: (True,)}


def rank(wish: Wish, offers: Iterable[Offer], reach: Reach, tried: Sequence[Attempt] = ()) -> Ranked:
    """Every placement that satisfies the wish, cheapest first, ties broken by name; or the reason there is none."""
    need = wish.need
    within = [offer for offer in offers if _within(offer, need, reach)]
    refused = {_mark(attempt.placement, lot) for attempt in tried for lot in attempt.placement.lots}
    placements = [p for place, lots in _by_place(need, within, reach).items() for p in _placements(place, lots)]
    open_ones = [p for p in placements if refused.isdisjoint(_mark(p, lot) for lot in p.lots)]
    cap = need.max_price_per_hour
    ranked = sorted((p for p in open_ones if cap is None or p.price_per_hour <= cap), key=_order)
    if ranked:
        return Ranked(tuple(ranked))
    return Ranked((), *_why_none(need, reach, tried, placements, open_ones))


def _within(offer: Offer, need: Need, reach: Reach) -> bool:
    cloud = offer.cloud in reach and (not need.clouds or offer.cloud in need.clouds)
    return cloud and (not need.regions or offer.region in need.regions)


def _by_place(need: Need, offers: Iterable[Offer], reach: Reach) -> dict[Place, list[list[Lot]]]:
    """Per cloud and region, the lots that would do for each pool, cheapest first."""
    places: dict[Place, list[list[Lot]]] = defaultdict(lambda: [[] for _ in need.pools])
    for offer in offers:
        for index, pool in enumerate(need.pools):
            places[offer.cloud, offer.region][index].extend(_lots(offer, pool, spot_there=reach[offer.cloud]))
    for pools in places.values():
        for lots in pools:
            lots.sort(key=lambda lot: (lot.price_per_hour, lot.spot, lot.zone, lot.instance))
    return places


def _lots(offer: Offer, pool: Pool, *, spot_there: bool) -> Iterator[Lot]:
    fits = (offer.accelerator, offer.accelerators) == (pool.accelerator, pool.accelerators_per_node)
    if not fits or offer.cpu < pool.cpu or offer.memory_gib < pool.memory_gib:
        return
    for spot in KINDS[pool.spot]:
        price = offer.spot_price if spot else offer.price
        if price is None or (spot and not spot_there):
            continue
        yield Lot(
            pool=pool.name,
            instance=offer.instance,
            zone=offer.zone,
            accelerator=offer.accelerator,
            accelerators_per_node=offer.accelerators,
            nodes=pool.nodes,
            price_per_hour=price,
            spot=spot,
        )


def _placements(place: Place, pools: list[list[Lot]]) -> Iterator[Placement]:
    """In one region: the cheapest lot of every pool together, then the second cheapest of each, and so on."""
    if not all(pools):
        return
    for turn in range(max(map(len, pools))):
        lots = tuple(pool[min(turn, len(pool) - 1)] for pool in pools)
        yield Placement(cloud=place[0], region=place[1], lots=lots)


def _mark(placement: Placement, lot: Lot) -> tuple[str, str, str, str, bool]:
    return (placement.cloud, placement.region, lot.zone, lot.instance, lot.spot)


def _order(placement: Placement) -> tuple[float, bool, str, str, tuple[tuple[str, str], ...]]:
    lots = tuple((lot.zone, lot.instance) for lot in placement.lots)
    return (placement.price_per_hour, placement.lots[0].spot, placement.cloud, placement.region, lots)


def _why_none(
    need: Need, reach: Reach, tried: Sequence[Attempt], fitting: list[Placement], left: list[Placement]
) -> tuple[str, str]:
    if left:
        cheapest = min(placement.price_per_hour for placement in left)
        return (
            "PriceCap",
            f"the cheapest offer costs ${cheapest:.2f} an hour, the cap is ${need.max_price_per_hour:.2f}",
        )
    if fitting and tried:
        last = tried[-1]
        return last.reason, f"every offer that fits was tried; the last said: {last.message or last.reason}"
    wanted = ", ".join(f"{p.nodes} × {p.accelerators_per_node} {p.accelerator} ({p.spot} spot)" for p in need.pools)
    where = ", ".join(sorted(set(reach) & set(need.clouds or reach))) or "no cloud"
    return "NoOfferFits", f"no offer has {wanted} on {where}{' in ' + ', '.join(need.regions) if need.regions else ''}"
