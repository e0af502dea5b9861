"""Ranks the placements that satisfy a wish, best first.

The price is that of the machines; the price of moving data to them (egress) is in no catalog, and is left out.
"""

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from heapq import heapify, heappop, heapreplace
from itertools import islice
from operator import itemgetter

from schemas.market import CapacitySeen
from schemas.placement import Attempt, Placement, Ranked
from schemas.wish import Need, Pool, Spot, Wish
from services.market.capacity import RegionKey, price_factor
from services.provisioning.placement.cooldowns import closed_slices, cooldown, still_counts
from services.provisioning.placement.exclusions import exclusions
from services.provisioning.placement.predicates import (
    NOTHING_KNOWN,
    CloudReach,
    MarketKnowledge,
    OfferQuery,
    fits,
    free_machines,
    new_lot,
    out_of_reach,
)
from services.provisioning.placement.supply import (
    Combination,
    OfferIndex,
    PricedOffer,
    cheapest_first,
    within_limits,
)

SortKey = tuple[float, bool, str, str, tuple[tuple[str, str], ...]]
SortedCombination = tuple[SortKey, Combination]
NOTHING_FITS = "NoOfferFits"
"""The reason if no offer is what was asked for, whatever its price and whoever has it."""
MOST_RANKED = 10
"""Placements that are ranked: the best is taken, the next one shows what it saved."""
UNIT_PRICE: Callable[[PricedOffer], float] = itemgetter(0)


def offer_query(
    wish: Wish, reach: CloudReach, tried: Sequence[Attempt] = (), *, known: MarketKnowledge = NOTHING_KNOWN
) -> OfferQuery:
    """The query of a wish, with what its failures have closed."""
    counting = (mark for attempt in tried if still_counts(attempt, known.now) for mark in closed_slices(attempt))
    return OfferQuery(at_largest_size(wish.need), reach, wish.need.max_price_per_hour, frozenset(counting), known)


def rank(  # noqa: PLR0913 - the wish, and everything it is held against
    wish: Wish,
    market: OfferIndex,
    reach: CloudReach,
    tried: Sequence[Attempt] = (),
    *,
    known: MarketKnowledge = NOTHING_KNOWN,
    most: int | None = None,
) -> Ranked:
    """The placements that satisfy the wish (at most `most`), best first, ties broken by name; or why there is none."""
    query = offer_query(wish, reach, tried, known=known)
    found = tuple(islice(_best_first(query, market), most))
    return Ranked(found) if found else Ranked((), *_why_nothing_fits(query, market, tried))


def on_demand_first(wish: Wish) -> Wish:
    """The wish with on-demand machines only, except in pools that ask for spot only."""
    pools = tuple(pool.but(spot=Spot.NEVER) if pool.spot is Spot.PREFERRED else pool for pool in wish.need.pools)
    return wish.but(need=wish.need.but(pools=pools))


def compared_price(query: OfferQuery, placement: Placement) -> float:
    """The price a placement is compared by (USD/h): higher for what was recently refused or interrupted there."""
    seen = query.known.signals.get((placement.cloud, placement.region))
    if seen is None:
        return placement.price_per_hour
    times = [price_factor(seen, each, spot=each.spot, now=query.known.now) for each in placement.lots]
    each_pool = [t * each.price_per_hour * each.nodes for t, each in zip(times, placement.lots, strict=True)]
    return round(sum(each_pool, placement.control_plane_per_hour), 6)


def _best_first(query: OfferQuery, market: OfferIndex) -> Iterator[Placement]:
    """The placements that satisfy the query, best first, computed lazily."""
    heap: list[tuple[SortKey, int, Iterator[SortedCombination] | None, RegionKey, Combination]] = [
        (bound, number, None, place, ()) for number, (bound, place) in enumerate(_candidate_regions(query, market))
    ]
    heapify(heap)
    while heap:
        _, number, stream, place, entries = heap[0]
        if stream is None:
            stream = _combinations_in(place, query, market)
        else:
            yield _placement(query, place, entries, market)
        following = next(stream, None)
        if following is None:
            heappop(heap)
        else:
            heapreplace(heap, (following[0], number, stream, place, following[1]))


def _placement(query: OfferQuery, place: RegionKey, entries: Combination, market: OfferIndex) -> Placement:
    scaled = query.need.autoscaled
    lots = tuple(new_lot(pool, entry, scaled=scaled) for pool, entry in zip(query.need.pools, entries, strict=True))
    return Placement(cloud=place[0], region=place[1], lots=lots, control_plane_per_hour=market.control_plane(place))


def _candidate_regions(query: OfferQuery, market: OfferIndex) -> Iterator[tuple[SortKey, RegionKey]]:
    """Regions that offer every pool's kind of machine, with a lower bound of their sort keys."""
    clouds = {cloud for cloud in query.need.clouds or query.reach if cloud in query.reach} - query.known.denied
    regions, cap = query.need.regions, math.inf if query.cap is None else query.cap
    shelves = [
        (market.by_region(pool.accelerator, pool.accelerators_per_node), pool.nodes) for pool in query.need.pools
    ]
    for place in shelves[0][0]:
        wanted = place[0] in clouds and (not regions or place[1] in regions) and place not in query.closed
        if wanted and all(place in shelf for shelf, _ in shelves):
            least = round(sum([shelf[place][0].price * n for shelf, n in shelves], market.control_plane(place)), 6)
            if least <= cap:
                yield (least, False, "", "", ()), place


