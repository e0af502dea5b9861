"""Watches the limits of a cluster while it lives, and begins its end."""

from datetime import datetime, timedelta
from typing import TypeVar

from schemas.cluster import ClusterState, Placed, Ready, Released, kubeconfig_of
from schemas.entity import Due
from schemas.inventory import ClusterSeen
from schemas.teardown import Armed, Draining, Gone, Stuck, TeardownReleasing, TeardownState, Verifying, Warned
from services.teardown.steps import STEP_LIMIT, begin, skip_lost, take_deleting

W = TypeVar("W", Armed, Warned)


def arm(_: None, cluster: ClusterState, now: datetime) -> Armed | Draining | TeardownReleasing:
    return on_cluster_armed(_new_watch(cluster), cluster, now)


def arm_again(state: Gone, cluster: ClusterState, now: datetime) -> Gone | Armed | Draining | TeardownReleasing:
    """Watch a new cluster of the same name."""
    return state if _is_late(state, cluster) else arm(None, cluster, now)


def arm_successor(
    state: TeardownReleasing | Verifying | Stuck, cluster: ClusterState, now: datetime
) -> TeardownReleasing | Verifying | Stuck | Armed | Draining:
    """Watch the next cluster; what may be left of the one before stays named."""
    if _is_late(state, cluster):
        return state
    return on_cluster_armed(_new_watch(cluster).but(skipped=state.skipped), cluster, now)


def verify_never_launched(_: None, cluster: Released, now: datetime) -> Verifying:
    """Verify that nothing is left of a cluster that was deleted before anything was created."""
    return _new_watch(cluster).to(Verifying, reason=cluster.reason, began=now, deadline=now + STEP_LIMIT)


def verify_never_launched_again(state: Gone, cluster: Released, now: datetime) -> Gone | Verifying:
    return take_deleting(state, cluster) if _is_late(state, cluster) else verify_never_launched(None, cluster, now)


def on_cluster_armed(state: Armed, cluster: ClusterState, now: datetime) -> Armed | Draining | TeardownReleasing:
    """Keep the cluster's wish, its API, and when it was first ready."""
    if cluster.uid != state.uid or cluster.since < state.as_of:
        return state
    known = _updated(state, cluster)
    return begin(known, "Deleted", now) if cluster.wish.deleting else known


def on_cluster_warned(
    state: Warned, cluster: ClusterState, now: datetime
) -> Warned | Armed | Draining | TeardownReleasing:
    """Keep the cluster's state; a limit that was moved takes its warning back."""
    if cluster.uid != state.uid or cluster.since < state.as_of:
        return state
    known = _updated(state, cluster)
    if cluster.wish.deleting:
        return begin(known, "Deleted", now)
    return known if next_end(known) == (state.until, state.reason) else known.to(Armed)


def verify_released(state: Armed | Warned, cluster: Released, now: datetime) -> Armed | Warned | Verifying:
    """Verify a cluster that ended without teardown."""
    if cluster.uid != state.uid:
        return state
    known = take_deleting(skip_lost(state), cluster)
    return known.to(Verifying, reason=cluster.reason, began=now, deadline=now + STEP_LIMIT)


def on_usage_armed(state: Armed, seen: ClusterSeen) -> Armed:
    if seen.uid != state.uid or not seen.known:
        return state
    return state.but(idle_since=seen.idle_since)


def on_usage_warned(state: Warned, seen: ClusterSeen) -> Warned | Armed:
    """Take a warning for idleness back as soon as an accelerator is used."""
    if seen.uid != state.uid or not seen.known or seen.idle_since == state.idle_since:
        return state
    known = state.but(idle_since=seen.idle_since)
    return known.to(Armed) if state.reason == "Idle" else known


def on_due_armed(state: Armed, _: Due, now: datetime) -> Armed | Warned:
    nearest = next_end(state)
    if nearest is None or now < warn_at(state, nearest[0]):
        return state
    return state.to(Warned, reason=nearest[1], until=nearest[0])


def on_due_warned(state: Warned, _: Due, now: datetime) -> Warned | Draining | TeardownReleasing:
    return begin(state, state.reason, now) if now >= state.until else state


def _new_watch(cluster: ClusterState) -> Armed:
    return Armed(uid=cluster.uid, correlation=cluster.correlation, wish=cluster.wish, as_of=cluster.since)


def _is_late(state: TeardownState, cluster: ClusterState) -> bool:
    """Whether the state is of the incarnation that is gone, or of an earlier one."""
    return cluster.uid == state.uid or cluster.since < state.as_of


def _updated(state: W, cluster: ClusterState) -> W:
    ready_since = state.ready_since or (cluster.since if isinstance(cluster, Ready) else None)
    kubeconfig = kubeconfig_of(cluster)
    lent = isinstance(cluster, Placed) and cluster.lent
    known = skip_lost(state) if state.kubeconfig not in ("", kubeconfig) else state
    known = known.but(wish=cluster.wish, ready_since=ready_since, kubeconfig=kubeconfig, lent=lent)
    return state if known == state else known.but(as_of=cluster.since)


def next_end(state: TeardownState) -> tuple[datetime, str] | None:
    """The nearest limit: when, and which."""
    limits = _limits(state)
    return min(limits) if limits else None


def warn_at(state: TeardownState, end_at: datetime) -> datetime:
    """When people are warned: as early as they asked, but at most half the limit before it."""
    limits = state.wish.limits
    shortest = min(limit for limit in (limits.time_to_live_seconds, limits.idle_after_seconds) if limit is not None)
    return end_at - timedelta(seconds=min(limits.warn_before_seconds, shortest / 2))


def _limits(state: TeardownState) -> list[tuple[datetime, str]]:
    if state.ready_since is None:
        return []
    limits = state.wish.limits
    may_idle = state.idle_since and not state.wish.need.hibernate
    idle_since = max(state.idle_since, state.ready_since) if state.idle_since and may_idle else None
    pairs = (
        (state.ready_since, limits.time_to_live_seconds, "TimeToLive"),
        (idle_since, limits.idle_after_seconds, "Idle"),
    )
    return [(since + timedelta(seconds=span), why) for since, span, why in pairs if since and span is not None]
