"""The decision table of an add-on: from a state, on an event, to what is true next."""

from datetime import datetime, timedelta
from typing import TypeVar

import msgspec

from schemas.addon import (
    LIFECYCLE,
    AddonDiffers,
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
RETRY_AFTER = timedelta(minutes=5)
TELL_PROGRESS = timedelta(seconds=15)
"""How long what it waits for stays as it was told: pods become ready one after another."""
TELL_FIRST = timedelta(seconds=1)
"""How long nothing is told once all is written: what is ready at the first check has nothing to tell."""
LAST_CHECK = timedelta(minutes=1)
"""How long an overdue add-on may take to answer what it still waits for."""


def plan(_: None, wanted: AddonWanted, now: datetime) -> Planned | Applying:
    fields = msgspec.structs.asdict(wanted)
    planned = Planned(**fields)
    return _apply(planned, now) if planned.kubeconfig else planned


def on_wanted_withdrawn(state: Withdrawn, wanted: AddonWanted, now: datetime) -> Withdrawn | Planned | Applying:
    """Plan the add-on for another incarnation or if the Colony asks again, unless it ended with its cluster."""
    ended = wanted.uid == state.uid and wanted.digest == state.digest and not state.dropped
    if wanted.as_of < state.as_of or ended:
        return state
    return plan(None, wanted, now)


def on_wanted_planned(state: Planned, wanted: AddonWanted, now: datetime) -> Planned | Applying:
    known = _updated(state, wanted)
    return _apply(known, now) if known.kubeconfig else known


def on_wanted(state: A, wanted: AddonWanted, now: datetime) -> A | Applying:
    """Apply other contents, or the same to another cluster after the first was lost."""
    known = _updated(state, wanted)
    return state if known is state else _apply(known, now)


def on_wanted_applied(state: Applied, wanted: AddonWanted, now: datetime) -> Applied | Applying:
    """Apply other contents, unless it was to be applied once: then only what is known of it changes."""
    known = _updated(state, wanted)
    return known if wanted.once else on_wanted(state, wanted, now)


def on_settled(state: Applying, settled: AddonHealthy) -> Applying | Applied:
    return state.to(Applied, content=settled.content, message="") if settled.digest == state.digest else state


def on_failed(state: Applying, failed: AddonFailed, now: datetime) -> Applying | Degraded:
    if failed.digest != state.digest:
        return state
    return state.to(Degraded, message=failed.message, retry_at=now + RETRY_AFTER)


def on_differs(state: Applied, differs: AddonDiffers) -> Applied:
    """Keep what differs, which nobody corrects."""
    return state.but(message=differs.message) if differs.digest == state.digest else state


def on_missed(state: Applied | Degraded, missed: AddonLost, now: datetime) -> Applied | Degraded | Applying:
    """Apply it again, and say why."""
    if missed.digest != state.digest:
        return state
    return _apply(state, now).but(message=missed.message)


def on_awaits(state: Applying, awaits: AddonPending, now: datetime) -> Applying | Degraded:
    """Keep what it waits for; an overdue add-on is degraded for that reason."""
    if awaits.digest != state.digest:
        return state
    if state.overdue and not awaits.gated:
        return _degrade(state, awaits.message, now)
    quiet = TELL_FIRST if awaits.written and not state.message else TELL_PROGRESS
    if awaits.progress and (awaits.message == state.message or now - state.since < quiet):
        return state
    until = _until(state, now) if state.gated and not awaits.gated else state.until
    return state.but(message=awaits.message, gated=awaits.gated, until=until)


def on_awaits_withdrawing(state: Withdrawing, awaits: AddonPending) -> Withdrawing:
    """Keep what it waits for."""
    return state.but(message=awaits.message)


def on_due_applying(state: Applying, _: Due, now: datetime) -> Applying | Degraded:
    """Ask what it still waits for; without an answer it is degraded."""
    if now < state.until:
        return state
    if state.gated:
        return state.but(until=_until(state, now))
    if state.overdue:
        return _degrade(state, state.message, now)
    return state.but(overdue=True, until=now + LAST_CHECK)


def retry(state: Degraded, _: Due, now: datetime) -> Degraded | Applying:
    return _apply(state, now) if now >= state.retry_at else state


def on_unwanted_planned(state: Planned, unwanted: AddonUnwanted) -> Planned | Withdrawn:
    if _is_late(state, unwanted):
        return state
    return state.to(Withdrawn, dropped=unwanted.dropped, as_of=max(state.as_of, unwanted.as_of))


def withdraw(
    state: Applying | Applied | Degraded, unwanted: AddonUnwanted
) -> Applying | Applied | Degraded | Withdrawing | Withdrawn:
    """Withdraw the add-on; if its cluster is gone, there is nothing to delete."""
    if _is_late(state, unwanted):
        return state
    as_of = max(state.as_of, unwanted.as_of)
    if unwanted.lost:
        return state.to(Withdrawn, dropped=unwanted.dropped, message="", as_of=as_of)
    return state.to(
        Withdrawing, dropped=unwanted.dropped, stays=unwanted.stays, leave=unwanted.leave, message="", as_of=as_of
    )


def on_unwanted_withdrawing(state: Withdrawing, unwanted: AddonUnwanted) -> Withdrawing | Withdrawn:
    """End if the cluster is gone; a cluster that ends does not get the add-on again."""
    if _is_late(state, unwanted):
        return state
    if unwanted.lost:
        return state.to(Withdrawn)
    known = {
        "dropped": unwanted.dropped and state.dropped,
        "stays": unwanted.stays,
        "leave": unwanted.leave,
        "again": "",
    }
    return state.but(as_of=max(state.as_of, unwanted.as_of), **known)


def on_wanted_withdrawing(state: Withdrawing, wanted: AddonWanted) -> Withdrawing:
    """Apply it again once it is withdrawn, as the Colony asks for it again."""
    if not state.dropped or wanted.uid != state.uid or wanted.as_of <= state.as_of:
        return state
    kubeconfig = wanted.kubeconfig or state.kubeconfig
    return state.but(again=wanted.digest, sources=wanted.sources, kubeconfig=kubeconfig, as_of=wanted.as_of)


def on_removed(state: Withdrawing, removed: AddonRemoved, now: datetime) -> Applying | Withdrawn:
    if state.again:
        return state.to(Applying, digest=state.again, until=_until(state, now), message="")
    return state.to(Withdrawn, message=removed.left)


def _is_late(state: AddonState, unwanted: AddonUnwanted) -> bool:
    """Whether the event is of another incarnation, or of an older wish."""
    return unwanted.uid != state.uid or (unwanted.dropped and unwanted.as_of < state.as_of)


def _apply(state: AddonState, now: datetime) -> Applying:
    return state.to(Applying, until=_until(state, now), message="", overdue=False, gated=False)


def _until(state: AddonState, now: datetime) -> datetime:
    return now + timedelta(seconds=state.timeout_seconds)


def _degrade(state: Applying, why: str, now: datetime) -> Degraded:
    late = f"not healthy within {state.timeout_seconds / 60:.0f} minutes"
    return state.to(Degraded, message=f"{late}: {why}" if why else late, retry_at=now + RETRY_AFTER)


def _updated(state: A, wanted: AddonWanted) -> A:
    """The state with what is wanted now; the same object if that is not new."""
    kubeconfig = wanted.kubeconfig or state.kubeconfig
    new = {
        "digest": wanted.digest,
        "kubeconfig": kubeconfig,
        "after": wanted.after,
        "required": wanted.required,
        "timeout_seconds": wanted.timeout_seconds,
        "sources": wanted.sources,
        "once": wanted.once,
    }
    same = all(getattr(state, field) == value for field, value in new.items())
    if same or wanted.uid != state.uid or wanted.as_of < state.as_of:
        return state
    return state.but(as_of=wanted.as_of, **new)


decide = machine(
    LIFECYCLE,
    on(type(None), AddonWanted, plan),
    on(Withdrawn, AddonWanted, on_wanted_withdrawn),
    on(Planned, AddonWanted, on_wanted_planned),
    on(Applied, AddonWanted, on_wanted_applied),
    on(Degraded, AddonWanted, on_wanted),
    on(Applying, AddonWanted, on_wanted),
    on(Applying, AddonHealthy, on_settled),
    on((Applied, Degraded), AddonLost, on_missed),
    on(Applied, AddonDiffers, on_differs),
    on(Applying, AddonFailed, on_failed),
    on(Applying, AddonPending, on_awaits),
    on(Applying, Due, on_due_applying),
    on(Degraded, Due, retry),
    on(Planned, AddonUnwanted, on_unwanted_planned),
    on((Applying, Applied, Degraded), AddonUnwanted, withdraw),
    on(Withdrawing, AddonUnwanted, on_unwanted_withdrawing),
    on(Withdrawing, AddonWanted, on_wanted_withdrawing),
    on(Withdrawing, AddonPending, on_awaits_withdrawing),
    on(Withdrawing, AddonRemoved, on_removed),
)
