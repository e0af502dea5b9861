"""What a placement can choose from: the market's offers, and what other clusters have of them already."""

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from operator import itemgetter
from typing import NamedTuple

from schemas.attempts import MarketChanged
from schemas.cluster import ClusterState, Placed, Placing, Released, Releasing, Waiting
from schemas.entity import State
from schemas.inventory import Offer, Offers
from schemas.placement import Attempt
from schemas.subjects import Key
from services.market.capacity import RegionKey
from services.provisioning.placement.cooldowns import cooldown, still_counts


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
    """Every offer, by accelerator and their number, then by region, cheapest first.

    It is sorted as offers change, so that a request looks at the best ones only.
    """

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


MachineKey = tuple[str, str, str, str]
"""Cloud, region, zone, instance type."""


def held_attempt(state: State) -> Attempt | None:
    """The attempt whose machines a cluster has, or may have."""
    return state.attempt if isinstance(state, Placing | Placed | Releasing) else None


def machines_of(attempt: Attempt) -> Counter[MachineKey]:
    """The number of machines of each kind that an attempt takes, or may take at any moment."""
    taken: Counter[MachineKey] = Counter()
    for lot in attempt.placement.lots:
        taken[attempt.placement.cloud, attempt.placement.region, lot.zone, lot.instance] += lot.most
    return taken


def total_machines(attempts: Iterable[Attempt]) -> Counter[MachineKey]:
    """The number of machines of each kind that these attempts take together."""
    taken: Counter[MachineKey] = Counter()
    for attempt in attempts:
        taken.update(machines_of(attempt))
    return taken


def exceeded(limits: Mapping[MachineKey, int], taken: Mapping[MachineKey, int]) -> MachineKey | None:
    """A kind of machine of which more are taken than exist; None if there is none."""
    return next((stock for stock, limit in limits.items() if taken.get(stock, 0) > limit), None)


class Reservation(NamedTuple):
    """One incarnation of a cluster, and its attempt."""

    uid: str
    attempt: Attempt


class Reservations:
    """The machines that other clusters have, updated with every state.

    A reservation is a cluster that has an attempt: from the publish of Launching until the attempt is released, by Gone
    or by the limit on a launch that failed. These states are on the bus already, survive every restart, and end by
    themselves; a ledger beside them would be a second truth. They cannot refuse a second publish: two clusters may
    choose the last machines at the same moment. So a cluster that has chosen limited machines looks again before it
    buys, once its own choice has come back: in the order of the stream, earlier choices count first, and one that does
    not fit beside all earlier ones goes elsewhere. Of those that were let through, the last one saw all others.
    """

    def __init__(self) -> None:
        self.taken: Counter[MachineKey] = Counter()
        """The number of machines of each kind that all clusters have together; read-only."""
        self._holders: dict[Key, Reservation] = {}
        self._of: dict[MachineKey, dict[Key, Reservation]] = {}

    def note(self, key: Key, state: State) -> None:
        """Take a cluster's newest state into account."""
        self.drop(key)
        attempt = held_attempt(state)
        if attempt is not None:
            self._holders[key] = holder = Reservation(state.uid, attempt)
            self.taken.update(machines_of(attempt))
            for stock in machines_of(attempt):
                self._of.setdefault(stock, {})[key] = holder

    def drop(self, key: Key) -> None:
        """Forget a cluster."""
        before = self._holders.pop(key, None)
        if before is not None:
            self.taken.subtract(machines_of(before.attempt))
            for stock in machines_of(before.attempt):
                del self._of[stock][key]

    def taken_by_others(self, key: Key | None) -> Counter[MachineKey]:
        """The number of machines of each kind that all clusters but one have now."""
        rest, own = self.taken.copy(), self._holders.get(key) if key is not None else None
        if own is not None:
            rest.subtract(machines_of(own.attempt))
        return rest

    def holding(self, stocks: Iterable[MachineKey]) -> dict[Key, Reservation]:
        """The clusters that have any of these machines."""
        return {key: holder for stock in stocks for key, holder in self._of.get(stock, {}).items()}


class TenantSignals:
    """Updated with every state, so that a query does not depend on the number of clusters."""

    def __init__(self) -> None:
        self._waiting: dict[Key, frozenset[str]] = {}
        """The accelerators that each waiting cluster needs."""
        self._refused: dict[str, dict[Key, tuple[Attempt, ...]]] = {}
        """By tenant: the attempts whose credentials were refused."""

    def note(self, key: Key, state: State) -> None:
        """Take a cluster's newest state into account."""
        self.drop(key)
        if isinstance(state, Waiting):
            self._waiting[key] = frozenset(pool.accelerator for pool in state.wish.need.pools)
        if refused := tuple(attempt for attempt in _failed_attempts(state) if cooldown(attempt.reason).shared):
            self._refused.setdefault(key.tenant, {})[key] = refused

    def drop(self, key: Key) -> None:
        """Forget a cluster."""
        self._waiting.pop(key, None)
        refused = self._refused.get(key.tenant, {})
        if refused.pop(key, None) and not refused:
            del self._refused[key.tenant]

    def denied(self, key: Key, now: datetime) -> frozenset[str]:
        """The clouds that recently refused the tenant's credential to its other clusters."""
        refused = self._refused.get(key.tenant, {})
        return frozenset(
            attempt.placement.cloud
            for other, attempts in refused.items()
            for attempt in attempts
            if other != key and still_counts(attempt, now)
        )

    def market_moved(self, accelerators: Iterable[str]) -> Iterator[tuple[Key, MarketChanged]]:
        """An event for each waiting cluster that needs one of these newly offered accelerators."""
        there = frozenset(accelerators)
        return ((key, MarketChanged()) for key, wanted in tuple(self._waiting.items()) if wanted & there)

    def machines_released(self, state: Released) -> Iterator[tuple[Key, MarketChanged]]:
        """An event for each waiting cluster that could use the machines of a released one."""
        return self.market_moved(pool.accelerator for pool in state.wish.need.pools)


def _failed_attempts(state: State) -> tuple[Attempt, ...]:
    if not isinstance(state, ClusterState) or isinstance(state, Released):
        return ()
    current = state.attempt if isinstance(state, Placing) else None
    return (*state.failed_attempts, current) if current is not None else state.failed_attempts
