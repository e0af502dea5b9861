"""As long as a cluster lives, its limits are watched; then its end begins."""

from datetime import datetime, timedelta
from typing import TypeVar

from schemas.cluster import ClusterState, Placed, Ready, Released, kubeconfig_of
from schemas.entity import Due
from schemas.inventory import ClusterSeen
from schemas.teardown import Armed, Draining, Gone, Stuck, TeardownReleasing, TeardownState, Verifying, Warned
from services.teardown.steps import STEP_LIMIT, begin, heed, lose

W = TypeVar("W", Armed, Warned)


def arm(_: None, cluster: ClusterState, now: datetime) -> Armed | Draining | TeardownReleasing:
    return follow(_fresh(cluster), cluster, now)


def arm_again(state: Gone, cluster: ClusterState, now: datetime) -> Gone | Armed | Draining | TeardownReleasing:
    """A cluster of the same name is founded anew."""
    return state if _late(state, cluster) else arm(None, cluster, now)


def succeed(
    state: TeardownReleasing | Verifying | Stuck, cluster: ClusterState, now: datetime
) -> TeardownReleasing | Verifying | Stuck | Armed | Draining:
    """It is founded anew, so the one before is over; what may be left of that stays named."""
    if _late(state, cluster):
        return state
    return follow(_fresh(cluster).but(skipped=state.skipped), cluster, now)


def verify_unfounded(_: None, cluster: Released, now: datetime) -> Verifying:
    """It was deleted before anything was made; that nothing is left is looked at all the same."""
    return _fresh(cluster).to(Verifying, why=cluster.because, began=now, deadline=now + STEP_LIMIT)


def verify_unfounded_again(state: Gone, cluster: Released, now: datetime) -> Gone | Verifying:
    return heed(state, cluster) if _late(state, cluster) else verify_unfounded(None, cluster, now)


def follow(state: Armed, cluster: ClusterState, now: datetime) -> Armed | Draining | TeardownReleasing:
    """What the cluster has become: its wish, its API, whether it was ever ready."""
    if cluster.uid != state.uid or cluster.since < state.as_of:
        return state
    known = _up_to_date(state, cluster)
    return begin(known, "Deleted", now) if cluster.wish.deleting else known


def follow_warned(state: Warned, cluster: ClusterState, now: datetime) -> Warned | Armed | Draining | TeardownReleasing:
    """A limit that was moved takes its warning back."""
    if cluster.uid != state.uid or cluster.since < state.as_of:
        return state
    known = _up_to_date(state, cluster)
    if cluster.wish.deleting:
        return begin(known, "Deleted", now)
    return known if next_end(known) == (state.until, state.why) else known.to(Armed)


def verify_released(state: Armed | Warned, cluster: Released, now: datetime) -> Armed | Warned | Verifying:
    """It ended without us."""
    if cluster.uid != state.uid:
        return state
    known = heed(lose(state), cluster)
    return known.to(Verifying, why=cluster.because, began=now, deadline=now + STEP_LIMIT)


def note_use(state: Armed, seen: ClusterSeen) -> Armed:
    if seen.uid != state.uid or not seen.known:
        return state
    return state.but(idle_since=seen.idle_since)


def calm(state: Warned, seen: ClusterSeen) -> Warned | Armed:
    """A warning for idleness is taken back as soon as an accelerator is used."""
    if seen.uid != state.uid or not seen.known or seen.idle_since == state.idle_since:
        return state
    known = state.but(idle_since=seen.idle_since)
    return known.to(Armed) if state.why == "Idle" else known


def warn(state: Armed, _: Due, now: datetime) -> Armed | Warned:
    nearest = next_end(state)
    if nearest is None or now < warn_at(state, nearest[0]):
        return state
    return state.to(Warned, why=nearest[1], until=nearest[0])


def expire(state: Warned, _: Due, now: datetime) -> Warned | Draining | TeardownReleasing:
    return begin(state, state.why, now) if now >= state.until else state


def _fresh(cluster: ClusterState) -> Armed:
    return Armed(uid=cluster.uid, correlation=cluster.correlation, wish=cluster.wish, as_of=cluster.since)


def _late(state: TeardownState, cluster: ClusterState) -> bool:
    """It is of the incarnation that is gone, or of one before."""
    return cluster.uid == state.uid or cluster.since < state.as_of


def _up_to_date(state: W, cluster: ClusterState) -> W:
    ready_since = state.ready_since or (cluster.since if isinstance(cluster, Ready) else None)
    kubeconfig = kubeconfig_of(cluster)
    lent = isinstance(cluster, Placed) and cluster.lent
    known = lose(state) if state.kubeconfig not in ("", kubeconfig) else state
    known = known.but(wish=cluster.wish, ready_since=ready_since, kubeconfig=kubeconfig, lent=lent)
    return state if known == state else known.but(as_of=cluster.since)


def next_end(state: TeardownState) -> tuple[datetime, str] | None:
    """The nearest limit: when, and which."""
    limits = _limits(state)
    return min(limits) if limits else None


def warn_at(state: TeardownState, end_at: datetime) -> datetime:
    """When people are told: as long before as they asked, but never more than half the limit."""
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
