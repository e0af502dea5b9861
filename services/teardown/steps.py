"""An end goes on step by step: what is done in the cluster is given up in time, what gives it back never is."""

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
"""How long giving back, and the proof of it, may take before people are told."""
RETRY_AFTER = timedelta(minutes=10)
"""How long a stuck teardown rests before it tries again."""
NEWS_EVERY = timedelta(seconds=5)
"""What a step waits for is told once it has waited so long, and a change of it no sooner after the last one."""
LOST = "the cluster was lost meanwhile"

E = TypeVar("E", bound=TeardownState)
Going = TypeVar("Going", Draining, Cleaning)


def begin(state: Armed | Warned, why: str, now: datetime) -> Draining | TeardownReleasing:
    draining = state.to(Draining, why=why, began=now, deadline=now + _seconds(state.wish.limits.drain_timeout_seconds))
    return _give_up(draining, "its end was forced", now) if state.wish.force else draining


def within(state: TeardownState) -> str:
    """What opens it for work to be ended and volumes deleted: nothing does where others go on with the cluster."""
    return "" if state.wish.need.kept or state.lent else state.kubeconfig


def clean(state: Draining, _: Drained, now: datetime) -> Cleaning | TeardownReleasing:
    """Without an API there is nothing in the cluster to clean."""
    if not state.kubeconfig:
        return _release(state, now)
    addons = _addons(state)
    deadline = now + _seconds(state.wish.limits.clean_timeout_seconds)
    return state.to(Cleaning, deadline=deadline, addons=addons, blocked=_awaits(addons), unheard=False)


def count_off(state: Cleaning, addon: Withdrawn, now: datetime) -> Cleaning | TeardownReleasing:
    if addon.uid != state.uid:
        return state
    left = tuple(name for name in state.addons if name != addon.addon)
    blocked = _awaits(left) if state.blocked == _awaits(state.addons) else state.blocked
    return _release_if_clean(state.but(addons=left, blocked=blocked), now)


def sweep(state: Cleaning, _: CleanedUp, now: datetime) -> Cleaning | TeardownReleasing:
    return _release_if_clean(state.but(swept=True, blocked=_awaits(state.addons)), now)


def tell(state: Draining | Cleaning | Verifying, said: Blocked, now: datetime) -> Draining | Cleaning | Verifying:
    """What it waits for is written down; an end that goes as it should is over before that."""
    if said.step != declared(type(state)).phase or now < state.since + NEWS_EVERY:
        return state
    never = isinstance(state, Draining) and (state.unheard or not state.blocked)
    unheard = never and not said.heard
    return state.but(blocked=said.what, unheard=unheard)


def amend(state: Going, cluster: ClusterState, now: datetime) -> Going | TeardownReleasing:
    """How long its end may take, and whether it waits at all, can be said while it goes on."""
    if cluster.uid != state.uid or cluster.since < state.as_of:
        return state
    if state.kubeconfig and not kubeconfig_of(cluster):
        return _give_up(state, LOST, now)
    known = _heeding(state, cluster)
    return _give_up(known, "its end was forced", now) if known.wish.force else known


def give_up_drain(state: Draining, _: Due, now: datetime) -> Draining | Cleaning | TeardownReleasing:
    """Whoever does not answer at all is not asked to clean up either."""
    if now < state.ends_at:
        return state
    if state.unheard:
        return _give_up(state, _unanswered(state), now)
    skipped = _undrained(state, _late(state, state.wish.limits.drain_timeout_seconds))
    return clean(_skipping(state, skipped), Drained(), now)


def give_up_clean(state: Cleaning, _: Due, now: datetime) -> Cleaning | TeardownReleasing:
    if now < state.ends_at:
        return state
    return _give_up(state, _late(state, state.wish.limits.clean_timeout_seconds), now)


def vanish(state: Draining | Cleaning, cluster: Released, now: datetime) -> Draining | Cleaning | Verifying:
    """The cluster vanished under us: there is nothing left to drain or clean."""
    return _verifying(lose(state) if cluster.uid == state.uid else state, cluster, now)


def lose(state: E) -> E:
    """Its cluster is lost: what may be left of it is named, once."""
    return _skipping(state, _uncleaned(state, LOST))


def hold(state: TeardownReleasing | Stuck, cluster: BeingReleased) -> TeardownReleasing | Stuck:
    """Why it cannot be given back now."""
    past = isinstance(state, Stuck) and state.step != declared(TeardownReleasing).phase
    if past or cluster.uid != state.uid or cluster.since < state.as_of or cluster.held == state.blocked:
        return state
    return state.but(blocked=cluster.held, as_of=cluster.since)


def verify(state: TeardownReleasing, cluster: Released, now: datetime) -> TeardownReleasing | Verifying:
    return _verifying(state, cluster, now)


def verify_stuck(state: Stuck, cluster: Released, now: datetime) -> Stuck | Verifying:
    return _verifying(state, cluster, now)


