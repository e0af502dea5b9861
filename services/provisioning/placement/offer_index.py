"""An index of all offers, sorted as they change, so that a request looks at the best offers only."""

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from operator import itemgetter
from typing import NamedTuple

from schemas.inventory import Offer, Offers
from services.market.capacity import RegionKey


class PricedOffer(NamedTuple):
    """One way to buy an offer; sorted by price, then on demand first, then by name."""

    price: float
    spot: bool
    zone: str
    instance: str
    offer: Offer


OffersByRegion = Mapping[RegionKey, list[PricedOffer]]
"""The offers of one kind of machine, by region."""


Combination = tuple[PricedOffer, ...]
"""One entry for each pool, in the order of the pools."""
FreeMachines = Callable[[PricedOffer], int | None]
"""The number of machines left of an offer; None if unlimited."""


class OfferIndex:
    """Every offer, by accelerator and their number, then by region, cheapest first."""

    def __init__(self) -> None:
        self.limited_regions: set[RegionKey] = set()
        """Regions in which at least one offer is limited."""
        self._shelves: dict[tuple[str, int], dict[RegionKey, list[PricedOffer]]] = defaultdict(dict)
        self._kinds: dict[RegionKey, set[tuple[str, int]]] = {}
        self._control_planes: dict[RegionKey, float] = {}

    @property
    def clouds(self) -> frozenset[str]:
        """Every cloud that has published offers."""
        return frozenset(cloud for cloud, _ in self._kinds)

    @classmethod
    def from_offers(cls, offers: Iterable[Offer]) -> "OfferIndex":
        """An index of these offers."""
        places: dict[RegionKey, list[Offer]] = defaultdict(list)
        for offer in offers:
            places[offer.cloud, offer.region].append(offer)
        market = cls()
        for place, held in places.items():
            market.replace(place, held)
        return market

    def update(self, published: Offers) -> None:
        """Replace a region's offers by the published ones."""
        self.replace((published.cloud, published.region), published.offers)
        self._control_planes[published.cloud, published.region] = published.control_plane_per_hour

    def replace(self, place: RegionKey, offers: Iterable[Offer]) -> None:
        """Replace a region's offers."""
        kinds: dict[tuple[str, int], list[PricedOffer]] = defaultdict(list)
        limited = False
        for offer in offers:
            limited |= offer.limit is not None
            kinds[offer.accelerator, offer.accelerators].extend(_entries(offer))
        for gone in self._kinds.pop(place, set()).difference(kinds):
            del self._shelves[gone][place]
        for kind, entries in kinds.items():
            self._shelves[kind][place] = sorted(entries, key=itemgetter(0, 1, 2, 3))
        self._kinds[place] = set(kinds)
        (self.limited_regions.add if limited else self.limited_regions.discard)(place)

    def by_region(self, accelerator: str, accelerators: int) -> OffersByRegion:
        """The offers with so many of an accelerator, by region."""
        return self._shelves.get((accelerator, accelerators), {})

    def control_plane(self, place: RegionKey) -> float:
        """USD per hour of a cluster's control plane in a region."""
        return self._control_planes.get(place, 0.0)

    def accelerator_counts(self, accelerator: str) -> tuple[int, ...]:
        """The numbers of an accelerator that single machines have, smallest first."""
        return tuple(sorted(held for kind, held in self._shelves if kind == accelerator and self._shelves[kind, held]))

    def offer(self, place: RegionKey, accelerator: str, accelerators: int, zone: str, instance: str) -> Offer | None:
        """One offer by its name."""
        entries = self.by_region(accelerator, accelerators).get(place, ())
        return next((entry.offer for entry in entries if (entry.zone, entry.instance) == (zone, instance)), None)


def _entries(offer: Offer) -> Iterable[PricedOffer]:
    yield PricedOffer(offer.price, False, offer.zone, offer.instance, offer)  # noqa: FBT003 - a tuple's place has no name
    if offer.spot_price is not None:
        yield PricedOffer(offer.spot_price, True, offer.zone, offer.instance, offer)  # noqa: FBT003 - same


def cheapest_first(pools: Sequence[Iterable[PricedOffer]]) -> Iterator[Combination]:
    """The cheapest offer of every pool, then the second cheapest of each, and so on.

    A pool that has no further offer keeps its last one. Nothing is read from a pool before it is needed.
    """
    columns = [iter(pool) for pool in pools]
    now = [next(column, None) for column in columns]
    moved = True
    while moved:
        combination = tuple(entry for entry in now if entry is not None)
        if len(combination) < len(now):
            return
        yield combination
        following = [next(column, None) for column in columns]
        moved = any(following)
        now = [new or old for new, old in zip(following, now, strict=True)]


def within_limits(
    pools: Sequence[Sequence[PricedOffer]], nodes: Sequence[int], room: FreeMachines
) -> list[Combination]:
    """Combinations that respect limited machines, for which pools may compete; in no order.

    The pool with the fewest offers chooses first, each the cheapest that still has room. The result does not depend on
    the order of the pools; it need not be the cheapest way to share limited machines.
    """
    found = (_fill(pools, nodes, room, turn) for turn in range(max(map(len, pools))))
    return list(dict.fromkeys(combination for combination in found if combination is not None))


def _fill(
    pools: Sequence[Sequence[PricedOffer]], nodes: Sequence[int], room: FreeMachines, turn: int
) -> Combination | None:
    """For every pool its first offer from index `turn` on that has room; None if a pool finds none."""
    chosen: dict[int, PricedOffer] = {}
    left: dict[tuple[str, str], int] = {}
    for pool in sorted(range(len(pools)), key=lambda index: (len(pools[index]), -nodes[index])):
        for entry in pools[pool][min(turn, len(pools[pool]) - 1) :]:
            stock, there = (entry.zone, entry.instance), room(entry)
            if there is None or left.get(stock, there) >= nodes[pool]:
                left[stock] = left.get(stock, there or 0) - nodes[pool]
                chosen[pool] = entry
                break
        else:
            return None
    return tuple(chosen[index] for index in range(len(pools)))
