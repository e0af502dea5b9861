"""The table of how a running cluster changes: its size, pools, version of Kubernetes, hibernation."""

from datetime import datetime
from typing import TypeVar

from schemas.changes import PoolPriced, PoolUnavailable, Resized, ResizeRefused, Rolling, Upgraded, UpgradeRefused
from schemas.cluster import Hibernated, Launching, Placed, Provisioned, Ready, UnmetDemand
from schemas.entity import Due
from schemas.inventory import ClusterSeen
from schemas.wish import Wish
from services.provisioning.lifecycle.autoscale import IDLE_PAUSE, on_due_ready
from services.provisioning.lifecycle.immutable import price_cap_refusal
from services.provisioning.lifecycle.launch import JOIN_LIMIT, is_current
from services.provisioning.lifecycle.lots import kept_placement, needs_more_machines
from services.provisioning.lifecycle.update import (
    apply_wish,
    finish_resize,
    follow_wish,
    full_wish,
    mark_late,
    on_resized,
    on_rolling,
    on_upgrade_refused,
    on_upgraded,
    undo_resize,
)
from services.runtime.machine import on

F = TypeVar("F", bound=Placed)


def on_wish(state: Provisioned | Ready, wish: Wish, now: datetime) -> Placed | Hibernated:
    """Follow the newest wish: resize, upgrade, or hibernate."""
    return _hibernate_if_wanted(follow_wish(state, wish, now))


def on_wish_hibernated(state: Hibernated, wish: Wish, now: datetime) -> Hibernated | Provisioned:
    """Follow the newest wish, and wake if it says so."""
    return _wake_if_wanted(follow_wish(state, wish, now), now)


def add_pools(state: F, bought: PoolPriced, now: datetime) -> F:
    """Add the lots that were found for the new pools, unless the whole cluster would now exceed its price cap."""
    if state.wanted is None or (bought.attempt, bought.need) != (state.attempt.number, state.wanted):
        return state
    kept = kept_placement(state, state.wanted)
    found = {lot.pool: lot for lot in (*kept.lots, *bought.lots)}
    lots = tuple(found[pool.name] for pool in state.wanted.pools)
    if state.wanted.hibernate:
        lots = tuple(lot.but(nodes=0) for lot in lots)
    placement = kept.but(lots=lots)
    if refused := price_cap_refusal(state.wanted, placement):
        return state.but(wanted=None, refused=refused)
    return apply_wish(state, full_wish(state), lots, now, refused=state.refused)


def on_pools_priced(state: Provisioned | Ready, bought: PoolPriced, now: datetime) -> Placed | Hibernated:
    """Add the pools; hibernate if the wish that asked for them says so as well."""
    return _hibernate_if_wanted(add_pools(state, bought, now))


def on_pools_priced_hibernated(state: Hibernated, bought: PoolPriced, now: datetime) -> Hibernated | Provisioned:
    """Add the pools without machines, or wake with them."""
    return _wake_if_wanted(add_pools(state, bought, now), now)


def on_pools_unavailable(state: F, refusal: PoolUnavailable) -> F:
    """Keep the cluster as it is, and say why its new pools cannot be added."""
    if state.wanted is None or (refusal.attempt, refusal.need) != (state.attempt.number, state.wanted):
        return state
    return state.but(wanted=None, refused=refusal.message)


def on_resize_refused(state: Provisioned | Ready, refusal: ResizeRefused, now: datetime) -> Placed | Hibernated:
    """Go back to the last size; a cluster that could not wake hibernates again.

    If pods asked for the size, they are ignored for a pause.
    """
    back, resizing = undo_resize(state, refusal, now), state.resizing
    if back is not state and isinstance(back, Ready) and resizing is not None and resizing.demanded:
        refused_growth = needs_more_machines(resizing.before, refusal.lots)
        ungrown = UnmetDemand(reason=refusal.reason, message=refusal.message) if refused_growth else None
        return back.but(scale_up_from=now + IDLE_PAUSE, unmet_demand=ungrown)
    return _hibernate_if_wanted(back)


def on_resize_refused_hibernated(state: Hibernated, refusal: ResizeRefused, now: datetime) -> Hibernated | Provisioned:
    """Go back to the last size; if the machines cannot be released, the cluster wakes."""
    return _wake_if_wanted(undo_resize(state, refusal, now), now)


def on_cluster_seen_hibernated(state: Hibernated, seen: ClusterSeen) -> Hibernated:
    """Finish the resize to zero nodes once none is left."""
    return finish_resize(state, seen) if is_current(state, seen) and seen.known else state


def _hibernate_if_wanted(state: Provisioned | Ready) -> Placed | Hibernated:
    return state.to(Hibernated) if state.wish.need.hibernate else state


def _wake_if_wanted(state: Hibernated, now: datetime) -> Hibernated | Provisioned:
    return state if state.wish.need.hibernate else state.to(Provisioned, deadline=now + JOIN_LIMIT)


CHANGES = (
    on(Launching, Wish, follow_wish),
    on((Provisioned, Ready), Wish, on_wish),
    on(Hibernated, Wish, on_wish_hibernated),
    on(Launching, PoolPriced, add_pools),
    on((Provisioned, Ready), PoolPriced, on_pools_priced),
    on(Hibernated, PoolPriced, on_pools_priced_hibernated),
    on((Launching, Provisioned, Ready, Hibernated), PoolUnavailable, on_pools_unavailable),
    on((Launching, Provisioned, Ready, Hibernated), Resized, on_resized),
    on(Launching, ResizeRefused, undo_resize),
    on((Provisioned, Ready), ResizeRefused, on_resize_refused),
    on(Hibernated, ResizeRefused, on_resize_refused_hibernated),
    on((Provisioned, Ready, Hibernated), Rolling, on_rolling),
    on((Provisioned, Ready, Hibernated), Upgraded, on_upgraded),
    on((Provisioned, Ready, Hibernated), UpgradeRefused, on_upgrade_refused),
    on(Ready, Due, on_due_ready),
    on(Hibernated, Due, mark_late),
    on(Hibernated, ClusterSeen, on_cluster_seen_hibernated),
)
"""The rows of a cluster's decision table that begin, follow or end a change of a cluster that has an attempt."""
