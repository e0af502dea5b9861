"""Updates a running cluster to its newest wish while it stays ready: its sizes and its version of Kubernetes.

Kubernetes is upgraded one minor version at a time.
"""

from datetime import datetime, timedelta
from typing import TypeVar

from schemas.changes import Resized, ResizeRefused, Rolling, Upgraded, UpgradeRefused
from schemas.cluster import Hibernated, Launching, Placed, Provisioned, Ready, Resizing, Upgrading
from schemas.entity import Due
from schemas.inventory import ClusterSeen
from schemas.placement import Lot
from schemas.wish import Need, Pool, Wish
from services.colony.accounting import cost, missing_from, missing_now
from services.kubernetes.version_skew import upgrade_refusal
from services.provisioning.lifecycle.immutable import possible_change
from services.provisioning.lifecycle.lots import (
    as_ordered,
    kept_placement,
    need_before,
    pools_without_lot,
    rolling_allowance,
)

F = TypeVar("F", bound=Placed)
R = TypeVar("R", Provisioned, Ready, Hibernated)
MACHINE_LIMIT = timedelta(minutes=15)
"""The time for each machine, including the control plane's; a slower upgrade goes on, and people are report."""


def version_refusal(state: Placed, wanted: Need) -> str:
    """Why the cluster cannot have the wanted version; empty if it can.

    An upgrade that has begun is not called back, as the back end may just have accepted it. Before there is an API,
    there is nothing to upgrade.
    """
    runs, version = state.wish.need.kubernetes_version, wanted.kubernetes_version
    goal = target_version(state)
    if version == goal or (version == runs and isinstance(state, Launching)):
        return ""
    return upgrade_refusal(runs, runs if isinstance(state, Launching) else goal, version)


def target_version(state: Placed) -> str:
    """The version that everything runs in the end."""
    return state.upgrading.version if state.upgrading else state.wish.need.kubernetes_version


def set_target_version(state: F, wanted: Need, now: datetime) -> F:
    """Begin the upgrade to the wanted version."""
    version = wanted.kubernetes_version
    if version == target_version(state):
        return state
    upgrading = None if version == state.wish.need.kubernetes_version else Upgrading(version=version, until=now)
    return begin_upgrade(state.but(upgrading=upgrading), now)


def begin_upgrade(state: F, now: datetime) -> F:
    """Start the time limit of the upgrade."""
    if state.upgrading is None:
        return state
    until = now + MACHINE_LIMIT * (1 + state.attempt.placement.nodes)
    return state.but(upgrading=state.upgrading.but(until=until))


def on_rolling(state: R, report: Rolling) -> R:
    """Keep the progress of the upgrade."""
    if not _is_current(state, report) or state.upgrading is None:
        return state
    return state.but(upgrading=state.upgrading.but(progress=report.message))


def on_upgraded(state: R, report: Upgraded) -> R:
    """End the upgrade: the wish, and the one for pools still to be bought, say the new version."""
    if not _is_current(state, report):
        return state
    wanted = state.wanted and state.wanted.but(kubernetes_version=report.version)
    return state.but(wish=with_version(state.wish, report.version), wanted=wanted, upgrading=None)


def on_upgrade_refused(state: R, report: UpgradeRefused) -> R:
    """End the upgrade and say why it was refused."""
    if not _is_current(state, report):
        return state
    return state.but(upgrading=None, refused=report.message)


def mark_upgrade_late(state: F, _: Due, now: datetime) -> F:
    """Mark an upgrade that has taken too long."""
    upgrading = state.upgrading
    if upgrading is None or upgrading.late or now < upgrading.until:
        return state
    return state.but(upgrading=upgrading.but(late=True))


def tolerated_shortfall(state: Placed) -> tuple[int, int]:
    """Nodes and accelerators that may be missing during an upgrade that is not late: one of each pool of several.

    Not every template creates the new machine before it removes the old one.
    """
    return (0, 0) if state.upgrading is None or state.upgrading.late else rolling_allowance(state.attempt.placement)


def ready_deadline(state: Placed, deadline: datetime) -> datetime:
    """The deadline to be complete again, extended while an upgrade replaces machines."""
    return deadline if state.upgrading is None else max(deadline, state.upgrading.until)


def with_version(wish: Wish, version: str) -> Wish:
    """The wish with another version."""
    return wish.but(need=wish.need.but(kubernetes_version=version))


def _is_current(state: Placed, report: Rolling | Upgraded | UpgradeRefused) -> bool:
    goal = state.upgrading.version if state.upgrading else ""
    return (report.attempt, report.version) == (state.attempt.number, goal)


def full_wish(state: Placed) -> Wish:
    """The wish with everything asked for, including pools that are still to be bought."""
    return state.wish.but(need=state.wanted or state.wish.need)


def relaunch_wish(state: Placed) -> Wish:
    """The wish to launch the cluster again with: everything asked for, in the target version."""
    return with_version(full_wish(state), target_version(state))


RESIZE_LIMIT = timedelta(minutes=30)
"""From a new size to the last of its nodes; a slower resize goes on, and people are report."""


def follow_wish(state: F, wish: Wish, now: datetime) -> F:
    """Follow the newest wish in what can change; the rest stays as it was launched.

    What cannot change is reported, and blocks nothing else.
    """
    if not wish.newer_than(state.wish):
        return state
    kept = wish.but(need=state.wish.need)
    if wish.deleting:
        return state.but(wish=kept, refused="", wanted=None)
    version = version_refusal(state, wish.need)
    same = with_version(wish, state.wish.need.kubernetes_version).need
    wanted, rest = possible_change(state.wish.need, same, lambda need: kept_placement(state, need))
    refused = "; ".join(filter(None, (version, rest)))
    state = state if version else set_target_version(state, wish.need, now)
    if pools_without_lot(state, wanted):
        return state.but(wish=kept, refused=refused, wanted=wanted)
    return apply_wish(state, wish.but(need=wanted), kept_placement(state, wanted).lots, now, refused=refused)


