"""Which lots a cluster has, given those it had and what its pools were and shall be."""

from collections.abc import Iterable

from schemas.cluster import Placed, Resizing
from schemas.placement import Lot, Placement
from schemas.wish import Need, Pool


def kept_placement(state: Placed, wanted: Need) -> Placement:
    """The lots that remain, in their wanted size, without the pools that are no longer wanted."""
    names = {pool.name for pool in wanted.pools}
    kept = (lot for lot in state.attempt.placement.lots if lot.pool in names)
    return state.attempt.placement.but(lots=sized_lots(kept, state.wish.need, wanted))


def pools_without_lot(state: Placed, wanted: Need) -> tuple[Pool, ...]:
    """The wanted pools that have no lot yet."""
    there = {lot.pool for lot in state.attempt.placement.lots}
    return tuple(pool for pool in wanted.pools if pool.name not in there)


def sized_lots(lots: Iterable[Lot], had: Need, need: Need) -> tuple[Lot, ...]:
    """The same machines, in the number that each pool asks for now."""
    before, now = ({pool.name: pool for pool in each.pools} for each in (had, need))
    counts = ((lot, 0 if need.hibernate else _nodes(lot, before.get(lot.pool), now.get(lot.pool))) for lot in lots)
    bounded = ((_with_bounds(lot, now.get(lot.pool)), nodes) for lot, nodes in counts)
    return tuple(_with_nodes(lot, nodes) for lot, nodes in bounded)


def _with_nodes(lot: Lot, nodes: int) -> Lot:
    """The lot with this number of nodes; nodes that somebody else added are counted again after a change."""
    return lot if nodes == lot.nodes else lot.but(nodes=nodes, extra=0)


def as_ordered(lots: Iterable[Lot]) -> tuple[Lot, ...]:
    """The lots in the sizes that are ordered from the back end, without the changes of an autoscaler or of others."""
    return tuple(lot.but(nodes=lot.least, extra=0) for lot in lots)


def _with_bounds(lot: Lot, pool: Pool | None) -> Lot:
    """The lot with the pool's current bounds."""
    if lot.group is None or pool is None:
        return lot
    return lot.but(group=lot.group.but(least=pool.least, most=pool.most))


def _nodes(lot: Lot, had: Pool | None, pool: Pool | None) -> int:
    """A changed number counts once; after that, Pods set the number within its limits."""
    if had is None or pool is None or lot.group is not None:
        return lot.nodes
    if pool.elastic and lot.nodes and had.nodes == pool.nodes:
        return min(max(lot.nodes, pool.least), pool.most)
    return pool.nodes


def rolling_allowance(placement: Placement) -> tuple[int, int]:
    """One node of each pool that has several, and the accelerators of these nodes."""
    several = [lot for lot in placement.lots if lot.least > 1]
    return len(several), sum(lot.accelerators_per_node for lot in several)


def needs_more_machines(before: tuple[Lot, ...], lots: tuple[Lot, ...]) -> bool:
    """Whether `lots` need more machines than `before`, which the back end has accepted."""
    had = {lot.pool: lot.most for lot in before}
    return bool(before) and any(lot.most > had.get(lot.pool, 0) for lot in lots)


def need_before(need: Need, back: Resizing) -> Need:
    """The need that fits the lots before the change; without any machines, it hibernates."""
    had, nodes = back.pools or need.pools, {lot.pool: lot.least for lot in back.before}
    most = {lot.pool: lot.group.most for lot in back.before if lot.group}
    if not any(nodes.values()):
        return need.but(hibernate=True, pools=had)
    kept = {pool.name: pool.nodes for pool in had if pool.least <= nodes[pool.name] <= pool.most}
    sizes = ((pool, (nodes | kept)[pool.name], most.get(pool.name, pool.max_nodes)) for pool in had)
    pools = tuple(pool.but(nodes=size, max_nodes=limit) for pool, size, limit in sizes)
    return need.but(hibernate=False, pools=pools)
