"""A cluster is let go: by an order, by a failed try, or because somebody else deleted it."""

from datetime import datetime

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
from schemas.founding import Gone, Held
from schemas.infra import InfraSeen
from schemas.teardown import Releasing as ReleaseOrdered
from schemas.wish import Wish
from services.colony.cost import cost
from services.provisioning.lifecycle.orphans import find, forget, is_gone
from services.provisioning.lifecycle.pools import asked_for

LOST = "Lost"
"""The reason of an attempt that somebody else deleted."""


def let_go(state: Launching | Provisioned | Ready | Hibernated, order: ReleaseOrdered) -> Founded | Releasing:
    if order.uid != state.uid:
        return state
    return state.to(Releasing, because=order.why, held="", wish=_asked_before(order, asked_for(state)))


def let_go_place(state: Placing, order: ReleaseOrdered) -> Placing | Releasing | Released:
    if order.uid != state.uid:
        return state
    wish = _asked_before(order, state.wish)
    if state.attempt is None or state.billed_since is None:
        return state.to(Released, because=order.why, wish=wish)
    return state.to(Releasing, because=order.why, wish=wish, attempt=state.attempt, billed_since=state.billed_since)


def drop(state: Waiting | Stalled, order: ReleaseOrdered) -> Waiting | Stalled | Released:
    if order.uid != state.uid:
        return state
    return state.to(Released, because=order.why, wish=_asked_before(order, state.wish))


def drop_request(state: Requested, order: ReleaseOrdered, now: datetime) -> Requested | Releasing | Released:
    """What stands of a former life goes with it."""
    if order.uid != state.uid:
        return state
    wish = _asked_before(order, state.wish)
    if state.standing is None:
        return state.to(Released, because=order.why, wish=wish)
    return state.to(Releasing, because=order.why, wish=wish, attempt=state.standing, billed_since=now)


def _asked_before(order: ReleaseOrdered, wish: Wish) -> Wish:
    """The wish as it ends: whoever asked for it after its end was decided asks for the next."""
    return msgspec.structs.replace(wish, asked_at=order.wish.asked_at)


def hold(state: Launching | Placing | Releasing, held: Held) -> Launching | Placing | Releasing:
    """People are told what they have to mend; it goes on by itself then."""
    if state.attempt is None or held.attempt != state.attempt.number:
        return state
    return msgspec.structs.replace(state, held=held.message)


def finish(state: Releasing, gone: Gone, now: datetime) -> ClusterState | Released:
    if not is_gone(state.attempt, gone):
        return forget(state, gone)
    return state.to(Released, cost_usd=cost(state, state.attempt.placement, state.billed_since, now))


def finish_seen(state: Releasing, seen: InfraSeen, now: datetime) -> ClusterState | Released:
    if not concerns(state, seen):
        return find(state, seen)
    return state if seen.present else finish(state, Gone(seen.attempt, adopts=seen.adopted), now)


def try_next(state: Placing, gone: Gone, now: datetime) -> ClusterState:
    """The failed try is gone: it joins the tried ones, and the market is asked again."""
    if state.attempt is None or not is_gone(state.attempt, gone):
        return forget(state, gone)
    return state.to(
        Placing,
        attempt=None,
        billed_since=None,
        held="",
        tried=(*state.tried, state.attempt),
        cost_usd=cost(state, state.attempt.placement, state.billed_since, now),
    )


def try_next_seen(state: Placing, seen: InfraSeen, now: datetime) -> ClusterState:
    if state.attempt is None or not concerns(state, seen):
        return find(state, seen)
    if seen.present or state.attempt.reason == LOST:  # that is what was heard already: its release makes sure
        return state
    return try_next(state, Gone(seen.attempt, adopts=seen.adopted), now)


def concerns(state: Founded | Placing | Releasing, seen: InfraSeen) -> bool:
    """What others made, and what was made for an attempt, may bear the same number; and so does what is beneath."""
    own, at_home = state.attempt, seen.backend in ("", state.wish.need.backend)
    same = own is not None and (seen.uid, seen.attempt, seen.adopted) == (state.uid, own.number, own.adopts)
    return same and at_home
