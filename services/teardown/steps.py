"""The steps of an end: those in the cluster are given up in time, the release of machines never is."""

from datetime import datetime, timedelta
from typing import TypeVar

from schemas import durations
from schemas.addon import Withdrawn
from schemas.cluster import ClusterState, Released, kubeconfig_of
from schemas.cluster import Releasing as BeingReleased
from schemas.entity import Due
from schemas.registry import declared
from schemas.teardown import (
    UNHEARD_LIMIT,
    AddonsListed,
    Armed,
    Audited,
    Blocked,
    CleanedUp,
    Cleaning,
    Drained,
    Draining,
    Ending,
    Gone,
    Skipped,
    Stuck,
    TeardownReleasing,
    TeardownState,
    Verifying,
    Warned,
)
from services.kubernetes.name_list import first_names

STEP_LIMIT = timedelta(minutes=15)
"""How long the release, and its proof, may take before it is reported as stuck."""
RETRY_AFTER = timedelta(minutes=10)
"""How long a stuck teardown waits before it tries again."""
REPORT_INTERVAL = timedelta(seconds=5)
"""Time until a step reports what it waits for, and between two such reports."""
LOST_REASON = "the cluster was lost meanwhile"

E = TypeVar("E", bound=TeardownState)
Going = TypeVar("Going", Draining, Cleaning)


def begin(state: Armed | Warned, why: str, now: datetime) -> Draining | TeardownReleasing:
    draining = state.to(
        Draining, reason=why, began=now, deadline=now + _seconds(state.wish.limits.drain_timeout_seconds)
    )
    return _skip_to_release(draining, "its end was forced", now) if state.wish.force else draining


def cleanable_kubeconfig(state: TeardownState) -> str:
    """The kubeconfig for draining and cleaning; empty if others go on using the cluster."""
    return "" if state.wish.need.kept or state.lent else state.kubeconfig


def on_listed(state: Draining, listed: AddonsListed) -> Draining:
    return state.but(profile_addons=listed.names)


def on_drained(state: Draining, _: Drained, now: datetime) -> Cleaning | TeardownReleasing:
    """Clean the cluster; without an API there is nothing to clean."""
    if not state.kubeconfig:
        return _release(state, now)
    addons = _addons(state)
    deadline = now + _seconds(state.wish.limits.clean_timeout_seconds)
    return state.to(Cleaning, deadline=deadline, addons=addons, blocked=_addons_pending(addons), unreachable=False)


def on_withdrawn(state: Cleaning, addon: Withdrawn, now: datetime) -> Cleaning | TeardownReleasing:
    if addon.uid != state.uid:
        return state
    left = tuple(name for name in state.addons if name != addon.addon)
    blocked = _addons_pending(left) if state.blocked == _addons_pending(state.addons) else state.blocked
    return _release_if_clean(state.but(addons=left, blocked=blocked), now)


def on_swept(state: Cleaning, _: CleanedUp, now: datetime) -> Cleaning | TeardownReleasing:
    return _release_if_clean(state.but(swept=True, blocked=_addons_pending(state.addons)), now)


def on_blocked(
    state: Draining | Cleaning | Verifying, report: Blocked, now: datetime
) -> Draining | Cleaning | Verifying:
    """Keep what the step waits for."""
    if report.step != declared(type(state)).phase or now < state.since + REPORT_INTERVAL:
        return state
    never = isinstance(state, Draining) and (state.unreachable or not state.blocked)
    unreachable = never and not report.reachable
    return state.but(blocked=report.what, unreachable=unreachable)


def on_cluster_ending(state: Going, cluster: ClusterState, now: datetime) -> Going | TeardownReleasing:
    """Follow limits and force while the end goes on."""
    if cluster.uid != state.uid or cluster.since < state.as_of:
        return state
    if state.kubeconfig and not kubeconfig_of(cluster):
        return _skip_to_release(state, LOST_REASON, now)
    known = _with_new_limits(state, cluster)
    return _skip_to_release(known, "its end was forced", now) if known.wish.force else known


def on_due_draining(state: Draining, _: Due, now: datetime) -> Draining | Cleaning | TeardownReleasing:
    """Give draining up; a cluster that never answered is not asked to clean up either."""
    if now < state.ends_at:
        return state
    if state.unreachable:
        return _skip_to_release(state, _unreachable_reason(state), now)
    skipped = _undrained(state, _timeout_reason(state, state.wish.limits.drain_timeout_seconds))
    return on_drained(_with_skipped(state, skipped), Drained(), now)


def on_due_cleaning(state: Cleaning, _: Due, now: datetime) -> Cleaning | TeardownReleasing:
    if now < state.ends_at:
        return state
    return _skip_to_release(state, _timeout_reason(state, state.wish.limits.clean_timeout_seconds), now)


def on_cluster_gone(state: Draining | Cleaning, cluster: Released, now: datetime) -> Draining | Cleaning | Verifying:
    """Verify: the cluster was deleted by others, so there is nothing left to drain or clean."""
    return _to_verifying(skip_lost(state) if cluster.uid == state.uid else state, cluster, now)


def skip_lost(state: E) -> E:
    """Name what may be left of a lost cluster, once."""
    return _with_skipped(state, _uncleaned(state, LOST_REASON))


def on_release_blocked(state: TeardownReleasing | Stuck, cluster: BeingReleased) -> TeardownReleasing | Stuck:
    """Keep why the cluster cannot be released now."""
    past = isinstance(state, Stuck) and state.step != declared(TeardownReleasing).phase
    if past or cluster.uid != state.uid or cluster.since < state.as_of or cluster.blocked == state.blocked:
        return state
    return state.but(blocked=cluster.blocked, as_of=cluster.since)


