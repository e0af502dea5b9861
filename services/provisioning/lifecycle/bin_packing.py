"""Packs pending Pods onto the nodes they could use: free nodes first, then additional ones."""

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field

from schemas.inventory import ClusterSeen, Demand
from schemas.placement import Lot
from schemas.wish import Need, Pool

Lots = tuple[Lot, ...]
CENTS = 6
"""Digits of a price that are compared, so that tenths add up."""


def grow_lots(need: Need, lots: Lots, seen: ClusterSeen) -> Lots:
    """The lots that have room for pending Pods: never fewer nodes, never above a pool's maximum or the price cap.

    Pods that could use few pools are packed before those that could use many, large ones before small ones; each goes
    to the first pool of the Colony that can take it. Applied to its own result, it returns the same lots.
    """
    more = _pack_once(need, lots, seen)
    while more != lots:  # with more nodes pods may be put otherwise
        lots, more = more, _pack_once(need, more, seen)
    return lots


def _pack_once(need: Need, lots: Lots, seen: ClusterSeen) -> Lots:
    """The lots after one pass, which starts from what runs on them now."""
    fillings, cap = _packings(need, lots, seen), need.max_price_per_hour
    within = [([each for each in fillings if _fits(each.pool, one, lots, seen)], one) for one in seen.demand]
    for usable, one in sorted(within, key=lambda pair: (len(pair[0]), -pair[1].accelerators)):
        left = one.pods
        for filling in usable:
            left = filling.put(left, one.accelerators)
        for filling in usable:
            while left and filling.may_open and _affordable(filling, fillings, cap):
                filling.open()
                left = filling.put(left, one.accelerators)
    nodes = {filling.pool.name: filling.nodes for filling in fillings}
    return tuple(lot.but(nodes=nodes.get(lot.pool, lot.nodes)) for lot in lots)


@dataclass
class _PoolPacking:
    """One pool's nodes while Pods are packed onto them."""

    pool: Pool
    price: float
    nodes: int
    used: int
    """Nodes that something runs on."""
    rooms: list[int] = field(default_factory=list)
    """Free accelerators on each of the other nodes."""

    def __post_init__(self) -> None:
        self.rooms = [self.pool.accelerators_per_node] * (self.nodes - self.used)

    @property
    def next(self) -> int:
        """The number of nodes after adding one; nodes that are in use while they are being removed count."""
        return max(self.nodes, self.used) + 1

    @property
    def may_open(self) -> bool:
        return self.pool.elastic and self.next <= self.pool.most

    def open(self) -> None:
        self.nodes = self.next
        self.rooms.append(self.pool.accelerators_per_node)

    def put(self, pods: int, size: int) -> int:
        """Place Pods of one size where there is room; returns how many found none."""
        for at, room in enumerate(self.rooms):
            placed = min(pods, room // size)
            self.rooms[at], pods = room - placed * size, pods - placed
        return pods


def _packings(need: Need, lots: Lots, seen: ClusterSeen) -> list[_PoolPacking]:
    """One per pool, in the Colony's order. Use on nodes of an unknown pool counts for the first pool of its model."""
    named, untold = {lot.pool: lot for lot in lots}, Counter(seen.used)
    used = {name: seen.pools[name].used if name in seen.pools else 0 for name in named}
    for name, lot in named.items():
        untold[lot.accelerator] -= used[name]
    found: list[_PoolPacking] = []
    for pool in need.pools:
        if pool.name in named:
            lot = named[pool.name]
            more = min(max(untold[lot.accelerator], 0), max(lot.nodes - used[pool.name], 0))
            untold[lot.accelerator] -= more
            found.append(_PoolPacking(pool, lot.price_per_hour, lot.nodes, used[pool.name] + more))
    for filling in found:
        if filling.pool.elastic:  # what is being given back, and is in use again
            filling.used += max(untold.pop(filling.pool.accelerator, 0), 0)
    return found


def _fits(pool: Pool, each: Demand, lots: Lots, seen: ClusterSeen) -> bool:
    """Whether such Pods could run on the pool's nodes, by their size and by the labels of the nodes that were seen."""
    if not (0 < each.accelerators <= pool.accelerators_per_node and each.model in ("", pool.accelerator)):
        return False
    if each.pools is None or pool.name in each.pools:
        return True
    # Nodes that do not tell our name for their pool may be of any whose own are not seen.
    return pool.name not in seen.pools and bool(set(each.pools) - {lot.pool for lot in lots})


def _affordable(filling: _PoolPacking, fillings: Iterable[_PoolPacking], cap: float | None) -> bool:
    price = sum(each.nodes * each.price for each in fillings) + (filling.next - filling.nodes) * filling.price
    return cap is None or round(price, CENTS) <= cap
