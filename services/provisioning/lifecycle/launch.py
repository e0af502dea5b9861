"""Launches a cluster on an offer, from its request to the last accelerator or to the next offer.

A cluster whose history was lost, but whose objects still carry our labels, is recalled if its Colony remains and its
objects tell enough, and released otherwise.
"""

from collections.abc import Iterable
from datetime import datetime, timedelta

from schemas.attempts import AttemptGone, AttemptRecovered, AttemptUnrecoverable, LaunchFailed, OrphanCreated
from schemas.cluster import (
    NOT_INSTALLED,
    ClusterState,
    Hibernated,
    Launching,
    Pending,
    Placed,
    Placing,
    Provisioned,
    Ready,
    Released,
    Releasing,
    Stalled,
    Waiting,
)
from schemas.entity import Due
from schemas.infra import InfraSeen, Remains
from schemas.inventory import ClusterSeen
from schemas.placement import Attempt, Placement, Ranked
from schemas.wish import Need, Wish
from services.clouds.existing_cluster import ExistingPool
from services.provisioning.lifecycle.autoscale import follow_pods, keep_size, rebill_counted
from services.provisioning.lifecycle.release import LOST, add_orphan, add_seen_orphan, concerns, next_number, place_next
from services.provisioning.lifecycle.request import wait_or_stall
from services.provisioning.lifecycle.update import (
    begin_upgrade,
    finish_resize,
    follow_wish,
    is_complete,
    ready_deadline,
    relaunch_wish,
)
from services.provisioning.placement.adoption import UNPRICED, existing_lot

LAUNCH_LIMIT = timedelta(minutes=30)
"""From choosing an offer to an API that answers; k0rdent itself calls a cluster failed after 30 minutes."""
JOIN_LIMIT = timedelta(minutes=20)
"""From an API that answers to every accelerator usable."""
DELETED = "the cluster was deleted by somebody else"


def launch_best(
    state: Pending | Placing, market: Ranked, now: datetime
) -> Pending | Placing | Launching | Waiting | Stalled:
    """Launch on the best offer, or wait for another one."""
    if state.wish.deleting or state.wish.need.hibernate or _has_attempt(state):
        return state
    if market.adopts != state.wish.need.adopts:
        return state  # the answer to an earlier wish
    if not market.placements:
        return wait_or_stall(state, market, now)
    return _launch(state, market, now) if _matches_pools(state, market) else state


def on_ranked_stalled(state: Stalled, market: Ranked, now: datetime) -> Stalled | Waiting | Launching:
    """Launch if what was not installed is there now; report what else is missing otherwise."""
    if state.reason != NOT_INSTALLED or state.wish.deleting or market.adopts != state.wish.need.adopts:
        return state
    if not market.placements:
        return wait_or_stall(state, market, now)
    return _launch(state.but(failed_attempts=()), market, now) if _matches_pools(state, market) else state


def on_launch_failed(state: Launching, failure: LaunchFailed, now: datetime) -> Launching | Placing:
    """Fail the current attempt."""
    if failure.attempt != state.attempt.number:
        return state  # the echo of an earlier try
    return _fail(state, failure.reason, failure.message, now)


def on_infra_launching(
    state: Launching, seen: InfraSeen, now: datetime
) -> ClusterState | Placing | Provisioned | Hibernated:
    """Go on once the API answers; fail the attempt if the back end reports a failure or the object was deleted."""
    if not concerns(state, seen):
        return add_seen_orphan(state, seen)
    if seen.failure:
        return _fail_refused(state, seen, now)
    if not seen.present:  # let go all the same: what was seen of so young a thing may be older than it is
        return _fail(state, LOST, DELETED, now)
    if not seen.reachable:
        return state
    secret, lent = seen.kubeconfig or f"{state.attempt.object_name(state.wish.name)}-kubeconfig", bool(seen.kubeconfig)
    risen = begin_upgrade(state, now)
    if state.wish.need.hibernate:
        return risen.to(Hibernated, kubeconfig=secret, lent=lent)
    return risen.to(Provisioned, kubeconfig=secret, lent=lent, deadline=now + JOIN_LIMIT)


