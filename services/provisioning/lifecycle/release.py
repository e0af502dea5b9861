"""Releases attempts: by order, after a failure, because others deleted them, or because they are orphans.

A launch call can outlive its attempt: its process hangs, others release the attempt and find nothing, then the call
succeeds. Its caller reports that, if it still runs; in any case the back end's object is seen. Such an orphan is
released in parallel with everything else.
"""

from datetime import datetime
from typing import TypeVar

from schemas.attempts import AttemptBlocked, AttemptGone, OrphanCreated
from schemas.cluster import (
    ClusterState,
    Hibernated,
    Holding,
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
from schemas.infra import InfraSeen
from schemas.placement import Attempt, Placement
from schemas.teardown import TeardownReleasing
from schemas.wish import Wish
from services.colony.accounting import cost
from services.provisioning.lifecycle.update import relaunch_wish

S = TypeVar("S", bound=ClusterState)
LATE = "Late"
"""The reason of an orphan that nothing else was wrong with: an adopted object is only released, never deleted."""
UNKNOWN_PLACEMENT = Placement(cloud="", region="", lots=())
"""The placement of an orphan: releasing it takes its number only."""

LOST = "Lost"
"""The reason of an attempt that somebody else deleted."""


def release(state: Launching | Provisioned | Ready | Hibernated, order: TeardownReleasing) -> Placed | Releasing:
    """Release the cluster."""
    if order.uid != state.uid:
        return state
    return state.to(Releasing, reason=order.reason, blocked="", wish=_final_wish(order, relaunch_wish(state)))


def release_placing(state: Placing, order: TeardownReleasing) -> Placing | Releasing | Released:
    """Release the failed attempt if there still is one, and end."""
    if order.uid != state.uid:
        return state
    wish = _final_wish(order, state.wish)
    if state.attempt is None or state.billed_since is None:
        return state.to(Released, reason=order.reason, wish=wish)
    return state.to(Releasing, reason=order.reason, wish=wish, attempt=state.attempt, billed_since=state.billed_since)


def release_unplaced(state: Waiting | Stalled, order: TeardownReleasing) -> Waiting | Stalled | Released:
    """End: nothing was launched."""
    if order.uid != state.uid:
        return state
    return state.to(Released, reason=order.reason, wish=_final_wish(order, state.wish))


def release_requested(state: Pending, order: TeardownReleasing, now: datetime) -> Pending | Releasing | Released:
    """Release what is left of an earlier life, or end."""
    if order.uid != state.uid:
        return state
    wish = _final_wish(order, state.wish)
    if state.existing is None:
        return state.to(Released, reason=order.reason, wish=wish)
    return state.to(Releasing, reason=order.reason, wish=wish, attempt=state.existing, billed_since=now)


def _final_wish(order: TeardownReleasing, wish: Wish) -> Wish:
    """The wish as the cluster ends with it: a request made after the end was decided asks for the next cluster."""
    return wish.but(asked_at=order.wish.asked_at)


def on_attempt_blocked(state: Launching | Placing | Releasing, held: AttemptBlocked) -> Launching | Placing | Releasing:
    """Keep what people have to mend before the attempt can go on."""
    if state.attempt is None or held.attempt != state.attempt.number:
        return state
    return state.but(blocked=held.message)


def finish_release(state: Releasing, gone: AttemptGone, now: datetime) -> ClusterState | Released:
    """End, if it is this attempt that is gone."""
    if not is_about(state.attempt, gone):
        return remove_orphan(state, gone)
    return state.to(Released, cost_usd=cost(state, state.attempt.placement, state.billed_since, now))


def finish_release_seen(state: Releasing, seen: InfraSeen, now: datetime) -> ClusterState | Released:
    """End once the object is seen to be gone."""
    if not concerns(state, seen):
        return add_seen_orphan(state, seen)
    return state if seen.present else finish_release(state, AttemptGone(seen.attempt, adopts=seen.adopted), now)


def place_next(state: Placing, gone: AttemptGone, now: datetime) -> ClusterState:
    """Ask the market again once the failed attempt is gone."""
    if state.attempt is None or not is_about(state.attempt, gone):
        return remove_orphan(state, gone)
    return state.to(
        Placing,
        attempt=None,
        billed_since=None,
        blocked="",
        failed_attempts=(*state.failed_attempts, state.attempt),
        cost_usd=cost(state, state.attempt.placement, state.billed_since, now),
    )


def place_next_seen(state: Placing, seen: InfraSeen, now: datetime) -> ClusterState:
    """Ask the market again once the failed attempt's object is seen to be gone."""
    if state.attempt is None or not concerns(state, seen):
        return add_seen_orphan(state, seen)
    if seen.present or state.attempt.reason == LOST:  # known already: its release makes sure
        return state
    return place_next(state, AttemptGone(seen.attempt, adopts=seen.adopted), now)


def concerns(state: Placed | Placing | Releasing, seen: InfraSeen) -> bool:
    """Whether the object is the current attempt's: adopted objects and those beneath it can carry the same number."""
    own, at_home = state.attempt, seen.backend in ("", state.wish.need.backend)
    same = own is not None and (seen.uid, seen.attempt, seen.adopted) == (state.uid, own.number, own.adopts)
    return same and at_home


def add_orphan(state: S, late: OrphanCreated) -> S:
    """Add an orphan, even if it seems to be the current attempt: its reporter read a newer state than this one."""
    if any(_same_attempt(stray, late.orphan) for stray in state.orphans):
        return state
    stray = late.orphan.but(reason=late.orphan.reason or LATE)
    return state.but(orphans=(*state.orphans, stray))


def add_seen_orphan(state: S, seen: InfraSeen) -> S:
    """Add an object with our labels that is no current attempt as an orphan, unless it is being deleted already.

    Not an orphan: an object under the current attempt's name, which makes that attempt fail and be released; and the
    Cluster that k0rdent creates beneath its own object with the same labels. An orphan is released where it was seen:
    an earlier incarnation may have used another back end.
    """
    stray = Attempt(number=seen.attempt, placement=UNKNOWN_PLACEMENT, backend=seen.backend, adopts=seen.adopted)
    own = state.attempt if isinstance(state, Holding) else state.existing if isinstance(state, Pending) else None
    same = own is not None and (own.number, own.adopts) == (seen.attempt, seen.adopted)
    in_the_way = same and (seen.backend in ("", state.wish.need.backend) or seen.uid == state.uid)
    return state if not seen.present or seen.deleting or in_the_way else add_orphan(state, OrphanCreated(stray))


def remove_orphan(state: ClusterState, gone: AttemptGone) -> ClusterState:
    """Forget an orphan that is gone."""
    left = tuple(stray for stray in state.orphans if not is_about(stray, gone))
    return state if left == state.orphans else state.but(orphans=left)


def is_about(attempt: Attempt, gone: AttemptGone) -> bool:
    """Whether the message is about this attempt: orphans of other back ends and adopted ones can share its number."""
    return (attempt.number, attempt.backend, attempt.adopts) == (gone.attempt, gone.backend, gone.adopts)


def _same_attempt(one: Attempt, other: Attempt) -> bool:
    return (one.number, one.backend, one.adopts) == (other.number, other.backend, other.adopts)


def next_number(state: ClusterState) -> int:
    """The number of the next attempt: never an orphan's, whose objects are deleted by name."""
    return max((state.attempts, *(stray.number for stray in state.orphans))) + 1
