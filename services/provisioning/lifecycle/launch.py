"""A cluster is founded on what the market offers: from the choice to every accelerator, or to the next offer."""

from datetime import datetime, timedelta

import msgspec

from schemas.cluster import (
    NOT_INSTALLED,
    ClusterState,
    Founded,
    Hibernated,
    Launching,
    Placing,
    Provisioned,
    Ready,
    Requested,
    Stalled,
    Waiting,
)
from schemas.entity import Due
from schemas.founding import Gone, LaunchFailed
from schemas.infra import InfraSeen
from schemas.inventory import ClusterSeen
from schemas.placement import Attempt, Ranked
from services.provisioning.lifecycle.autoscale import count, fit, unheard
from services.provisioning.lifecycle.release import LOST, concerns, find, free_number, try_next
from services.provisioning.lifecycle.request import go_without
from services.provisioning.lifecycle.resize import enough, settle
from services.provisioning.lifecycle.upgrade import asked_for, begin, patience

LAUNCH_LIMIT = timedelta(minutes=30)
"""From choosing an offer to an answering API; k0rdent itself calls a cluster failed after 30 minutes."""
JOIN_LIMIT = timedelta(minutes=20)
"""From an answering API to every accelerator usable."""
DELETED = "the cluster was deleted by somebody else"


def choose(
    state: Requested | Placing, market: Ranked, now: datetime
) -> Requested | Placing | Launching | Waiting | Stalled:
    if state.wish.deleting or state.wish.need.hibernate or _stands(state):
        return state
    if market.adopts != state.wish.need.adopts:
        return state  # the answer to an earlier wish
    if not market.placements:
        return go_without(state, market, now)
    return _launch(state, market, now) if _answers(state, market) else state


def recover(state: Stalled, market: Ranked, now: datetime) -> Stalled | Waiting | Launching:
    """What was not installed is there now; or something else is missing."""
    if state.reason != NOT_INSTALLED or state.wish.deleting or market.adopts != state.wish.need.adopts:
        return state
    if not market.placements:
        return go_without(state, market, now)
    return _launch(msgspec.structs.replace(state, tried=()), market, now) if _answers(state, market) else state


def fall_back(state: Launching, failure: LaunchFailed, now: datetime) -> Launching | Placing:
    if failure.attempt != state.attempt.number:
        return state  # the echo of an earlier try
    return _give_up(state, failure.reason, failure.message, now)


def rise(state: Launching, seen: InfraSeen, now: datetime) -> ClusterState | Placing | Provisioned | Hibernated:
    if not concerns(state, seen):
        return find(state, seen)
    if seen.failure:
        return _refuse(state, seen, now)
    if not seen.present:  # let go all the same: what was seen of so young a thing may be older than it is
        return _give_up(state, LOST, DELETED, now)
    if not seen.reachable:
        return state
    secret, lent = seen.kubeconfig or f"{state.attempt.object_name(state.wish.name)}-kubeconfig", bool(seen.kubeconfig)
    risen = begin(state, now)
    if state.wish.need.hibernate:
        return risen.to(Hibernated, kubeconfig=secret, lent=lent)
    return risen.to(Provisioned, kubeconfig=secret, lent=lent, deadline=now + JOIN_LIMIT)


def give_up(state: Launching | Provisioned, _: Due, now: datetime) -> Launching | Provisioned | Placing:
    if now < state.deadline:
        return state
    if isinstance(state, Launching) and state.held:
        return _give_up(state, NOT_INSTALLED, state.held, now)
    if isinstance(state, Launching):
        return _give_up(state, "TimeOut", f"no API after {LAUNCH_LIMIT.total_seconds():.0f} seconds", now)
    reason = "Interrupted" if state.was_ready and _on_spot(state) else "NeverReady"
    return _give_up(state, reason, f"not ready after {JOIN_LIMIT.total_seconds():.0f} seconds", now)


