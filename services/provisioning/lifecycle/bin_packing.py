"""Pods that wait are put in thought on the nodes they could use: on free ones first, then on further ones."""

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field

import msgspec

from schemas.inventory import ClusterSeen, Demand
from schemas.placement import Lot
from schemas.wish import Need, Pool

Lots = tuple[Lot, ...]
CENTS = 6
"""Digits of a price that count: tenths shall add up."""


def grow_lots(need: Need, lots: Lots, seen: ClusterSeen) -> Lots:
    """The lots that hold what waits, too: never fewer nodes, never more than a pool may have or the cluster may cost.

    Pods that could use few pools are put before those that could use many, large ones before small ones; each counts
    for the first pool that can take it, in the order of the Colony. Asked again of what it gave, it gives the same.
    """
    more = _pack_once(need, lots, seen)
    while more != lots:  # with more nodes pods may be put otherwise
        lots, more = more, _pack_once(need, more, seen)
    return lots


def _pack_once(need: Need, lots: Lots, seen: ClusterSeen) -> Lots:
    """The same once, with what is on those lots now."""
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
    return tuple(msgspec.structs.replace(lot, nodes=nodes.get(lot.pool, lot.nodes)) for lot in lots)


@dataclass
class _PoolPacking:
    """One pool's nodes in thought."""

    pool: Pool
    price: float
    nodes: int
    used: int
    """Those that something is on."""
    rooms: list[int] = field(default_factory=list)
    """Accelerators that are left on each of the others."""

    def __post_init__(self) -> None:
        self.rooms = [self.pool.accelerators_per_node] * (self.nodes - self.used)

    @property
    def next(self) -> int:
        """How many nodes it has with one more: what is in use while it is given back counts."""
        return max(self.nodes, self.used) + 1

    @property
    def may_open(self) -> bool:
        return self.pool.elastic and self.next <= self.pool.most

    def open(self) -> None:
        self.nodes = self.next
        self.rooms.append(self.pool.accelerators_per_node)

    def put(self, pods: int, size: int) -> int:
        """Put pods where there is room; gives how many found none."""
        for at, room in enumerate(self.rooms):
            placed = min(pods, room // size)
            self.rooms[at], pods = room - placed * size, pods - placed
        return pods


def _packings(need: Need, lots: Lots, seen: ClusterSeen) -> list[_PoolPacking]:
    """In the order of the Colony. What is in use on nodes that do not tell their pool is on the first of its kind."""
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
    """Whether such pods could use its nodes, by their size and by what the nodes that are there tell."""
    if not (0 < each.accelerators <= pool.accelerators_per_node and each.model in ("", pool.accelerator)):
        return False
    if each.pools is None or pool.name in each.pools:
        return True
    # Nodes that do not tell our name for their pool may be of any whose own are not seen.
    return pool.name not in seen.pools and bool(set(each.pools) - {lot.pool for lot in lots})


def _affordable(filling: _PoolPacking, fillings: Iterable[_PoolPacking], cap: float | None) -> bool:
    price = sum(each.nodes * each.price for each in fillings) + (filling.next - filling.nodes) * filling.price
    return cap is None or round(price, CENTS) <= cap
