"""Upgrades a running cluster's Kubernetes one minor version at a time while it stays ready."""

from datetime import datetime, timedelta
from typing import TypeVar

from schemas.changes import Rolling, Upgraded, UpgradeRefused
from schemas.cluster import Hibernated, Launching, Placed, Provisioned, Ready, Upgrading
from schemas.entity import Due
from schemas.wish import Need, Wish
from services.kubernetes.version_skew import upgrade_refusal
from services.provisioning.lifecycle.lots import rolling_allowance

F = TypeVar("F", bound=Placed)
R = TypeVar("R", Provisioned, Ready, Hibernated)
MACHINE_LIMIT = timedelta(minutes=15)
"""The time for each machine, including the control plane's; a slower upgrade goes on, and people are told."""


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


def on_rolling(state: R, told: Rolling) -> R:
    """Keep the progress of the upgrade."""
    if not _is_current(state, told) or state.upgrading is None:
        return state
    return state.but(upgrading=state.upgrading.but(progress=told.message))


def on_upgraded(state: R, told: Upgraded) -> R:
    """End the upgrade: the wish, and the one for pools still to be bought, say the new version."""
    if not _is_current(state, told):
        return state
    wanted = state.wanted and state.wanted.but(kubernetes_version=told.version)
    return state.but(wish=with_version(state.wish, told.version), wanted=wanted, upgrading=None)


def on_upgrade_refused(state: R, told: UpgradeRefused) -> R:
    """End the upgrade and say why it was refused."""
    if not _is_current(state, told):
        return state
    return state.but(upgrading=None, refused=told.message)


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


def _is_current(state: Placed, told: Rolling | Upgraded | UpgradeRefused) -> bool:
    goal = state.upgrading.version if state.upgrading else ""
    return (told.attempt, told.version) == (state.attempt.number, goal)


def full_wish(state: Placed) -> Wish:
    """The wish with everything asked for, including pools that are still to be bought."""
    return state.wish.but(need=state.wanted or state.wish.need)


def relaunch_wish(state: Placed) -> Wish:
    """The wish to launch the cluster again with: everything asked for, in the target version."""
    return with_version(full_wish(state), target_version(state))
