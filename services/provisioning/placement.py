"""Placement answers which offers satisfy a wish, best first, as a pure function."""

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from heapq import heapify, heappop, heapreplace
from itertools import islice
from operator import itemgetter

from schemas.cluster import NOT_INSTALLED, Attempt, Lot, Placement, Ranked
from schemas.entity import EPOCH
from schemas.market import CapacitySeen
from schemas.wish import Need, Pool, Spot, Wish
from services.capacity import dearer, weight
from services.provisioning.combine import Combination, in_limits, in_turns
from services.provisioning.holds import Stock
from services.provisioning.market import Entry, Market, Place

Reach = Mapping[str, bool]
"""The clouds that can be had, and whether as spot."""
Mark = tuple[str, str, str, str, bool]
Order = tuple[float, bool, str, str, tuple[tuple[str, str], ...]]
Found = tuple[Order, Combination]
KINDS = {Spot.NEVER: (False,), Spot.PREFERRED: (False, True), Spot.ONLY: (True,)}
UNIT_PRICE: Callable[[Entry], float] = itemgetter(0)


@dataclass(frozen=True)
class Known:
    """What is known of the market beyond its prices."""

    held: Mapping[Stock, int] = field(default_factory=dict)
    """Machines that clusters have already, of those that are limited."""
    signals: Mapping[Place, CapacitySeen] = field(default_factory=dict)
    """Where there was no room lately: it counts as dearer, what is paid stays what is said."""
    now: datetime = EPOCH


NOTHING = Known()


@dataclass(frozen=True)
class _Ask:
    """One question to the market."""

    need: Need
    reach: Reach
    cap: float | None
    tried: frozenset[Mark]
    known: Known


def rank(  # noqa: PLR0913 - the wish, and everything it is held against
    wish: Wish,
    market: Market,
    reach: Reach,
    tried: Sequence[Attempt] = (),
    *,
    known: Known = NOTHING,
    most: int | None = None,
) -> Ranked:
    """The placements that satisfy the wish (`most` of them), best first, ties broken by name; or why there is none."""
    tried = [attempt for attempt in tried if attempt.reason != NOT_INSTALLED]  # that was no offer's fault
    marks = frozenset(_mark((a.placement.cloud, a.placement.region), lot) for a in tried for lot in a.placement.lots)
    ask = _Ask(wish.need, reach, wish.need.max_price_per_hour, marks, known)
    found = tuple(islice(_best(ask, market), most))
    return Ranked(found) if found else Ranked((), *_why_none(ask, market, tried))


def _best(ask: _Ask, market: Market) -> Iterator[Placement]:
    """What satisfies the ask, best first, made as it is asked for."""
    heap: list[tuple[Order, int, Iterator[Found] | None, Place, Combination]] = [
        (bound, number, None, place, ()) for number, (bound, place) in enumerate(_places(ask, market))
    ]
    heapify(heap)
    while heap:
        _, number, stream, place, entries = heap[0]
        if stream is None:
            stream = _at(place, ask, market)
        else:
            yield _placement(ask, place, entries)
        following = next(stream, None)
        if following is None:
            heappop(heap)
        else:
            heapreplace(heap, (following[0], number, stream, place, following[1]))


def _placement(ask: _Ask, place: Place, entries: Combination) -> Placement:
    lots = tuple(_lot(pool, entry) for pool, entry in zip(ask.need.pools, entries, strict=True))
    return Placement(cloud=place[0], region=place[1], lots=lots)


def _places(ask: _Ask, market: Market) -> Iterator[tuple[Order, Place]]:
    """Where every pool's kind of machine is offered, and may be bought; with what no combination there comes before."""
    clouds = set(ask.need.clouds or ask.reach) & set(ask.reach)
    regions, cap = ask.need.regions, math.inf if ask.cap is None else ask.cap
    shelves = [(market.shelf(pool.accelerator, pool.accelerators_per_node), pool.nodes) for pool in ask.need.pools]
    for place in shelves[0][0]:
        wanted = place[0] in clouds and (not regions or place[1] in regions)
        if wanted and all(place in shelf for shelf, _ in shelves):
            least = round(sum([shelf[place][0].price * nodes for shelf, nodes in shelves]), 6)
            if least <= cap:
                yield (least, False, "", "", ()), place