def on_deadline(state: Launching | Provisioned, _: Due, now: datetime) -> Launching | Provisioned | Placing:
    """Fail an attempt that has taken too long."""
    if now < state.deadline:
        return state
    if isinstance(state, Launching) and state.blocked:
        return _fail(state, NOT_INSTALLED, state.blocked, now)
    if isinstance(state, Launching):
        return _fail(state, "TimeOut", f"no API after {LAUNCH_LIMIT.total_seconds():.0f} seconds", now)
    reason = "Interrupted" if state.was_ready and _on_spot(state) else "NeverReady"
    return _fail(state, reason, f"not ready after {JOIN_LIMIT.total_seconds():.0f} seconds", now)


def on_infra_running(state: Provisioned | Ready | Hibernated, seen: InfraSeen, now: datetime) -> ClusterState | Placing:
    """Launch again if somebody else deleted the cluster: there is nothing left to release."""
    if not concerns(state, seen):
        return add_seen_orphan(state, seen)
    if seen.present:
        return state
    return place_next(_fail(state, LOST, DELETED, now), AttemptGone(seen.attempt, adopts=seen.adopted), now)


def on_infra_provisioned(state: Provisioned, seen: InfraSeen, now: datetime) -> ClusterState | Placing:
    """Fail the attempt if machines are unavailable, which some back ends report only once there is an API to join."""
    founding = not state.was_ready and state.resizing is None
    if founding and seen.failure and concerns(state, seen):
        return _fail_refused(state, seen, now)
    return on_infra_running(state, seen, now)


def become_ready(state: Provisioned, seen: ClusterSeen, now: datetime) -> Provisioned | Ready | Placing:
    """Ready once everything bought can be used.

    An existing cluster that refuses our kubeconfig is given up: it will not change its mind. A new one may still refuse
    in its first moments.
    """
    if not is_current(state, seen):
        return state
    if state.lent and not state.was_ready and seen.refusal:
        message = f"the kubeconfig in Secret {state.kubeconfig} does not open its cluster: {seen.refusal}"
        return _fail(state, "Denied", message, now)
    return _apply_counts(state.to(Ready), seen, now) if is_complete(state, seen) else state


def check_ready(state: Ready, seen: ClusterSeen, now: datetime) -> Ready | Provisioned:
    """Provisioned again if less is there than was bought; a cluster that cannot be observed keeps its state."""
    if not is_current(state, seen):
        return state
    if not seen.known:
        return keep_size(state)
    if is_complete(state, seen):
        return _apply_counts(state, seen, now)
    interruptions = state.interruptions + _on_spot(state)
    deadline = ready_deadline(state, now + JOIN_LIMIT)
    return state.to(Provisioned, deadline=deadline, was_ready=True, interruptions=interruptions)


def _apply_counts(state: Ready, seen: ClusterSeen, now: datetime) -> Ready:
    """Bill, resize and autoscale by what was counted; extra nodes count only once a resize is over."""
    settled = finish_resize(rebill_counted(state, seen, now), seen)
    return follow_pods(rebill_counted(settled, seen, now), seen, now)


def _has_attempt(state: Pending | Placing) -> bool:
    """Whether an attempt is still being released, or is being recalled."""
    return (state.attempt if isinstance(state, Placing) else state.existing) is not None


def _matches_pools(state: ClusterState, market: Ranked) -> bool:
    """Whether the offers are for the current pools: another replica may have received a newer wish meanwhile."""
    return [lot.pool for lot in market.placements[0].lots] == [pool.name for pool in state.wish.need.pools]


def _launch(state: Pending | Placing | Stalled, market: Ranked, now: datetime) -> Launching:
    (best, *rest), number = market.placements, next_number(state)
    return state.to(
        Launching,
        attempt=Attempt(number=number, placement=best, adopts=market.adopts),
        attempts=number,
        billed_since=now,
        deadline=now + LAUNCH_LIMIT,
        short_since=None,
        next_best_per_hour=rest[0].price_per_hour if rest else None,
    )


def _fail_refused(state: Placed, seen: InfraSeen, now: datetime) -> Placing:
    """Fail the attempt for the back end's reason; without a zone of its own, it blames the whole region."""
    at = state.attempt.placement
    lots = tuple(lot.but(zone="") if seen.zoneless else lot for lot in at.lots)
    tried = state.attempt.but(placement=at.but(lots=lots))
    return _fail(state.but(attempt=tried), seen.failure, seen.message, now)


