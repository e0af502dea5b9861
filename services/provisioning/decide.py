"""What is true of a cluster next."""

from datetime import datetime, timedelta

import msgspec

from schemas.cluster import (
    LIFECYCLE,
    NOT_INSTALLED,
    Attempt,
    ClusterState,
    Founded,
    Gone,
    InfraSeen,
    LaunchFailed,
    LaunchHeld,
    Launching,
    MadeLate,
    MarketMoved,
    Placing,
    Provisioned,
    Ranked,
    Ready,
    Released,
    Releasing,
    Requested,
    Stalled,
    Waiting,
)
from schemas.entity import Due
from schemas.inventory import ClusterSeen
from schemas.resize import Resized, ResizeRefused
from schemas.teardown import Releasing as ReleaseOrdered
from schemas.wish import Wish
from services.machine import machine, on
from services.provisioning.bill import cost
from services.provisioning.resize import amend, confirm, enough, run_late, settle, take_back
from services.provisioning.strays import forget, keep
from services.provisioning.waits import ask_again, ask_soon, go_without

LAUNCH_LIMIT = timedelta(minutes=30)
"""From choosing an offer to an answering API; k0rdent itself calls a cluster failed after 30 minutes."""
JOIN_LIMIT = timedelta(minutes=20)
"""From an answering API to every accelerator usable."""
LOST = "Lost"
DELETED = "the cluster was deleted by somebody else"


def request(_: None, wish: Wish) -> Requested | Released:
    if wish.deleting:
        return Released(uid=_incarnation(wish), correlation=wish.uid, wish=wish, because="Deleted")
    return Requested(uid=_incarnation(wish), correlation=wish.uid, wish=wish)


def request_again(state: Released, wish: Wish) -> Released | Requested:
    """It is wanted anew: by another Colony of the name, after a deletion, or because what is asked has changed."""
    if wish.uid == state.wish.uid and not wish.asks_anew(state.wish):
        # Where its Colony changed elsewhere, what ran out of time or work is not founded again.
        deleted = wish.deleting and wish.newer_than(state.wish)
        return msgspec.structs.replace(state, wish=wish) if deleted else state
    if wish.deleting:
        return state
    return Requested(uid=_incarnation(wish), correlation=wish.uid, wish=wish, strays=state.strays)


def reconsider(state: Requested | Placing, wish: Wish) -> Requested | Placing:
    """Nothing is founded yet: the newest wish simply counts."""
    return msgspec.structs.replace(state, wish=wish) if wish.newer_than(state.wish) else state


def let_ask_again(state: Releasing, wish: Wish) -> Releasing:
    """What is asked for anew is asked for once this is gone."""
    if not wish.newer_than(state.wish) or wish.asks_anew(state.wish):
        return state
    return msgspec.structs.replace(state, wish=wish)


def try_again(state: Stalled | Waiting, wish: Wish) -> Stalled | Waiting | Requested:
    """What could not be founded as asked may be founded as asked now."""
    if not wish.newer_than(state.wish):
        return state
    if wish.deleting:
        return msgspec.structs.replace(state, wish=wish)
    return state.to(Requested, wish=wish, tried=())


def choose(
    state: Requested | Placing, market: Ranked, now: datetime
) -> Requested | Placing | Launching | Waiting | Stalled:
    if state.wish.deleting or getattr(state, "attempt", None) is not None:
        return state
    if not market.placements:
        return go_without(state, market, now)
    return _launch(state, market, now)


def _launch(state: Requested | Placing | Stalled, market: Ranked, now: datetime) -> Launching:
    best, *rest = market.placements
    return state.to(
        Launching,
        attempt=Attempt(number=state.attempts + 1, placement=best),
        attempts=state.attempts + 1,
        billed_since=now,
        deadline=now + LAUNCH_LIMIT,
        short_since=None,
        next_best_per_hour=rest[0].price_per_hour if rest else None,
    )


def recover(state: Stalled, market: Ranked, now: datetime) -> Stalled | Waiting | Launching:
    """What was not installed is there now; or something else is missing."""
    if state.reason != NOT_INSTALLED or state.wish.deleting:
        return state
    if not market.placements:
        return go_without(state, market, now)
    return _launch(msgspec.structs.replace(state, tried=()), market, now)


def hold(state: Launching, held: LaunchHeld) -> Launching:
    return msgspec.structs.replace(state, held=held.message) if held.attempt == state.attempt.number else state


def fall_back(state: Launching, failure: LaunchFailed, now: datetime) -> Launching | Placing:
    if failure.attempt != state.attempt.number:
        return state  # the echo of an earlier try
    return _give_up(state, failure.reason, failure.message, now)


def rise(state: Launching, seen: InfraSeen, now: datetime) -> Launching | Placing | Provisioned:
    if not _concerns(state, seen):
        return state
    if seen.failure:
        return _give_up(state, seen.failure, seen.message, now)
    if not seen.present:  # let go all the same: what was seen of so young a thing may be older than it is
        return _give_up(state, LOST, DELETED, now)
    if not seen.reachable:
        return state
    secret = f"{state.attempt.object_name(state.wish.name)}-kubeconfig"
    return state.to(Provisioned, kubeconfig=secret, deadline=now + JOIN_LIMIT)


def give_up(state: Launching | Provisioned, _: Due, now: datetime) -> Launching | Provisioned | Placing:
    if now < state.deadline:
        return state
    if isinstance(state, Launching) and state.held:
        return _give_up(state, NOT_INSTALLED, state.held, now)
    if isinstance(state, Launching):
        return _give_up(state, "TimeOut", f"no API after {LAUNCH_LIMIT.total_seconds():.0f} seconds", now)
    reason = "Interrupted" if state.was_ready and _on_spot(state) else "NeverReady"
    return _give_up(state, reason, f"not ready after {JOIN_LIMIT.total_seconds():.0f} seconds", now)