def _at(place: Place, ask: _Ask, market: Market) -> Iterator[Found]:
    """One place's combinations, best first."""
    pools = ask.need.pools
    columns = [_fitting(place, pool, ask, market) for pool in pools]
    seen = ask.known.signals.get(place)
    if seen is None and place not in market.limited:
        for entries in in_turns(columns):
            if ask.cap is not None and _total(pools, entries, UNIT_PRICE) > ask.cap:
                return  # all that follow cost as much or more
            yield _order(place, pools, entries, UNIT_PRICE), entries
        return
    weigh = UNIT_PRICE if seen is None else _weigher(ask, seen)
    listed = [sorted(column, key=lambda entry: (weigh(entry), *entry[1:4])) for column in columns]
    found = in_limits(listed, [pool.nodes for pool in pools], _room(place, ask)) if all(listed) else ()
    within = (e for e in found if ask.cap is None or _total(pools, e, UNIT_PRICE) <= ask.cap)
    ordered = ((_order(place, pools, entries, weigh), entries) for entries in within)
    yield from sorted(ordered, key=itemgetter(0))


def _fitting(place: Place, pool: Pool, ask: _Ask, market: Market) -> Iterator[Entry]:
    """What one pool can be made of, cheapest first, without what was tried."""
    entries = market.shelf(pool.accelerator, pool.accelerators_per_node)[place]
    kinds = tuple(spot for spot in KINDS[pool.spot] if ask.reach[place[0]] or not spot)
    for entry in entries:
        offer = entry.offer
        large = offer.cpu >= pool.cpu and offer.memory_gib >= pool.memory_gib
        if large and entry.spot in kinds and (*place, entry.zone, entry.instance, entry.spot) not in ask.tried:
            yield entry


def _weigher(ask: _Ask, seen: CapacitySeen) -> Callable[[Entry], float]:
    now = ask.known.now
    return lambda entry: entry.price * dearer(weight(seen, entry.offer, spot=entry.spot, now=now))


def _room(place: Place, ask: _Ask) -> Callable[[Entry], int | None]:
    def room(entry: Entry) -> int | None:
        limit = entry.offer.limit
        return None if limit is None else limit - ask.known.held.get((*place, entry.zone, entry.instance), 0)

    return room


def _total(pools: Sequence[Pool], entries: Combination, price: Callable[[Entry], float]) -> float:
    return round(sum(price(entry) * pool.nodes for pool, entry in zip(pools, entries, strict=True)), 6)


def _order(place: Place, pools: Sequence[Pool], entries: Combination, price: Callable[[Entry], float]) -> Order:
    names = tuple(entry[2:4] for entry in entries)
    return _total(pools, entries, price), entries[0].spot, *place, names


def _lot(pool: Pool, entry: Entry) -> Lot:
    return Lot(
        pool=pool.name,
        instance=entry.instance,
        zone=entry.zone,
        accelerator=entry.offer.accelerator,
        accelerators_per_node=entry.offer.accelerators,
        nodes=pool.nodes,
        price_per_hour=entry.price,
        spot=entry.spot,
    )


def _mark(place: Place, lot: Lot) -> Mark:
    return (*place, lot.zone, lot.instance, lot.spot)


def _why_none(ask: _Ask, market: Market, tried: Sequence[Attempt]) -> tuple[str, str]:
    """Which of the things that stand in the way, taken away, would let something through."""
    dearest = replace(ask, cap=None)
    if (left := [placement.price_per_hour for placement in _best(dearest, market)]) and ask.cap is not None:
        return "PriceCap", f"the cheapest offer costs ${min(left):.2f} an hour, the cap is ${ask.cap:.2f}"
    again = replace(dearest, tried=frozenset())
    if tried and _any(again, market):
        last = tried[-1]
        return last.reason, f"every offer that fits was tried; the last said: {last.message or last.reason}"
    if _any(replace(again, known=NOTHING), market):
        return "Taken", "every machine that fits is held by another cluster: it is free when that one is released"
    return "NoOfferFits", _nothing(ask.need, ask.reach)


def _any(ask: _Ask, market: Market) -> bool:
    return next(_best(ask, market), None) is not None


def _nothing(need: Need, reach: Reach) -> str:
    wanted = ", ".join(
        f"{p.nodes} nodes of {p.accelerators_per_node} {p.accelerator} ({p.spot} spot)" for p in need.pools
    )
    where = ", ".join(sorted(set(reach) & set(need.clouds or reach))) or "no cloud"
    return f"no offer has {wanted} on {where}{' in ' + ', '.join(need.regions) if need.regions else ''}"