def _fail(state: Placed, reason: str, message: str, now: datetime) -> Placing:
    failed = state.attempt.but(reason=reason, message=message, failed_at=now)
    return state.to(Placing, attempt=failed, blocked="", wish=relaunch_wish(state))


def _on_spot(state: Placed) -> bool:
    return any(lot.spot for lot in state.attempt.placement.lots)


def is_current(state: Placed, seen: ClusterSeen) -> bool:
    """Whether the counts are of this attempt's cluster, not of an earlier one."""
    return seen.uid == state.uid and seen.attempt in (0, state.attempt.number)


def request(_: None, wish: Wish, now: datetime) -> Pending | Provisioned | Releasing | Released:
    """The first state of a cluster, which depends on the objects that are left of an earlier life."""
    left, current = wish.remains or Remains(), wish.but(remains=None)
    newest = max((seen for seen in left.found if _is_ours(wish, seen)), key=lambda seen: seen.attempt, default=None)
    uid = newest.uid if newest else f"{wish.uid}.{wish.generation}"
    new = Pending(uid=uid, correlation=wish.uid, wish=current, attempts=newest.attempt if newest else 0)
    if left.ended and not wish.deleting:
        return _with_orphans(new, left.found).to(Released, reason=left.ended)
    if newest is None:
        known = _with_orphans(new, left.found)
        return known.to(Released, reason="Deleted") if wish.deleting else known
    known = _with_orphans(new.but(existing=_unpriced_attempt(newest, wish.need)), left.found)
    return release_recalled(known, newest, now) if wish.deleting else known


def release_recalled(state: Pending, seen: InfraSeen, now: datetime) -> Provisioned | Releasing:
    """Release what is left: if its API answers, it is drained and cleaned first like any other cluster."""
    attempt = state.existing or _unpriced_attempt(seen, state.wish.need)
    if not seen.reachable:
        return state.to(Releasing, attempt=attempt, reason="Deleted", billed_since=now)
    secret = seen.kubeconfig or f"{attempt.object_name(state.wish.name)}-kubeconfig"
    return state.to(
        Provisioned,
        attempt=attempt,
        billed_since=now,
        kubeconfig=secret,
        lent=bool(seen.kubeconfig),
        deadline=now + JOIN_LIMIT,
    )


def on_recalled(state: Pending, answer: AttemptRecovered, now: datetime) -> Pending | Launching:
    """Go on with the recalled attempt and follow the newest wish; what it cost before is unknown."""
    if state.existing is None or answer.attempt != state.existing.number:
        return state
    attempt = state.existing.but(placement=answer.placement, message=answer.message)
    before = state.wish.but(need=answer.need, generation=state.wish.generation - 1)
    deadline = now + LAUNCH_LIMIT
    stood = state.to(Launching, wish=before, attempt=attempt, billed_since=now, deadline=deadline)
    return follow_wish(stood, state.wish, now)


def on_not_recalled(state: Pending, answer: AttemptUnrecoverable) -> Pending:
    """Release the attempt as an orphan, and launch a new one."""
    if state.existing is None or answer.attempt != state.existing.number:
        return state
    orphan = state.existing.but(backend=state.wish.need.backend, reason="Lost", message=answer.message)
    return add_orphan(state.but(existing=None), OrphanCreated(orphan))


def _is_ours(wish: Wish, seen: InfraSeen) -> bool:
    """Whether an object carries the labels of this very Colony, at the back end that the wish names."""
    return seen.uid.startswith(f"{wish.uid}.") and seen.backend == wish.need.backend


def _with_orphans(state: Pending, found: Iterable[InfraSeen]) -> Pending:
    """The state with every other object as an orphan."""
    for seen in found:
        state = add_seen_orphan(state, seen)
    return state


def _unpriced_attempt(seen: InfraSeen, need: Need) -> Attempt:
    lots = tuple(existing_lot(pool, ExistingPool(pool.name, pool.nodes), 0.0) for pool in need.pools)
    return Attempt(
        number=seen.attempt, placement=Placement(cloud="", region="", lots=lots), adopts=seen.adopted, message=UNPRICED
    )
