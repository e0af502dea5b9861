"""A cluster that runs gets another version of Kubernetes, one minor version up at a time, and stays ready meanwhile."""

from datetime import datetime, timedelta
from typing import TypeVar

import msgspec

from schemas.cluster import Founded, Hibernated, Launching, Provisioned, Ready, Upgrading
from schemas.entity import Due
from schemas.upgrade import Rolling, Upgraded, UpgradeRefused
from schemas.wish import Need, Wish
from services.kubernetes.version_skew import skips
from services.provisioning.lifecycle.lots import rolling_allowance

F = TypeVar("F", bound=Founded)
R = TypeVar("R", Provisioned, Ready, Hibernated)
MACHINE_LIMIT = timedelta(minutes=15)
"""What each machine may take, the control plane's among them; what takes longer goes on, and people are told."""


def version_refusal(state: Founded, wanted: Need) -> str:
    """Why it cannot get the version that is wanted; empty if it can.

    What is on its way is not called back: the back end may have taken it a moment ago. Before there is an API to
    upgrade, nothing is.
    """
    runs, version = state.wish.need.kubernetes_version, wanted.kubernetes_version
    goal = target_version(state)
    if version == goal or (version == runs and isinstance(state, Launching)):
        return ""
    return skips(runs, runs if isinstance(state, Launching) else goal, version)


def target_version(state: Founded) -> str:
    """The version that all of it has in the end."""
    return state.upgrading.version if state.upgrading else state.wish.need.kubernetes_version


def set_target_version(state: F, wanted: Need, now: datetime) -> F:
    """From now on it gets the version that is wanted."""
    version = wanted.kubernetes_version
    if version == target_version(state):
        return state
    upgrading = None if version == state.wish.need.kubernetes_version else Upgrading(version=version, until=now)
    return begin_upgrade(msgspec.structs.replace(state, upgrading=upgrading), now)


def begin_upgrade(state: F, now: datetime) -> F:
    """Its time runs from here."""
    if state.upgrading is None:
        return state
    until = now + MACHINE_LIMIT * (1 + state.attempt.placement.nodes)
    return msgspec.structs.replace(state, upgrading=msgspec.structs.replace(state.upgrading, until=until))


def on_rolling(state: R, told: Rolling) -> R:
    if not _is_current(state, told) or state.upgrading is None:
        return state
    return msgspec.structs.replace(state, upgrading=msgspec.structs.replace(state.upgrading, progress=told.message))


def on_upgraded(state: R, told: Upgraded) -> R:
    """All of it runs the version: so its wish says, and whatever is still to be bought for it."""
    if not _is_current(state, told):
        return state
    wanted = state.wanted and msgspec.structs.replace(state.wanted, kubernetes_version=told.version)
    return msgspec.structs.replace(state, wish=with_version(state.wish, told.version), wanted=wanted, upgrading=None)


def on_upgrade_refused(state: R, told: UpgradeRefused) -> R:
    """It goes on as it is."""
    if not _is_current(state, told):
        return state
    return msgspec.structs.replace(state, upgrading=None, refused=told.message)


def mark_upgrade_late(state: F, _: Due, now: datetime) -> F:
    upgrading = state.upgrading
    if upgrading is None or upgrading.late or now < upgrading.until:
        return state
    return msgspec.structs.replace(state, upgrading=msgspec.structs.replace(upgrading, late=True))


def tolerated_shortfall(state: Founded) -> tuple[int, int]:
    """How many nodes and accelerators may be away for a while: as long as it is not late, one of each pool of several.

    Not every template has its pools make the new machine before the old one goes.
    """
    return (0, 0) if state.upgrading is None or state.upgrading.late else rolling_allowance(state.attempt.placement)


def ready_deadline(state: Founded, deadline: datetime) -> datetime:
    """The deadline by which it is whole again, or one that leaves its machines time to be replaced."""
    return deadline if state.upgrading is None else max(deadline, state.upgrading.until)


def with_version(wish: Wish, version: str) -> Wish:
    """The same with another version."""
    return msgspec.structs.replace(wish, need=msgspec.structs.replace(wish.need, kubernetes_version=version))


def _is_current(state: Founded, told: Rolling | Upgraded | UpgradeRefused) -> bool:
    goal = state.upgrading.version if state.upgrading else ""
    return (told.attempt, told.version) == (state.attempt.number, goal)


def full_wish(state: Founded) -> Wish:
    """All that is asked of it, whether it can become that or not yet."""
    return msgspec.structs.replace(state.wish, need=state.wanted or state.wish.need)


def relaunch_wish(state: Founded) -> Wish:
    """The same, in the version that it gets: what it would be founded as anew."""
    return with_version(full_wish(state), target_version(state))
