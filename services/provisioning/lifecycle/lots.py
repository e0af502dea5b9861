"""Which lots a cluster has follows from those it had, and from what its pools were and shall be."""

from collections.abc import Iterable

import msgspec

from schemas.cluster import Founded, Resizing
from schemas.placement import Lot, Placement
from schemas.wish import Need, Pool


def kept_placement(state: Founded, wanted: Need) -> Placement:
    """What it keeps, in the size that is wanted: pools that are not wanted any more are left out."""
    names = {pool.name for pool in wanted.pools}
    kept = (lot for lot in state.attempt.placement.lots if lot.pool in names)
    return msgspec.structs.replace(state.attempt.placement, lots=sized_lots(kept, state.wish.need, wanted))


def pools_without_lot(state: Founded, wanted: Need) -> tuple[Pool, ...]:
    """The pools that have no lot yet."""
    there = {lot.pool for lot in state.attempt.placement.lots}
    return tuple(pool for pool in wanted.pools if pool.name not in there)


def sized_lots(lots: Iterable[Lot], had: Need, need: Need) -> tuple[Lot, ...]:
    """The same machines, as many as each pool asks for now."""
    before, now = ({pool.name: pool for pool in each.pools} for each in (had, need))
    counts = ((lot, 0 if need.hibernate else _nodes(lot, before.get(lot.pool), now.get(lot.pool))) for lot in lots)
    bounded = ((_with_bounds(lot, now.get(lot.pool)), nodes) for lot, nodes in counts)
    return tuple(_with_nodes(lot, nodes) for lot, nodes in bounded)


def _with_nodes(lot: Lot, nodes: int) -> Lot:
    """What somebody added beside another number of nodes is counted anew."""
    return lot if nodes == lot.nodes else msgspec.structs.replace(lot, nodes=nodes, extra=0)


def as_ordered(lots: Iterable[Lot]) -> tuple[Lot, ...]:
    """What of them the back end is told: not what an autoscaler, or somebody else, has made of it."""
    return tuple(msgspec.structs.replace(lot, nodes=lot.least, extra=0) for lot in lots)


def _with_bounds(lot: Lot, pool: Pool | None) -> Lot:
    """The same with the bounds that are asked for now."""
    if lot.group is None or pool is None:
        return lot
    return msgspec.structs.replace(lot, group=msgspec.structs.replace(lot.group, least=pool.least, most=pool.most))


def _nodes(lot: Lot, had: Pool | None, pool: Pool | None) -> int:
    """What a person says counts when it is said; from then on, within its limits, what the pods ask for."""
    if had is None or pool is None or lot.group is not None:
        return lot.nodes
    if pool.elastic and lot.nodes and had.nodes == pool.nodes:
        return min(max(lot.nodes, pool.least), pool.most)
    return pool.nodes


def rolling_allowance(placement: Placement) -> tuple[int, int]:
    """One node of each pool of several, and their accelerators."""
    several = [lot for lot in placement.lots if lot.least > 1]
    return len(several), sum(lot.accelerators_per_node for lot in several)


def needs_more_machines(before: tuple[Lot, ...], lots: tuple[Lot, ...]) -> bool:
    """Whether the back end, which took the one, is asked for more machines by the other."""
    had = {lot.pool: lot.most for lot in before}
    return bool(before) and any(lot.most > had.get(lot.pool, 0) for lot in lots)


def need_before(need: Need, back: Resizing) -> Need:
    """What it is that had the lots before: where there were no machines at all, it hibernates."""
    had, nodes = back.pools or need.pools, {lot.pool: lot.least for lot in back.before}
    most = {lot.pool: lot.group.most for lot in back.before if lot.group}
    if not any(nodes.values()):
        return msgspec.structs.replace(need, hibernate=True, pools=had)
    kept = {pool.name: pool.nodes for pool in had if pool.least <= nodes[pool.name] <= pool.most}
    sizes = ((pool, (nodes | kept)[pool.name], most.get(pool.name, pool.max_nodes)) for pool in had)
    pools = tuple(msgspec.structs.replace(pool, nodes=size, max_nodes=limit) for pool, size, limit in sizes)
    return msgspec.structs.replace(need, hibernate=False, pools=pools)
