"""A cluster whose size others set, too, costs what is counted of it.

One that an autoscaler sizes is bought for its largest size; nodes that somebody adds by hand are paid and told.
"""

from datetime import datetime

import msgspec

from schemas.cluster import Ready
from schemas.inventory import ClusterSeen, Offer
from schemas.placement import Lot, NodeGroup
from schemas.wish import Need, Pool
from services.colony.shortfall import by_pool
from services.provisioning.lifecycle.resize import rebilled


def at_largest(need: Need) -> Need:
    """What such a cluster may come to: every pool as large as it may be."""
    if not need.autoscaled:
        return need
    pools = (msgspec.structs.replace(pool, nodes=pool.most, min_nodes=pool.least) for pool in need.pools)
    return msgspec.structs.replace(need, pools=tuple(pools))


def group(pool: Pool, offer: Offer) -> NodeGroup:
    """What an autoscaler is told of a pool on machines of this offer."""
    return NodeGroup(least=pool.least, most=pool.most, cpu=offer.cpu, memory_gib=offer.memory_gib)


def count(state: Ready, seen: ClusterSeen, now: datetime) -> Ready:
    """What is there is what it costs, never less than the fewest nodes it may have: those are being made again.

    One that is lent is had whole, and costs what was asked for of it.
    """
    lots = state.attempt.placement.lots
    there = by_pool(state, seen, [lot.pool for lot in lots])
    rolls = state.resizing is not None or state.upgrading is not None  # then a node may stand beside its successor
    fixed = rolls or state.lent
    counted = tuple(_counted(lot, there[lot.pool].nodes, fixed=fixed) if lot.pool in there else lot for lot in lots)
    return state if counted == lots else rebilled(state, counted, now)


def _counted(lot: Lot, nodes: int, *, fixed: bool) -> Lot:
    if lot.group is not None:
        return msgspec.structs.replace(lot, nodes=max(nodes, lot.least))
    return lot if fixed else msgspec.structs.replace(lot, extra=max(nodes - lot.nodes, 0))