def _combinations_in(place: RegionKey, query: OfferQuery, market: OfferIndex) -> Iterator[SortedCombination]:
    """One region's combinations, best first."""
    pools, fixed = query.need.pools, market.control_plane(place)
    cap = None if query.cap is None else query.cap - fixed
    columns = [_fitting_offers(place, pool, query, market) for pool in pools]
    seen = query.known.signals.get(place)
    if seen is None and place not in market.limited_regions:
        for entries in cheapest_first(columns):
            if cap is not None and _total(pools, entries, UNIT_PRICE) > cap:
                return  # all that follow cost as much or more
            yield _sort_key(place, pools, entries, UNIT_PRICE, fixed), entries
        return
    weigh = UNIT_PRICE if seen is None else _compared_offer_price(query, seen)
    listed = [sorted(column, key=lambda entry: (weigh(entry), *entry[1:4])) for column in columns]
    found = within_limits(listed, [pool.nodes for pool in pools], partial(free_machines, query)) if all(listed) else ()
    within = (e for e in found if cap is None or _total(pools, e, UNIT_PRICE) <= cap)
    ordered = ((_sort_key(place, pools, entries, weigh, fixed), entries) for entries in within)
    yield from sorted(ordered, key=itemgetter(0))


def _fitting_offers(place: RegionKey, pool: Pool, query: OfferQuery, market: OfferIndex) -> Iterator[PricedOffer]:
    """The offers that fit one pool, cheapest first."""
    entries = market.by_region(pool.accelerator, pool.accelerators_per_node)[place]
    return (entry for entry in entries if fits(query, pool, entry))


def _compared_offer_price(query: OfferQuery, seen: CapacitySeen) -> Callable[[PricedOffer], float]:
    now = query.known.now
    return lambda entry: entry.price * price_factor(seen, entry.offer, spot=entry.spot, now=now)


def _total(pools: Sequence[Pool], entries: Combination, price: Callable[[PricedOffer], float]) -> float:
    return round(sum(price(entry) * pool.nodes for pool, entry in zip(pools, entries, strict=True)), 6)


def _sort_key(
    place: RegionKey, pools: Sequence[Pool], entries: Combination, price: Callable[[PricedOffer], float], fixed: float
) -> SortKey:
    names = tuple(entry[2:4] for entry in entries)
    return round(_total(pools, entries, price) + fixed, 6), entries[0].spot, *place, names


def _why_nothing_fits(query: OfferQuery, market: OfferIndex, tried: Sequence[Attempt]) -> tuple[str, str]:
    """The first obstacle whose removal would let something through."""
    dearest = replace(query, cap=None)
    if (costs := [placement.most_per_hour for placement in _best_first(dearest, market)]) and query.cap is not None:
        size = " at its largest size" if query.need.autoscaled else ""
        return "PriceCap", f"the cheapest offer costs ${min(costs):.2f} an hour{size}, the cap is ${query.cap:.2f}"
    again = replace(dearest, closed=frozenset())
    if query.closed and _any(again, market):
        last = _most_hopeful([attempt for attempt in tried if still_counts(attempt, query.known.now)])
        return last.reason, f"every offer that fits was tried; the last said: {last.message or last.reason}"
    trusted = replace(again, known=replace(query.known, denied=frozenset()))
    if query.known.denied and _any(trusted, market):
        return "Denied", f"the credentials of {', '.join(sorted(query.known.denied))} were refused to another cluster"
    if _any(replace(again, known=NOTHING_KNOWN), market):
        return "Taken", "every machine that fits is held by another cluster: it is free when that one is released"
    return NOTHING_FITS, _asked_for(query.need, query.reach) + _alternatives(query, market)


def _most_hopeful(tried: Sequence[Attempt]) -> Attempt:
    """The last failure that time can mend; if there is none, the last."""
    return next((attempt for attempt in reversed(tried) if not cooldown(attempt.reason).final), tried[-1])


def _any(query: OfferQuery, market: OfferIndex) -> bool:
    return next(_best_first(query, market), None) is not None


def _alternatives(query: OfferQuery, market: OfferIndex) -> str:
    """What could be asked for instead: other clouds, another number of accelerators, or the nearest offer."""
    if query.need.clouds and query.reach.keys().isdisjoint(query.need.clouds):
        other = [f"{out_of_reach(query, cloud)}; " for cloud in query.need.clouds if cloud in query.known.elsewhere]
        selling = market.clouds.intersection(query.reach) or query.reach
        return f": {''.join(other)}within reach are {', '.join(sorted(selling))}"
    for pool in query.need.pools:
        sold = market.accelerator_counts(pool.accelerator)
        if sold and pool.accelerators_per_node not in sold:
            return f": machines with {pool.accelerator} have {', '.join(map(str, sold))} of them"
    return _left_out(query, market)


def _left_out(query: OfferQuery, market: OfferIndex) -> str:
    """How many offers each rule left out, and the nearest one."""
    left_out = exclusions(query, market)
    if not left_out:
        return ""
    counts = ", ".join(f"{each.count} by {each.reason}" for each in left_out)
    return f"; left out were {counts}; nearest came {left_out[-1].nearest}"


def _asked_for(need: Need, reach: CloudReach) -> str:
    wanted = ", ".join(
        f"{p.nodes} node{'s'[: p.nodes > 1]} of {p.accelerators_per_node} {p.accelerator} ({p.spot} spot)"
        for p in need.pools
    )
    where = ", ".join(sorted(set(reach) & set(need.clouds or reach)) or need.clouds)
    return f"no offer has {wanted} on {where}{' in ' + ', '.join(need.regions) if need.regions else ''}"


def at_largest_size(need: Need) -> Need:
    """The need of an autoscaled cluster with every pool at its maximum."""
    if not need.autoscaled:
        return need
    pools = (pool.but(nodes=pool.most, min_nodes=pool.least) for pool in need.pools)
    return need.but(pools=tuple(pools))
