"""Recalls or releases a cluster whose history was lost, but whose objects still carry our labels.

It is recalled if its Colony remains and its objects tell enough, and released otherwise.
"""

from collections.abc import Iterable
from datetime import datetime

from schemas.attempts import AttemptRecovered, AttemptUnrecoverable, OrphanCreated
from schemas.cluster import Launching, Pending, Provisioned, Released, Releasing
from schemas.infra import InfraSeen, Remains
from schemas.placement import Attempt, Placement
from schemas.wish import Need, Wish
from services.clouds.existing_cluster import ExistingPool
from services.provisioning.lifecycle.launch import JOIN_LIMIT, LAUNCH_LIMIT
from services.provisioning.lifecycle.release import add_orphan, add_seen_orphan
from services.provisioning.lifecycle.resize import follow_wish
from services.provisioning.placement.adoption import UNPRICED, existing_lot


def request(_: None, wish: Wish, now: datetime) -> Pending | Provisioned | Releasing | Released:
    """The first state of a cluster, which depends on the objects that are left of an earlier life."""
    left, asked = wish.remains or Remains(), wish.but(remains=None)
    newest = max((seen for seen in left.found if _is_ours(wish, seen)), key=lambda seen: seen.attempt, default=None)
    uid = newest.uid if newest else f"{wish.uid}.{wish.generation}"
    new = Pending(uid=uid, correlation=wish.uid, wish=asked, attempts=newest.attempt if newest else 0)
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


def on_recalled(state: Pending, told: AttemptRecovered, now: datetime) -> Pending | Launching:
    """Go on with the recalled attempt and follow the newest wish; what it cost before is unknown."""
    if state.existing is None or told.attempt != state.existing.number:
        return state
    attempt = state.existing.but(placement=told.placement, message=told.message)
    before = state.wish.but(need=told.need, generation=state.wish.generation - 1)
    deadline = now + LAUNCH_LIMIT
    stood = state.to(Launching, wish=before, attempt=attempt, billed_since=now, deadline=deadline)
    return follow_wish(stood, state.wish, now)


def on_not_recalled(state: Pending, told: AttemptUnrecoverable) -> Pending:
    """Release the attempt as an orphan, and launch a new one."""
    if state.existing is None or told.attempt != state.existing.number:
        return state
    stray = state.existing.but(backend=state.wish.need.backend, reason="Lost", message=told.message)
    return add_orphan(state.but(existing=None), OrphanCreated(stray))


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
