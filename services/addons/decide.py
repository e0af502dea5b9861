"""What is true of an add-on next."""

from datetime import datetime, timedelta
from typing import TypeVar

import msgspec

from schemas.addon import (
    LIFECYCLE,
    AddonFailed,
    AddonHealthy,
    AddonLost,
    AddonPending,
    AddonRemoved,
    AddonState,
    AddonUnwanted,
    AddonWanted,
    Applied,
    Applying,
    Degraded,
    Planned,
    Withdrawing,
    Withdrawn,
)
from schemas.entity import Due
from services.runtime.machine import machine, on

A = TypeVar("A", bound=AddonState)
HEALTHY_WITHIN = timedelta(minutes=10)
RETRY_AFTER = timedelta(minutes=5)
LAST_LOOK = timedelta(minutes=1)
"""How long an answer may take that says what it still waits for."""


def plan(_: None, wanted: AddonWanted, now: datetime) -> Planned | Applying:
    fields = msgspec.structs.asdict(wanted)
    planned = Planned(**fields)
    return _apply(planned, now) if planned.kubeconfig else planned


def plan_again(state: Withdrawn, wanted: AddonWanted, now: datetime) -> Withdrawn | Planned | Applying:
    """Another incarnation of the cluster has it, or the Colony asks for it again; not what ends with its cluster."""
    ended = wanted.uid == state.uid and wanted.digest == state.digest and not state.dropped
    if wanted.as_of < state.as_of or ended:
        return state
    return plan(None, wanted, now)


def begin(state: Planned, wanted: AddonWanted, now: datetime) -> Planned | Applying:
    known = _known(state, wanted)
    return _apply(known, now) if known.kubeconfig else known


def change(state: A, wanted: AddonWanted, now: datetime) -> A | Applying:
    """Other contents, or another cluster for the same contents: its first one was lost."""
    known = _known(state, wanted)
    return state if known is state else _apply(known, now)


def settle(state: Applying, settled: AddonHealthy) -> Applying | Applied:
    return state.to(Applied) if settled.digest == state.digest else state


def fail(state: Applying, failed: AddonFailed, now: datetime) -> Applying | Degraded:
    if failed.digest != state.digest:
        return state
    return state.to(Degraded, message=failed.message, retry_at=now + RETRY_AFTER)


def put_back(state: Applied, missed: AddonLost, now: datetime) -> Applied | Applying:
    """It is not as it was applied: that is told, and it is applied again."""
    if missed.digest != state.digest:
        return state
    return _apply(state, now).but(message=missed.message)


def tell(state: Applying, awaits: AddonPending, now: datetime) -> Applying | Degraded:
    """What it lacks is told while it is waited for; once it is overdue, that is why it is degraded."""
    if awaits.digest != state.digest:
        return state
    if state.overdue:
        return _degrade(state, awaits.message, now)
    return state.but(message=awaits.message)


def look_again(state: Applying, _: Due, now: datetime) -> Applying | Degraded:
    """It is asked what it still waits for; where no answer comes, it is degraded for what was told last."""
    if now < state.until:
        return state
    if state.overdue:
        return _degrade(state, state.message, now)
    return state.but(overdue=True, until=now + LAST_LOOK)


def retry(state: Degraded, _: Due, now: datetime) -> Degraded | Applying:
    return _apply(state, now) if now >= state.retry_at else state


def skip(state: Planned, unwanted: AddonUnwanted) -> Planned | Withdrawn:
    if _late(state, unwanted):
        return state
    return state.to(Withdrawn, dropped=unwanted.dropped, as_of=max(state.as_of, unwanted.as_of))


def withdraw(
    state: Applying | Applied | Degraded, unwanted: AddonUnwanted
) -> Applying | Applied | Degraded | Withdrawing | Withdrawn:
    """Where there is no cluster any more, there is nothing to take away."""
    if _late(state, unwanted):
        return state
    as_of = max(state.as_of, unwanted.as_of)
    if unwanted.lost:
        return state.to(Withdrawn, dropped=unwanted.dropped, message="", as_of=as_of)
    return state.to(Withdrawing, dropped=unwanted.dropped, stays=unwanted.stays, as_of=as_of)


def abandon(state: Withdrawing, unwanted: AddonUnwanted) -> Withdrawing | Withdrawn:
    """The cluster is gone, or it ends: then nobody asks for it again."""
    if _late(state, unwanted):
        return state
    if unwanted.lost:
        return state.to(Withdrawn)
    known = {"dropped": unwanted.dropped and state.dropped, "stays": unwanted.stays, "again": ""}
    return state.but(as_of=max(state.as_of, unwanted.as_of), **known)


def remember(state: Withdrawing, wanted: AddonWanted) -> Withdrawing:
    """The Colony asks for it again: it is put on once it is off."""
    if not state.dropped or wanted.uid != state.uid or wanted.as_of <= state.as_of:
        return state
    kubeconfig = wanted.kubeconfig or state.kubeconfig
    return state.but(again=wanted.digest, kubeconfig=kubeconfig, as_of=wanted.as_of)


def finish(state: Withdrawing, removed: AddonRemoved, now: datetime) -> Applying | Withdrawn:
    if state.again:
        return state.to(Applying, digest=state.again, until=now + HEALTHY_WITHIN)
    return state.to(Withdrawn, message=removed.left)


def _late(state: AddonState, unwanted: AddonUnwanted) -> bool:
    """Whether it is of another incarnation, or of an older wish than what is followed."""
    return unwanted.uid != state.uid or (unwanted.dropped and unwanted.as_of < state.as_of)


def _apply(state: AddonState, now: datetime) -> Applying:
    return state.to(Applying, until=now + HEALTHY_WITHIN, message="", overdue=False)


def _degrade(state: Applying, why: str, now: datetime) -> Degraded:
    late = f"not healthy within {HEALTHY_WITHIN.total_seconds() / 60:.0f} minutes"
    return state.to(Degraded, message=f"{late}: {why}" if why else late, retry_at=now + RETRY_AFTER)


def _known(state: A, wanted: AddonWanted) -> A:
    """What is wanted now; the very same state if that is nothing new, or late, or of another incarnation."""
    kubeconfig = wanted.kubeconfig or state.kubeconfig
    same = (wanted.digest, kubeconfig) == (state.digest, state.kubeconfig)
    if same or wanted.uid != state.uid or wanted.as_of < state.as_of:
        return state
    return state.but(digest=wanted.digest, kubeconfig=kubeconfig, as_of=wanted.as_of)


decide = machine(
    LIFECYCLE,
    on(type(None), AddonWanted, plan),
    on(Withdrawn, AddonWanted, plan_again),
    on(Planned, AddonWanted, begin),
    on((Applied, Degraded), AddonWanted, change),
    on(Applying, AddonWanted, change),
    on(Applying, AddonHealthy, settle),
    on(Applied, AddonLost, put_back),
    on(Applying, AddonFailed, fail),
    on(Applying, AddonPending, tell),
    on(Applying, Due, look_again),
    on(Degraded, Due, retry),
    on(Planned, AddonUnwanted, skip),
    on((Applying, Applied, Degraded), AddonUnwanted, withdraw),
    on(Withdrawing, AddonUnwanted, abandon),
    on(Withdrawing, AddonWanted, remember),
    on(Withdrawing, AddonRemoved, finish),
)
