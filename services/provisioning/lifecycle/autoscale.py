"""The number of nodes of elastic pools follows the Pods that fit nowhere, and how long each pool has been idle.

A Pod that the scheduler reports as unschedulable lets a pool that could run it grow by the nodes such Pods would fill,
less the free nodes within their reach. The back end chooses which machine of a pool is removed, so a pool shrinks only
once nothing on it has been used for `IDLE_PAUSE`: then it goes to its minimum, whatever the other pools do.
"""

from collections.abc import Collection, Mapping
from datetime import datetime, timedelta

from schemas.cluster import Ready, UnmetDemand
from schemas.entity import Due
from schemas.inventory import ClusterSeen
from schemas.placement import Lot
from schemas.wish import Need
from services.colony.accounting import by_pool, idle_since
from services.provisioning.lifecycle.bin_packing import Lots, grow_lots
from services.provisioning.lifecycle.update import accepted_lots, begin_resize, mark_late, rebill

IDLE_PAUSE = timedelta(minutes=10)
"""From the last use of a pool to fewer nodes, and from a refused size to the next request for more."""
IdlePools = Mapping[str, datetime]


def follow_pods(state: Ready, seen: ClusterSeen, now: datetime) -> Ready:
    """Give the cluster the size that its Pods ask for."""
    if not follows_pods(state):
        # While it returns from a refused size, the refusal is still to be reported.
        return state if state.resizing or not state.unmet_demand else state.but(unmet_demand=None)
    need, lots = state.wish.need, state.attempt.placement.lots
    more = grow_lots(need, lots, seen)
    if more != lots and state.scale_up_from is None:
        return _resize(state, more, now)
    lulls = {name: since for name in _shrinkable(need, lots) if (since := idle_since(state, seen, name))}
    ungrown = (
        _price_cap_reason(need, lots, seen) if more == lots else state.unmet_demand
    )  # else it was refused, and waits
    return state.but(idle_pools=lulls, scale_down_at=_shrink_time(state, lulls), unmet_demand=ungrown)


def _shrink_time(state: Ready, lulls: IdlePools) -> datetime | None:
    """When it may shrink: after the pause, and not before a back end that has just refused a size is asked again."""
    first = min(lulls.values(), default=None)
    return max(first + IDLE_PAUSE, state.scale_up_from or first) if first else None


def on_due_ready(state: Ready, due: Due, now: datetime) -> Ready:
    """Mark a slow change as late, shrink idle pools, or follow the Pods again after a refused size."""
    if follows_pods(state) and state.scale_down_at is not None and now >= state.scale_down_at:
        need, lots = state.wish.need, state.attempt.placement.lots
        idle = [name for name, since in state.idle_pools.items() if now >= since + IDLE_PAUSE]
        return _resize(state, shrink_lots(lots, need, idle or _shrinkable(need, lots)), now)
    if state.scale_up_from is not None and now >= state.scale_up_from:
        return state.but(scale_up_from=None)
    return mark_late(state, due, now)


def keep_size(state: Ready) -> Ready:
    """Forget that pools are idle: while the cluster cannot be observed, its nodes may be in use."""
    return state if state.scale_down_at is None else state.but(scale_down_at=None, idle_pools={})


def follows_pods(state: Ready) -> bool:
    """Whether Pods set the size now: a change that a person asked for ends first."""
    need = state.wish.need
    mine = any(pool.elastic for pool in need.pools) and not need.autoscaled and not state.wish.deleting
    return mine and (state.resizing is None or state.resizing.demanded)


def due_times(state: Ready) -> tuple[datetime, ...]:
    """When the cluster has to be decided on again, the earliest time first."""
    resizing = state.resizing
    late_at = None if resizing is None or resizing.late else resizing.until
    return tuple(sorted(at for at in (state.scale_down_at, state.scale_up_from, late_at) if at is not None))


def shrink_lots(lots: Lots, need: Need, idle: Collection[str]) -> Lots:
    """The lots with the minimum of nodes for these idle pools."""
    least = {pool.name: pool.least for pool in need.pools if pool.elastic and pool.name in idle}
    return tuple(lot.but(nodes=min(lot.nodes, least.get(lot.pool, lot.nodes))) for lot in lots)


def _shrinkable(need: Need, lots: Lots) -> tuple[str, ...]:
    """The elastic pools that have more nodes than their minimum."""
    least = {pool.name: pool.least for pool in need.pools if pool.elastic}
    return tuple(lot.pool for lot in lots if lot.nodes > least.get(lot.pool, lot.nodes))


def _price_cap_reason(need: Need, lots: Lots, seen: ClusterSeen) -> UnmetDemand | None:
    """Why it does not grow, if the price cap alone prevents it; the same text however many Pods wait."""
    wanted = grow_lots(need.but(max_price_per_hour=None), lots, seen)
    short = next((lot for lot, more in zip(lots, wanted, strict=True) if more.nodes > lot.nodes), None)
    if short is None:
        return None
    price = sum(lot.nodes * lot.price_per_hour for lot in lots) + short.price_per_hour
    return UnmetDemand(
        reason="PriceCap",
        message=f"pods wait for pool {short.pool}: one more node of {short.instance} would make it {price:g} USD per "
        f"hour, more than maxPricePerHour {need.max_price_per_hour:g}",
    )


def _resize(state: Ready, lots: Lots, now: datetime) -> Ready:
    changed = begin_resize(state, lots, now, before=accepted_lots(state))
    resizing = changed.resizing.but(demanded=True) if changed.resizing else None
    return changed.but(resizing=resizing, scale_down_at=None, idle_pools={}, unmet_demand=None)


def rebill_counted(state: Ready, seen: ClusterSeen, now: datetime) -> Ready:
    """Bill the nodes that were counted, but at least the minimum of each pool: those are being replaced.

    A lent cluster is billed as asked for: others decide how many nodes it has.
    """
    lots = state.attempt.placement.lots
    there = by_pool(state, seen, [lot.pool for lot in lots])
    rolls = state.resizing is not None or state.upgrading is not None  # then a node may stand beside its successor
    fixed = rolls or state.lent
    counted = tuple(_counted(lot, there[lot.pool].nodes, fixed=fixed) if lot.pool in there else lot for lot in lots)
    return state if counted == lots else rebill(state, counted, now)


def _counted(lot: Lot, nodes: int, *, fixed: bool) -> Lot:
    if lot.group is not None:
        return lot.but(nodes=max(nodes, lot.least))
    return lot if fixed else lot.but(extra=max(nodes - lot.nodes, 0))