def lose(state: Provisioned | Ready, seen: InfraSeen, now: datetime) -> ClusterState | Placing:
    """Somebody else deleted it: there is nothing to let go, and it is founded anew."""
    if not _concerns(state, seen) or seen.present:
        return state
    return try_next(_give_up(state, LOST, DELETED, now), Gone(seen.attempt), now)


def complete(state: Provisioned, seen: ClusterSeen) -> Provisioned | Ready:
    return settle(state.to(Ready), seen) if _is_of(state, seen) and enough(state, seen) else state


def recount(state: Ready, seen: ClusterSeen, now: datetime) -> Ready | Provisioned:
    """A cluster that is heard, and has less than was bought, is not ready; one that is not heard stays what it was."""
    if not _is_of(state, seen) or not seen.known:
        return state
    if enough(state, seen):
        return settle(state, seen)
    interruptions = state.interruptions + _on_spot(state)
    return state.to(Provisioned, deadline=now + JOIN_LIMIT, was_ready=True, interruptions=interruptions)


def let_go(state: Launching | Provisioned | Ready, order: ReleaseOrdered) -> Founded | Releasing:
    return state.to(Releasing, because=order.why) if order.uid == state.uid else state


def let_go_place(state: Placing, order: ReleaseOrdered) -> Placing | Releasing | Released:
    if order.uid != state.uid:
        return state
    if state.attempt is None or state.billed_since is None:
        return state.to(Released, because=order.why)
    return state.to(Releasing, because=order.why, attempt=state.attempt, billed_since=state.billed_since)


def drop(state: Requested | Waiting | Stalled, order: ReleaseOrdered) -> Requested | Waiting | Stalled | Released:
    return state.to(Released, because=order.why) if order.uid == state.uid else state


def finish(state: Releasing, gone: Gone, now: datetime) -> ClusterState | Released:
    if gone.attempt != state.attempt.number:
        return forget(state, gone)
    return state.to(Released, cost_usd=cost(state, state.attempt.placement, state.billed_since, now))


def finish_seen(state: Releasing, seen: InfraSeen, now: datetime) -> ClusterState | Released:
    if seen.present or not _concerns(state, seen):
        return state
    return finish(state, Gone(seen.attempt), now)


def try_next(state: Placing, gone: Gone, now: datetime) -> ClusterState:
    """The failed try is gone: it joins the tried ones, and the market is asked again."""
    if state.attempt is None or gone.attempt != state.attempt.number:
        return forget(state, gone)
    return state.to(
        Placing,
        attempt=None,
        billed_since=None,
        tried=(*state.tried, state.attempt),
        cost_usd=cost(state, state.attempt.placement, state.billed_since, now),
    )


def try_next_seen(state: Placing, seen: InfraSeen, now: datetime) -> ClusterState:
    if state.attempt is None or seen.present or seen.uid != state.uid:
        return state
    if state.attempt.reason == LOST:  # that is what was heard already: its release makes sure
        return state
    return try_next(state, Gone(seen.attempt), now)


def _give_up(state: Founded, reason: str, message: str, now: datetime) -> Placing:
    failed = msgspec.structs.replace(state.attempt, reason=reason, message=message, failed_at=now)
    return state.to(Placing, attempt=failed)


def _on_spot(state: Founded) -> bool:
    return any(lot.spot for lot in state.attempt.placement.lots)


def _concerns(state: Founded | Releasing, seen: InfraSeen) -> bool:
    return seen.uid == state.uid and seen.attempt == state.attempt.number


def _is_of(state: Founded, seen: ClusterSeen) -> bool:
    """What was counted on the cluster of an earlier attempt says nothing of this one."""
    return seen.uid == state.uid and seen.attempt in (0, state.attempt.number)


def _incarnation(wish: Wish) -> str:
    return f"{wish.uid}.{wish.generation}"


decide = machine(
    LIFECYCLE,
    on(type(None), Wish, request),
    on(Released, Wish, request_again),
    on((Requested, Placing), Wish, reconsider),
    on(Releasing, Wish, let_ask_again),
    on((Stalled, Waiting), Wish, try_again),
    on((Launching, Provisioned, Ready), Wish, amend),
    on((Requested, Placing), Ranked, choose),
    on(Stalled, Ranked, recover),
    on(Launching, LaunchHeld, hold),
    on(Waiting, Due, ask_again),
    on(Waiting, MarketMoved, ask_soon),
    on(Launching, LaunchFailed, fall_back),
    on(Launching, InfraSeen, rise),
    on((Launching, Provisioned), Due, give_up),
    on((Provisioned, Ready), InfraSeen, lose),
    on(Provisioned, ClusterSeen, complete),
    on(Ready, ClusterSeen, recount),
    on(Ready, Due, run_late),
    on((Launching, Provisioned, Ready), Resized, confirm),
    on((Launching, Provisioned, Ready), ResizeRefused, take_back),
    on((Launching, Provisioned, Ready), ReleaseOrdered, let_go),
    on(Placing, ReleaseOrdered, let_go_place),
    on((Requested, Waiting, Stalled), ReleaseOrdered, drop),
    on((Requested, Placing, Launching, Provisioned, Ready, Waiting, Stalled, Releasing, Released), MadeLate, keep),
    on((Requested, Launching, Provisioned, Ready, Waiting, Stalled, Released), Gone, forget),
    on(Placing, Gone, try_next),
    on(Placing, InfraSeen, try_next_seen),
    on(Releasing, Gone, finish),
    on(Releasing, InfraSeen, finish_seen),
)
