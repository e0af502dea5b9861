"""What is true of a cluster's end next."""

from datetime import datetime, timedelta
from typing import TypeVar

import msgspec

from schemas.addon import Withdrawn
from schemas.cluster import LIFECYCLE as CLUSTER
from schemas.cluster import ClusterState, Ready, Released
from schemas.entity import Due
from schemas.inventory import ClusterSeen
from schemas.teardown import (
    LIFECYCLE,
    Armed,
    Audited,
    Cleaning,
    Drained,
    Draining,
    Ending,
    Gone,
    Releasing,
    Stuck,
    Swept,
    TeardownState,
    Verifying,
    Warned,
)
from services.machine import machine, on

STEP_LIMIT = timedelta(minutes=15)
"""How long a step may take before people are told."""
RETRY_AFTER = timedelta(minutes=10)
"""How long a stuck teardown rests before it tries again."""

W = TypeVar("W", Armed, Warned)
E = TypeVar("E", bound=TeardownState)
LIVING = tuple(kind for kind in CLUSTER.states if kind not in CLUSTER.terminal)
"""Every state of a cluster but the last."""


def arm(_: None, cluster: ClusterState, now: datetime) -> Armed | Draining:
    return follow(_fresh(cluster), cluster, now)


def arm_again(state: Gone, cluster: ClusterState, now: datetime) -> Gone | Armed | Draining:
    """A cluster of the same name is founded anew."""
    return state if _late(state, cluster) else arm(None, cluster, now)


def verify_unfounded(_: None, cluster: Released, now: datetime) -> Verifying:
    """It was deleted before anything was made; that nothing is left is looked at all the same."""
    return _fresh(cluster).to(Verifying, why=cluster.because, deadline=now + STEP_LIMIT)


def verify_unfounded_again(state: Gone, cluster: Released, now: datetime) -> Gone | Verifying:
    return heed(state, cluster) if _late(state, cluster) else verify_unfounded(None, cluster, now)


def heed(state: E, cluster: Released) -> E:
    """What has ended, and is asked for no more: then its proof need not be kept for the next founding."""
    if cluster.uid != state.uid or not cluster.wish.deleting:
        return state
    return msgspec.structs.replace(state, wish=msgspec.structs.replace(state.wish, deleting=True))


def follow(state: Armed, cluster: ClusterState, now: datetime) -> Armed | Draining:
    """What the cluster has become: its wish, its API, whether it was ever ready."""
    if cluster.uid != state.uid or cluster.since < state.as_of:
        return state
    known = _up_to_date(state, cluster)
    return end(known, "Deleted", now) if cluster.wish.deleting else known


def follow_warned(state: Warned, cluster: ClusterState, now: datetime) -> Warned | Armed | Draining:
    """A limit that was moved takes its warning back."""
    if cluster.uid != state.uid or cluster.since < state.as_of:
        return state
    known = _up_to_date(state, cluster)
    if cluster.wish.deleting:
        return end(known, "Deleted", now)
    return known if next_end(known) == (state.until, state.why) else known.to(Armed)


def verify_released(state: Armed | Warned, cluster: Released, now: datetime) -> Armed | Warned | Verifying:
    """It ended without us."""
    if cluster.uid != state.uid:
        return state
    return heed(state, cluster).to(Verifying, why=cluster.because, deadline=now + STEP_LIMIT)


def note_use(state: Armed, seen: ClusterSeen) -> Armed:
    if seen.uid != state.uid or not seen.known:
        return state
    return msgspec.structs.replace(state, idle_since=seen.idle_since)


def calm(state: Warned, seen: ClusterSeen) -> Warned | Armed:
    """A warning for idleness is taken back as soon as an accelerator is used."""
    if seen.uid != state.uid or not seen.known or seen.idle_since == state.idle_since:
        return state
    known = msgspec.structs.replace(state, idle_since=seen.idle_since)
    return known.to(Armed) if state.why == "Idle" else known


def warn(state: Armed, _: Due, now: datetime) -> Armed | Warned:
    nearest = next_end(state)
    if nearest is None or now < warn_at(state, nearest[0]):
        return state
    return state.to(Warned, why=nearest[1], until=nearest[0])


def expire(state: Warned, _: Due, now: datetime) -> Warned | Draining:
    return end(state, state.why, now) if now >= state.until else state


def end(state: Armed | Warned, why: str, now: datetime) -> Draining:
    return state.to(Draining, why=why, deadline=now + STEP_LIMIT)


def clean(state: Draining, _: Drained, now: datetime) -> Cleaning | Releasing:
    """Without an API there is nothing in the cluster to clean."""
    deadline = now + STEP_LIMIT
    if not state.kubeconfig:
        return state.to(Releasing, deadline=deadline)
    addons = (*state.wish.dropped, *(addon.name for addon in state.wish.addons))
    return state.to(Cleaning, deadline=deadline, addons=addons)


def count_off(state: Cleaning, addon: Withdrawn, now: datetime) -> Cleaning | Releasing:
    if addon.uid != state.uid:
        return state
    left = tuple(name for name in state.addons if name != addon.addon)
    return _release_if_clean(msgspec.structs.replace(state, addons=left), now)