def heed(state: E, cluster: Released) -> E:
    """What has ended, and is asked for no more: then its proof need not be kept for the next founding."""
    if cluster.uid != state.uid or not cluster.wish.deleting:
        return state
    return state.but(wish=state.wish.but(deleting=True))


def prove(state: Verifying, audit: Audited) -> Verifying | Gone:
    return state.to(Gone, proof=audit.found) if audit.clean else state


def get_stuck(state: TeardownReleasing | Verifying, _: Due, now: datetime) -> TeardownReleasing | Verifying | Stuck:
    if now < state.deadline:
        return state
    step = declared(type(state)).phase
    message = f"{step} has taken longer than {STEP_LIMIT.total_seconds() / 60:.0f} minutes"
    return state.to(Stuck, step=step, message=message, deadline=now + RETRY_AFTER)


def retry(state: Stuck, _: Due, now: datetime) -> Stuck | TeardownReleasing | Verifying:
    """At the step that is stuck: a release that was heard of is not said again, only its proof looked for."""
    if now < state.deadline:
        return state
    if state.step == declared(Verifying).phase:
        return state.to(Verifying, deadline=now + STEP_LIMIT)
    return state.to(TeardownReleasing, deadline=now + STEP_LIMIT)


def _give_up(state: Draining | Cleaning, why: str, now: datetime) -> TeardownReleasing:
    """Nothing more is waited for in the cluster; what may be left because of that is named."""
    skipped = _uncleaned(state, why)
    if isinstance(state, Draining):
        skipped = (*_undrained(state, why), *skipped)
    return _release(_skipping(state, skipped), now)


def _skipping(state: E, steps: tuple[Skipped, ...]) -> E:
    """What is named already is not named twice."""
    new = [one for one in steps if one not in state.skipped]
    return state.but(skipped=(*state.skipped, *new)) if new else state


def _undrained(state: Draining, why: str) -> tuple[Skipped, ...]:
    left = "work that was not asked to end, or did not"
    return (Skipped(step="Draining", reason=why, left=left),) if within(state) else ()


def _uncleaned(state: TeardownState, why: str) -> tuple[Skipped, ...]:
    swept, addons = isinstance(state, Cleaning) and state.swept, _addons(state)
    parts = ["load balancers and volumes of the cluster"] if within(state) and not swept else []
    if addons and state.kubeconfig:
        where = "made outside the cluster" if within(state) else "put into the cluster"
        parts.append(f"what {_named(addons)} {where}")
    return (Skipped(step="Cleaning", reason=why, left="; ".join(parts)),) if parts else ()


def _addons(state: TeardownState) -> tuple[str, ...]:
    """Those not yet withdrawn."""
    if isinstance(state, Cleaning):
        return state.addons
    return (*state.wish.dropped, *(addon.name for addon in state.wish.addons))


def _named(addons: tuple[str, ...]) -> str:
    return f"{'add-on' if len(addons) == 1 else 'add-ons'} {first_names(addons)}"


def _awaits(addons: tuple[str, ...]) -> str:
    be = "is" if len(addons) == 1 else "are"
    return f"{_named(addons)} {be} not withdrawn yet" if addons else ""


def _late(state: Draining | Cleaning, limit: float) -> str:
    return _because(f"not done within {durations.write(_seconds(limit))}", state.blocked)


def _unanswered(state: Draining) -> str:
    waited = min(UNHEARD_LIMIT, state.deadline - state.began)
    return _because(f"its API has not answered for {durations.write(waited)}", state.blocked)


def _because(what: str, why: str) -> str:
    return f"{what}: {why}" if why else what


def _heeding(state: Going, cluster: ClusterState) -> Going:
    """What its wish now says of its end, and no more: whoever asks for it again asks for the next one."""
    limits, had = cluster.wish.limits, state.wish.limits
    wish = state.wish.but(limits=limits, force=cluster.wish.force)
    if wish == state.wish:
        return state
    field = "drain_timeout_seconds" if isinstance(state, Draining) else "clean_timeout_seconds"
    longer = _seconds(getattr(limits, field) - getattr(had, field))
    return state.but(wish=wish, deadline=state.deadline + longer, as_of=cluster.since)


def _verifying(state: E, cluster: Released, now: datetime) -> E | Verifying:
    if cluster.uid != state.uid:
        return state
    return heed(state, cluster).to(Verifying, deadline=now + STEP_LIMIT, blocked="", unheard=False)


def _release_if_clean(state: Cleaning, now: datetime) -> Cleaning | TeardownReleasing:
    return state if state.addons or not state.swept else _release(state, now)


def _release(state: Ending, now: datetime) -> TeardownReleasing:
    return state.to(TeardownReleasing, deadline=now + STEP_LIMIT, blocked="", unheard=False)


def _seconds(limit: float) -> timedelta:
    return timedelta(seconds=limit)
