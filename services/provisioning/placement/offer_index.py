"""The market is kept sorted as its offers change, so that a request is answered by looking at the best alone."""

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from operator import itemgetter
from typing import NamedTuple

from schemas.inventory import Offer, Offers
from services.market.capacity import RegionKey


class PricedOffer(NamedTuple):
    """One way to buy an offer; entries of one place are sorted by price, then on demand first, then by name."""

    price: float
    spot: bool
    zone: str
    instance: str
    offer: Offer


OffersByRegion = Mapping[RegionKey, list[PricedOffer]]
"""Where one kind of machine is to be had."""


Combination = tuple[PricedOffer, ...]
"""One entry for each pool, in the order of the pools."""
FreeMachines = Callable[[PricedOffer], int | None]
"""How many machines of an entry are left; None: as many as one likes."""


class OfferIndex:
    """Every offer, by accelerator and how many of them, then by place, cheapest first."""

    def __init__(self) -> None:
        self.limited: set[RegionKey] = set()
        """Where at least one offer has a limit."""
        self._shelves: dict[tuple[str, int], dict[RegionKey, list[PricedOffer]]] = defaultdict(dict)
        self._kinds: dict[RegionKey, set[tuple[str, int]]] = {}
        self._control_planes: dict[RegionKey, float] = {}

    @property
    def clouds(self) -> frozenset[str]:
        """Every cloud that has said what it offers."""
        return frozenset(cloud for cloud, _ in self._kinds)

    @classmethod
    def of(cls, offers: Iterable[Offer]) -> "OfferIndex":
        """A market of these offers."""
        places: dict[RegionKey, list[Offer]] = defaultdict(list)
        for offer in offers:
            places[offer.cloud, offer.region].append(offer)
        market = cls()
        for place, held in places.items():
            market.replace(place, held)
        return market

    def hear(self, said: Offers) -> None:
        """A region's offers have changed."""
        self.replace((said.cloud, said.region), said.offers)
        self._control_planes[said.cloud, said.region] = said.control_plane_per_hour

    def replace(self, place: RegionKey, offers: Iterable[Offer]) -> None:
        """From now on, a place offers these and nothing else."""
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
        (self.limited.add if limited else self.limited.discard)(place)

    def shelf(self, accelerator: str, accelerators: int) -> OffersByRegion:
        """Where machines with so many of an accelerator are to be had."""
        return self._shelves.get((accelerator, accelerators), {})

    def control_plane(self, place: RegionKey) -> float:
        """USD per hour of a cluster's control plane there."""
        return self._control_planes.get(place, 0.0)

    def counts(self, accelerator: str) -> tuple[int, ...]:
        """How many of an accelerator single machines have, fewest first."""
        return tuple(sorted(held for kind, held in self._shelves if kind == accelerator and self._shelves[kind, held]))

    def offer(self, place: RegionKey, accelerator: str, accelerators: int, zone: str, instance: str) -> Offer | None:
        """One offer by its name."""
        entries = self.shelf(accelerator, accelerators).get(place, ())
        return next((entry.offer for entry in entries if (entry.zone, entry.instance) == (zone, instance)), None)


def _entries(offer: Offer) -> Iterable[PricedOffer]:
    yield PricedOffer(offer.price, False, offer.zone, offer.instance, offer)  # noqa: FBT003 - a tuple's place has no name
    if offer.spot_price is not None:
        yield PricedOffer(offer.spot_price, True, offer.zone, offer.instance, offer)  # noqa: FBT003 - same


def cheapest_first(pools: Sequence[Iterable[PricedOffer]]) -> Iterator[Combination]:
    """The cheapest of every pool together, then the second cheapest of each, and so on; a pool that has no more stays.

    Nothing is taken from a pool before it is asked for.
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
    """The same where machines are limited, and pools may compete for them; in no order.

    The pool with the fewest kinds to choose from chooses first, each the cheapest that still has room. So whatever
    the pools' order, the same comes out; it need not be the cheapest of all ways to share limited machines.
    """
    found = (_fill(pools, nodes, room, turn) for turn in range(max(map(len, pools))))
    return list(dict.fromkeys(combination for combination in found if combination is not None))


def _fill(
    pools: Sequence[Sequence[PricedOffer]], nodes: Sequence[int], room: FreeMachines, turn: int
) -> Combination | None:
    """Every pool's first entry from its `turn`-th on that has room, if there is one for each."""
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
