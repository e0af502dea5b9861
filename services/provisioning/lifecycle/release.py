"""A cluster is let go: by an order, by a failed try, or because somebody else deleted it."""

from datetime import datetime
from typing import TypeVar

import msgspec

from schemas.cluster import (
    ClusterState,
    Founded,
    Hibernated,
    Launching,
    Placing,
    Provisioned,
    Ready,
    Released,
    Releasing,
    Requested,
    Stalled,
    Waiting,
)
from schemas.founding import Gone, Held, MadeLate
from schemas.infra import InfraSeen
from schemas.placement import Attempt, Placement
from schemas.teardown import Releasing as ReleaseOrdered
from schemas.wish import Wish
from services.colony.accounting import cost
from services.provisioning.lifecycle.upgrade import relaunch_wish

S = TypeVar("S", bound=ClusterState)
LATE = "Late"
"""Why a stray came to nothing, where nothing else was wrong: what others made is only handed back, then."""
UNKNOWN_PLACEMENT = Placement(cloud="", region="", lots=())
"""Where a stray is: its release asks for its number alone."""

LOST = "Lost"
"""The reason of an attempt that somebody else deleted."""


def release(state: Launching | Provisioned | Ready | Hibernated, order: ReleaseOrdered) -> Founded | Releasing:
    if order.uid != state.uid:
        return state
    return state.to(Releasing, because=order.why, held="", wish=_final_wish(order, relaunch_wish(state)))


def release_placing(state: Placing, order: ReleaseOrdered) -> Placing | Releasing | Released:
    if order.uid != state.uid:
        return state
    wish = _final_wish(order, state.wish)
    if state.attempt is None or state.billed_since is None:
        return state.to(Released, because=order.why, wish=wish)
    return state.to(Releasing, because=order.why, wish=wish, attempt=state.attempt, billed_since=state.billed_since)


def release_unplaced(state: Waiting | Stalled, order: ReleaseOrdered) -> Waiting | Stalled | Released:
    if order.uid != state.uid:
        return state
    return state.to(Released, because=order.why, wish=_final_wish(order, state.wish))


def release_requested(state: Requested, order: ReleaseOrdered, now: datetime) -> Requested | Releasing | Released:
    """What stands of a former life goes with it."""
    if order.uid != state.uid:
        return state
    wish = _final_wish(order, state.wish)
    if state.standing is None:
        return state.to(Released, because=order.why, wish=wish)
    return state.to(Releasing, because=order.why, wish=wish, attempt=state.standing, billed_since=now)


def _final_wish(order: ReleaseOrdered, wish: Wish) -> Wish:
    """The wish as it ends: whoever asked for it after its end was decided asks for the next."""
    return msgspec.structs.replace(wish, asked_at=order.wish.asked_at)


def on_attempt_blocked(state: Launching | Placing | Releasing, held: Held) -> Launching | Placing | Releasing:
    """People are told what they have to mend; it goes on by itself then."""
    if state.attempt is None or held.attempt != state.attempt.number:
        return state
    return msgspec.structs.replace(state, held=held.message)


def finish_release(state: Releasing, gone: Gone, now: datetime) -> ClusterState | Released:
    if not is_about(state.attempt, gone):
        return remove_orphan(state, gone)
    return state.to(Released, cost_usd=cost(state, state.attempt.placement, state.billed_since, now))


def finish_release_seen(state: Releasing, seen: InfraSeen, now: datetime) -> ClusterState | Released:
    if not concerns(state, seen):
        return add_seen_orphan(state, seen)
    return state if seen.present else finish_release(state, Gone(seen.attempt, adopts=seen.adopted), now)


def place_next(state: Placing, gone: Gone, now: datetime) -> ClusterState:
    """The failed try is gone: it joins the tried ones, and the market is asked again."""
    if state.attempt is None or not is_about(state.attempt, gone):
        return remove_orphan(state, gone)
    return state.to(
        Placing,
        attempt=None,
        billed_since=None,
        held="",
        tried=(*state.tried, state.attempt),
        cost_usd=cost(state, state.attempt.placement, state.billed_since, now),
    )


def place_next_seen(state: Placing, seen: InfraSeen, now: datetime) -> ClusterState:
    if state.attempt is None or not concerns(state, seen):
        return add_seen_orphan(state, seen)
    if seen.present or state.attempt.reason == LOST:  # that is what was heard already: its release makes sure
        return state
    return place_next(state, Gone(seen.attempt, adopts=seen.adopted), now)


def concerns(state: Founded | Placing | Releasing, seen: InfraSeen) -> bool:
    """What others made, and what was made for an attempt, may bear the same number; and so does what is beneath."""
    own, at_home = state.attempt, seen.backend in ("", state.wish.need.backend)
    same = own is not None and (seen.uid, seen.attempt, seen.adopted) == (state.uid, own.number, own.adopts)
    return same and at_home


def add_orphan(state: S, late: MadeLate) -> S:
    """Even where it seems to be the current one: who says so read the stream's last word, which this may not be."""
    if any(_same_attempt(stray, late.stray) for stray in state.strays):
        return state
    stray = msgspec.structs.replace(late.stray, reason=late.stray.reason or LATE)
    return msgspec.structs.replace(state, strays=(*state.strays, stray))


def add_seen_orphan(state: S, seen: InfraSeen) -> S:
    """Whatever bears our name and is no attempt of now is a stray, even an earlier incarnation's; what goes is none.

    One in the way of the current attempt, under its very name, is none either: that one fails, and is released. Nor is
    the Cluster that k0rdent makes beneath it, with all its marks.
    It is released where it was seen: an earlier incarnation may have been founded by another back end.
    """
    stray = Attempt(number=seen.attempt, placement=UNKNOWN_PLACEMENT, backend=seen.backend, adopts=seen.adopted)
    own = getattr(state, "attempt", None) or getattr(state, "standing", None)
    same = own is not None and (own.number, own.adopts) == (seen.attempt, seen.adopted)
    in_the_way = same and (seen.backend in ("", state.wish.need.backend) or seen.uid == state.uid)
    return state if not seen.present or seen.going or in_the_way else add_orphan(state, MadeLate(stray))


def remove_orphan(state: ClusterState, gone: Gone) -> ClusterState:
    left = tuple(stray for stray in state.strays if not is_about(stray, gone))
    return state if left == state.strays else msgspec.structs.replace(state, strays=left)


def is_about(attempt: Attempt, gone: Gone) -> bool:
    """Whether that is said of this attempt: a stray of another back end, or an adopted one, may bear its number."""
    return (attempt.number, attempt.backend, attempt.adopts) == (gone.attempt, gone.backend, gone.adopts)


def _same_attempt(one: Attempt, other: Attempt) -> bool:
    return (one.number, one.backend, one.adopts) == (other.number, other.backend, other.adopts)


def next_number(state: ClusterState) -> int:
    """The next attempt's: its objects must not be taken for those of a stray, which are deleted by name."""
    return max((state.attempts, *(stray.number for stray in state.strays))) + 1