def sweep(state: Cleaning, _: Swept, now: datetime) -> Cleaning | Releasing:
    return _release_if_clean(msgspec.structs.replace(state, swept=True), now)


def verify(state: Releasing, cluster: Released, now: datetime) -> Releasing | Verifying:
    return _verifying(state, cluster, now)


def skip(state: Draining | Cleaning, cluster: Released, now: datetime) -> Draining | Cleaning | Verifying:
    """The cluster vanished under us: there is nothing left to drain or clean."""
    return _verifying(state, cluster, now)


def prove(state: Verifying, audit: Audited) -> Verifying | Gone:
    return state.to(Gone, proof=audit.found) if audit.clean else state


def get_stuck(state: Ending, _: Due, now: datetime) -> Ending | Stuck:
    if now < state.deadline:
        return state
    step = type(state).__name__
    message = f"{step} has taken longer than {STEP_LIMIT.total_seconds() / 60:.0f} minutes"
    return state.to(Stuck, step=step, message=message, deadline=now + RETRY_AFTER)


def retry(state: Stuck, _: Due, now: datetime) -> Stuck | Draining | Verifying:
    """From the start; but a release that was heard of is not said again, so its proof is only looked for again."""
    if now < state.deadline:
        return state
    if state.step == Verifying.__name__:
        return state.to(Verifying, deadline=now + STEP_LIMIT)
    return state.to(Draining, deadline=now + STEP_LIMIT)


def verify_stuck(state: Stuck, cluster: Released, now: datetime) -> Stuck | Verifying:
    return _verifying(state, cluster, now)


def next_end(state: TeardownState) -> tuple[datetime, str] | None:
    """The nearest limit: when, and which."""
    limits = _limits(state)
    return min(limits) if limits else None


def warn_at(state: TeardownState, end_at: datetime) -> datetime:
    """When people are told: as long before as they asked, but never more than half the limit."""
    limits = state.wish.limits
    shortest = min(limit for limit in (limits.time_to_live, limits.idle_after) if limit is not None)
    return end_at - timedelta(seconds=min(limits.warn_before, shortest / 2))


def _limits(state: TeardownState) -> list[tuple[datetime, str]]:
    if state.ready_since is None:
        return []
    limits = state.wish.limits
    may_idle = state.idle_since and not state.wish.need.hibernate
    idle_since = max(state.idle_since, state.ready_since) if state.idle_since and may_idle else None
    pairs = ((state.ready_since, limits.time_to_live, "TimeToLive"), (idle_since, limits.idle_after, "Idle"))
    return [(since + timedelta(seconds=span), why) for since, span, why in pairs if since and span is not None]


def _fresh(cluster: ClusterState) -> Armed:
    return Armed(uid=cluster.uid, correlation=cluster.correlation, wish=cluster.wish, as_of=cluster.since)


def _late(state: Gone, cluster: ClusterState) -> bool:
    """It is of the incarnation that is gone, or of one before."""
    return cluster.uid == state.uid or cluster.since < state.as_of


def _up_to_date(state: W, cluster: ClusterState) -> W:
    ready_since = state.ready_since or (cluster.since if isinstance(cluster, Ready) else None)
    kubeconfig = getattr(cluster, "kubeconfig", "")
    lent = getattr(cluster, "lent", False)
    known = msgspec.structs.replace(state, wish=cluster.wish, ready_since=ready_since, kubeconfig=kubeconfig, lent=lent)
    return state if known == state else msgspec.structs.replace(known, as_of=cluster.since)


def _verifying(state: E, cluster: Released, now: datetime) -> E | Verifying:
    return heed(state, cluster).to(Verifying, deadline=now + STEP_LIMIT) if cluster.uid == state.uid else state


def _release_if_clean(state: Cleaning, now: datetime) -> Cleaning | Releasing:
    if state.addons or not state.swept:
        return state
    return state.to(Releasing, deadline=now + STEP_LIMIT)


decide = machine(
    LIFECYCLE,
    on(type(None), LIVING, arm),
    on(type(None), Released, verify_unfounded),
    on(Gone, LIVING, arm_again),
    on(Gone, Released, verify_unfounded_again),
    on(Armed, LIVING, follow),
    on(Warned, LIVING, follow_warned),
    on((Armed, Warned), Released, verify_released),
    on(Armed, ClusterSeen, note_use),
    on(Warned, ClusterSeen, calm),
    on(Armed, Due, warn),
    on(Warned, Due, expire),
    on(Draining, Drained, clean),
    on(Cleaning, Withdrawn, count_off),
    on(Cleaning, Swept, sweep),
    on((Draining, Cleaning), Released, skip),
    on(Releasing, Released, verify),
    on(Verifying, Released, heed),
    on(Verifying, Audited, prove),
    on((Draining, Cleaning, Releasing, Verifying), Due, get_stuck),
    on(Stuck, Due, retry),
    on(Stuck, Released, verify_stuck),
)
