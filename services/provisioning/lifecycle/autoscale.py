"""How many nodes elastic pools shall have follows from the pods that found no node, and from how long nothing is used.

A pod of which the scheduler said that it fits nowhere lets a pool that it could use grow by the nodes such pods would
fill, less those within its reach that nothing is on. Which machine of a pool goes is the back end's choice, so none is
given back while any of it is in use: when nothing of a pool was used for `PAUSE`, it goes to the fewest it may have,
whatever the others do.
"""

from collections.abc import Collection, Mapping
from datetime import datetime, timedelta

import msgspec

from schemas.cluster import Ready
from schemas.entity import Due
from schemas.growth import Ungrown
from schemas.inventory import ClusterSeen
from schemas.placement import Lot
from schemas.wish import Need
from services.colony.accounting import by_pool, idle_since
from services.provisioning.lifecycle.bin_packing import Lots, grow_lots
from services.provisioning.lifecycle.resize import accepted_lots, begin_resize, mark_late, rebill

IDLE_PAUSE = timedelta(minutes=10)
"""From the last use to fewer nodes; from a refusal to asking for more again."""
IdlePools = Mapping[str, datetime]


def follow_pods(state: Ready, seen: ClusterSeen, now: datetime) -> Ready:
    """The size its pods ask for."""
    if not follows_pods(state):
        # On the way back from what was refused, that is still to be told.
        return state if state.resizing or not state.ungrown else msgspec.structs.replace(state, ungrown=None)
    need, lots = state.wish.need, state.attempt.placement.lots
    more = grow_lots(need, lots, seen)
    if more != lots and state.grows_from is None:
        return _resize(state, more, now)
    lulls = {name: since for name in _shrinkable(need, lots) if (since := idle_since(state, seen, name))}
    ungrown = _price_cap_reason(need, lots, seen) if more == lots else state.ungrown  # else it was refused, and waits
    return msgspec.structs.replace(state, lulls=lulls, shrinks_at=_shrink_time(state, lulls), ungrown=ungrown)


def _shrink_time(state: Ready, lulls: IdlePools) -> datetime | None:
    """Until when it keeps its nodes; one whose back end has just refused a size asks it for none before its time."""
    first = min(lulls.values(), default=None)
    return max(first + IDLE_PAUSE, state.grows_from or first) if first else None


def on_due_ready(state: Ready, due: Due, now: datetime) -> Ready:
    """It is time to tell that a change takes long, to have fewer nodes, or to follow its pods again."""
    if follows_pods(state) and state.shrinks_at is not None and now >= state.shrinks_at:
        need, lots = state.wish.need, state.attempt.placement.lots
        idle = [name for name, since in state.lulls.items() if now >= since + IDLE_PAUSE]
        return _resize(state, shrink_lots(lots, need, idle or _shrinkable(need, lots)), now)
    if state.grows_from is not None and now >= state.grows_from:
        return msgspec.structs.replace(state, grows_from=None)
    return mark_late(state, due, now)


def keep_size(state: Ready) -> Ready:
    """What may be in use without anyone knowing is not taken away."""
    return state if state.shrinks_at is None else msgspec.structs.replace(state, shrinks_at=None, lulls={})


def follows_pods(state: Ready) -> bool:
    """Whether its size is its pods' matter now: a change that a person asked for comes to its end first."""
    need = state.wish.need
    mine = any(pool.elastic for pool in need.pools) and not need.autoscaled and not state.wish.deleting
    return mine and (state.resizing is None or state.resizing.demanded)


def due_times(state: Ready) -> tuple[datetime, ...]:
    """When it is looked at again, the next first."""
    resizing = state.resizing
    late_at = None if resizing is None or resizing.late else resizing.until
    return tuple(sorted(at for at in (state.shrinks_at, state.grows_from, late_at) if at is not None))


def shrink_lots(lots: Lots, need: Need, idle: Collection[str]) -> Lots:
    """The lots when nothing of these pools is used."""
    least = {pool.name: pool.least for pool in need.pools if pool.elastic and pool.name in idle}
    return tuple(msgspec.structs.replace(lot, nodes=min(lot.nodes, least.get(lot.pool, lot.nodes))) for lot in lots)


def _shrinkable(need: Need, lots: Lots) -> tuple[str, ...]:
    """The pools that could have fewer nodes."""
    least = {pool.name: pool.least for pool in need.pools if pool.elastic}
    return tuple(lot.pool for lot in lots if lot.nodes > least.get(lot.pool, lot.nodes))


def _price_cap_reason(need: Need, lots: Lots, seen: ClusterSeen) -> Ungrown | None:
    """That only the price keeps it from growing; the same words however many pods wait."""
    wanted = grow_lots(msgspec.structs.replace(need, max_price_per_hour=None), lots, seen)
    short = next((lot for lot, more in zip(lots, wanted, strict=True) if more.nodes > lot.nodes), None)
    if short is None:
        return None
    price = sum(lot.nodes * lot.price_per_hour for lot in lots) + short.price_per_hour
    return Ungrown(
        reason="PriceCap",
        message=f"pods wait for pool {short.pool}: one more node of {short.instance} would make it {price:g} USD per "
        f"hour, more than maxPricePerHour {need.max_price_per_hour:g}",
    )


def _resize(state: Ready, lots: Lots, now: datetime) -> Ready:
    changed = begin_resize(state, lots, now, before=accepted_lots(state))
    resizing = msgspec.structs.replace(changed.resizing, demanded=True) if changed.resizing else None
    return msgspec.structs.replace(changed, resizing=resizing, shrinks_at=None, lulls={}, ungrown=None)


def rebill_counted(state: Ready, seen: ClusterSeen, now: datetime) -> Ready:
    """What is there is what it costs, never less than the fewest nodes it may have: those are being made again.

    One that is lent is had whole, and costs what was asked for of it.
    """
    lots = state.attempt.placement.lots
    there = by_pool(state, seen, [lot.pool for lot in lots])
    rolls = state.resizing is not None or state.upgrading is not None  # then a node may stand beside its successor
    fixed = rolls or state.lent
    counted = tuple(_counted(lot, there[lot.pool].nodes, fixed=fixed) if lot.pool in there else lot for lot in lots)
    return state if counted == lots else rebill(state, counted, now)


def _counted(lot: Lot, nodes: int, *, fixed: bool) -> Lot:
    if lot.group is not None:
        return msgspec.structs.replace(lot, nodes=max(nodes, lot.least))
    return lot if fixed else msgspec.structs.replace(lot, extra=max(nodes - lot.nodes, 0))