def verify(state: TeardownReleasing, cluster: Released, now: datetime) -> TeardownReleasing | Verifying:
    return _to_verifying(state, cluster, now)


def verify_stuck(state: Stuck, cluster: Released, now: datetime) -> Stuck | Verifying:
    return _to_verifying(state, cluster, now)


def take_deleting(state: E, cluster: Released) -> E:
    """Keep that the Colony is being deleted: then the proof need not be kept for the next launch."""
    if cluster.uid != state.uid or not cluster.wish.deleting:
        return state
    return state.but(wish=state.wish.but(deleting=True))


def on_audited(state: Verifying, audit: Audited) -> Verifying | Gone:
    return state.to(Gone, proof=audit.found) if audit.clean else state


def on_due(state: TeardownReleasing | Verifying, _: Due, now: datetime) -> TeardownReleasing | Verifying | Stuck:
    if now < state.deadline:
        return state
    step = declared(type(state)).phase
    message = f"{step} has taken longer than {STEP_LIMIT.total_seconds() / 60:.0f} minutes"
    return state.to(Stuck, step=step, message=message, deadline=now + RETRY_AFTER)


def on_due_stuck(state: Stuck, _: Due, now: datetime) -> Stuck | TeardownReleasing | Verifying:
    """Try the step that is stuck again: a release that was confirmed is not repeated, only its proof."""
    if now < state.deadline:
        return state
    if state.step == declared(Verifying).phase:
        return state.to(Verifying, deadline=now + STEP_LIMIT)
    return state.to(TeardownReleasing, deadline=now + STEP_LIMIT)


def _skip_to_release(state: Draining | Cleaning, why: str, now: datetime) -> TeardownReleasing:
    """Release without waiting for the cluster; what may be left because of that is named."""
    skipped = _uncleaned(state, why)
    if isinstance(state, Draining):
        skipped = (*_undrained(state, why), *skipped)
    return _release(_with_skipped(state, skipped), now)


def _with_skipped(state: E, steps: tuple[Skipped, ...]) -> E:
    """Add skipped steps, each once."""
    new = [one for one in steps if one not in state.skipped]
    return state.but(skipped=(*state.skipped, *new)) if new else state


def _undrained(state: Draining, why: str) -> tuple[Skipped, ...]:
    left = "work that was not asked to end, or did not"
    return (Skipped(step="Draining", reason=why, left=left),) if cleanable_kubeconfig(state) else ()


def _uncleaned(state: TeardownState, why: str) -> tuple[Skipped, ...]:
    swept, addons = isinstance(state, Cleaning) and state.swept, _addons(state)
    parts = ["load balancers and volumes of the cluster"] if cleanable_kubeconfig(state) and not swept else []
    if addons and state.kubeconfig:
        where = "made outside the cluster" if cleanable_kubeconfig(state) else "put into the cluster"
        parts.append(f"what {_named(addons)} {where}")
    return (Skipped(step="Cleaning", reason=why, left="; ".join(parts)),) if parts else ()


def _addons(state: TeardownState) -> tuple[str, ...]:
    """Those not yet withdrawn."""
    if isinstance(state, Cleaning):
        return state.addons
    given = state.profile_addons if isinstance(state, Draining) else ()
    return (*state.wish.dropped, *(addon.name for addon in state.wish.addons), *given)


def _named(addons: tuple[str, ...]) -> str:
    return f"{'add-on' if len(addons) == 1 else 'add-ons'} {first_names(addons)}"


def _addons_pending(addons: tuple[str, ...]) -> str:
    be = "is" if len(addons) == 1 else "are"
    return f"{_named(addons)} {be} not withdrawn yet" if addons else ""


def _timeout_reason(state: Draining | Cleaning, limit: float) -> str:
    return _with_reason(f"not done within {durations.write(_seconds(limit))}", state.blocked)


def _unreachable_reason(state: Draining) -> str:
    waited = min(UNHEARD_LIMIT, state.deadline - state.began)
    return _with_reason(f"its API has not answered for {durations.write(waited)}", state.blocked)


def _with_reason(what: str, why: str) -> str:
    return f"{what}: {why}" if why else what


def _with_new_limits(state: Going, cluster: ClusterState) -> Going:
    """Follow the wish's limits only: a wish that asks again asks for the next cluster."""
    limits, had = cluster.wish.limits, state.wish.limits
    wish = state.wish.but(limits=limits, force=cluster.wish.force)
    if wish == state.wish:
        return state
    field = "drain_timeout_seconds" if isinstance(state, Draining) else "clean_timeout_seconds"
    longer = _seconds(getattr(limits, field) - getattr(had, field))
    return state.but(wish=wish, deadline=state.deadline + longer, as_of=cluster.since)


def _to_verifying(state: E, cluster: Released, now: datetime) -> E | Verifying:
    if cluster.uid != state.uid:
        return state
    return take_deleting(state, cluster).to(Verifying, deadline=now + STEP_LIMIT, blocked="", unreachable=False)


def _release_if_clean(state: Cleaning, now: datetime) -> Cleaning | TeardownReleasing:
    return state if state.addons or not state.swept else _release(state, now)


def _release(state: Ending, now: datetime) -> TeardownReleasing:
    return state.to(TeardownReleasing, deadline=now + STEP_LIMIT, blocked="", unreachable=False)


def _seconds(limit: float) -> timedelta:
    return timedelta(seconds=limit)