def apply_wish(state: F, wish: Wish, lots: tuple[Lot, ...], now: datetime, *, refused: str = "") -> F:
    """Give the cluster this wish and these lots; `refused` says which part of the wish is not possible."""
    known = state.but(wish=wish, refused=refused, wanted=None)
    # After a refusal nobody knows what the back end has: another replica may have ordered an older size meanwhile.
    if lots == state.attempt.placement.lots and not state.refused:
        return known
    had, has = (tuple(pool.name for pool in pools) for pools in (_accepted_pools(state), wish.need.pools))
    pools = _accepted_pools(state) if sorted(had) != sorted(has) else ()
    return begin_resize(known, lots, now, before=accepted_lots(state), pools=pools)


def on_resized(state: F, report: Resized, now: datetime) -> F:
    """Keep that the back end has accepted a size; if that is no longer the newest, it is ordered again."""
    if report.attempt != state.attempt.number:
        return state
    newest = as_ordered(report.lots) == as_ordered(state.attempt.placement.lots)
    resizing = state.resizing or (None if newest else _new_resizing(state, state.attempt.placement.lots, now))
    return state if resizing is None else _with_resizing(state, resizing.but(ordered=newest))


def undo_resize(state: F, report: ResizeRefused, now: datetime) -> F:
    """Go back to the size before; if that is refused as well, people have to decide."""
    resizing, lots = state.resizing, state.attempt.placement.lots
    newest = (report.attempt, as_ordered(report.lots)) == (state.attempt.number, as_ordered(lots))
    if resizing is None or resizing.ordered or not newest:
        return state
    refused = state.refused if resizing.demanded else report.message
    if not resizing.before or as_ordered(resizing.before) == as_ordered(lots):
        return state.but(resizing=None, refused=refused)
    need = need_before(state.wish.need, resizing)
    known = state.but(wish=state.wish.but(need=need), refused=refused)
    return begin_resize(known, resizing.before, now, before=())


def finish_resize(state: F, seen: ClusterSeen) -> F:
    """End the resize once the nodes that were asked for are there."""
    bought, resizing = state.attempt.placement, state.resizing
    reached = seen.nodes == bought.nodes and not any(missing_from(state, seen, bought.lots))
    if resizing is None or not resizing.ordered or not reached:
        return state
    return state.but(resizing=None)


def mark_resize_late(state: F, _: Due, now: datetime) -> F:
    """Mark a resize that has taken too long."""
    resizing = state.resizing
    if resizing is None or now < resizing.until:
        return state
    return state.but(resizing=resizing.but(late=True))


def mark_late(state: F, due: Due, now: datetime) -> F:
    """Mark a resize or an upgrade that has taken too long."""
    return mark_resize_late(mark_upgrade_late(state, due, now), due, now)


def is_complete(state: Placed, seen: ClusterSeen) -> bool:
    """Whether everything bought is there; during a change, whatever both the old and the new size have."""
    lacks, (nodes, accelerators) = missing_now(state, seen), tolerated_shortfall(state)
    return seen.known and lacks.nodes <= nodes and lacks.accelerators <= accelerators


def begin_resize(
    state: F, lots: tuple[Lot, ...], now: datetime, *, before: tuple[Lot, ...], pools: tuple[Pool, ...] = ()
) -> F:
    """Begin a resize to these lots: until now it is billed at the old price."""
    resizing = _new_resizing(state, lots, now).but(before=before, pools=pools)
    return _with_resizing(rebill(state, lots, now), resizing)


def rebill(state: F, lots: tuple[Lot, ...], now: datetime) -> F:
    """Bill these lots from now on."""
    placement = state.attempt.placement
    return state.but(
        attempt=state.attempt.but(placement=placement.but(lots=lots)),
        cost_usd=cost(state, placement, state.billed_since, now),
        billed_since=now,
    )


def _new_resizing(state: Placed, lots: tuple[Lot, ...], now: datetime) -> Resizing:
    """A resize with the number of nodes that is enough meanwhile: all of them, if it was never complete."""
    whole = state.resizing if _was_complete(state) else None
    had = (whole.least if whole else {}) or {lot.pool: lot.least for lot in state.attempt.placement.lots}
    least = {lot.pool: min(had.get(lot.pool, 0), lot.least) if _was_complete(state) else lot.least for lot in lots}
    nodes = sum(least.values())
    accelerators = sum(least[lot.pool] * lot.accelerators_per_node for lot in lots)
    if whole is not None and not whole.least:  # of an earlier release, which published one number for all pools
        nodes, accelerators, least = min(nodes, whole.nodes), min(accelerators, whole.accelerators), {}
    return Resizing(nodes=nodes, accelerators=accelerators, least=least, until=now + RESIZE_LIMIT)


def _was_complete(state: Placed) -> bool:
    return isinstance(state, Ready) or (isinstance(state, Provisioned) and state.was_ready)


def accepted_lots(state: Placed) -> tuple[Lot, ...]:
    """The lots that the back end accepted last."""
    return (waits.before if (waits := _unordered(state)) else ()) or state.attempt.placement.lots


def _accepted_pools(state: Placed) -> tuple[Pool, ...]:
    """The pools of the accepted lots."""
    return (waits.pools if (waits := _unordered(state)) else ()) or state.wish.need.pools


def _unordered(state: Placed) -> Resizing | None:
    return state.resizing if state.resizing is not None and not state.resizing.ordered else None


def _with_resizing(state: F, resizing: Resizing) -> F:
    return state.but(resizing=resizing)