def lose(state: Provisioned | Ready | Hibernated, seen: InfraSeen, now: datetime) -> ClusterState | Placing:
    """Somebody else deleted it: there is nothing to let go, and it is founded anew."""
    if not concerns(state, seen):
        return find(state, seen)
    if seen.present:
        return state
    return try_next(_give_up(state, LOST, DELETED, now), Gone(seen.attempt, adopts=seen.adopted), now)


def fall_short(state: Provisioned, seen: InfraSeen, now: datetime) -> ClusterState | Placing:
    """That machines are not to be had may be told only once there is an API for them to join."""
    founding = not state.was_ready and state.resizing is None
    if founding and seen.failure and concerns(state, seen):
        return _refuse(state, seen, now)
    return lose(state, seen, now)


def complete(state: Provisioned, seen: ClusterSeen, now: datetime) -> Provisioned | Ready | Placing:
    """What stands already and does not let us in never will; what is new may do so only in its first moments."""
    if not is_of(state, seen):
        return state
    if state.lent and not state.was_ready and seen.refusal:
        told = f"the kubeconfig in Secret {state.kubeconfig} does not open its cluster: {seen.refusal}"
        return _give_up(state, "Denied", told, now)
    return _as_seen(state.to(Ready), seen, now) if enough(state, seen) else state


def recount(state: Ready, seen: ClusterSeen, now: datetime) -> Ready | Provisioned:
    """A cluster that is heard, and has less than was bought, is not ready; one that is not heard stays what it was."""
    if not is_of(state, seen):
        return state
    if not seen.known:
        return unheard(state)
    if enough(state, seen):
        return _as_seen(state, seen, now)
    interruptions = state.interruptions + _on_spot(state)
    deadline = patience(state, now + JOIN_LIMIT)
    return state.to(Provisioned, deadline=deadline, was_ready=True, interruptions=interruptions)


def _as_seen(state: Ready, seen: ClusterSeen, now: datetime) -> Ready:
    """What it is by what is there; the nodes beside its lots are counted once its size is settled, not before."""
    settled = settle(count(state, seen, now), seen)
    return fit(count(settled, seen, now), seen, now)


def _stands(state: Requested | Placing) -> bool:
    """Whether an attempt is still being let go, or is to be taken in again."""
    return (state.attempt if isinstance(state, Placing) else state.standing) is not None


def _answers(state: ClusterState, market: Ranked) -> bool:
    """Whether it is for these pools: another replica may have heard of others since the market was asked."""
    return [lot.pool for lot in market.placements[0].lots] == [pool.name for pool in state.wish.need.pools]


def _launch(state: Requested | Placing | Stalled, market: Ranked, now: datetime) -> Launching:
    (best, *rest), number = market.placements, free_number(state)
    return state.to(
        Launching,
        attempt=Attempt(number=number, placement=best, adopts=market.adopts),
        attempts=number,
        billed_since=now,
        deadline=now + LAUNCH_LIMIT,
        short_since=None,
        next_best_per_hour=rest[0].price_per_hour if rest else None,
    )


def _refuse(state: Founded, seen: InfraSeen, now: datetime) -> Placing:
    """What failed where no zone was asked for failed in none: the region is meant."""
    at = state.attempt.placement
    lots = tuple(msgspec.structs.replace(lot, zone="") if seen.zoneless else lot for lot in at.lots)
    tried = msgspec.structs.replace(state.attempt, placement=msgspec.structs.replace(at, lots=lots))
    return _give_up(msgspec.structs.replace(state, attempt=tried), seen.failure, seen.message, now)


def _give_up(state: Founded, reason: str, message: str, now: datetime) -> Placing:
    failed = msgspec.structs.replace(state.attempt, reason=reason, message=message, failed_at=now)
    return state.to(Placing, attempt=failed, held="", wish=asked_for(state))


def _on_spot(state: Founded) -> bool:
    return any(lot.spot for lot in state.attempt.placement.lots)


def is_of(state: Founded, seen: ClusterSeen) -> bool:
    """What was counted on the cluster of an earlier attempt says nothing of this one."""
    return seen.uid == state.uid and seen.attempt in (0, state.attempt.number)
