"""A cluster without an attempt follows its newest wish, and asks the market again with a growing delay."""

from datetime import datetime, timedelta
from zlib import crc32

from schemas.attempts import MarketChanged
from schemas.cluster import NOT_INSTALLED, Pending, Placing, Released, Releasing, Stalled, Waiting
from schemas.entity import Due
from schemas.placement import Ranked
from schemas.wish import Wish
from services.provisioning.placement.cooldowns import cooldown, still_counts

SHORTEST_WAIT = timedelta(minutes=1)
"""The shortest and the longest time until the market is asked again; it grows with the time spent waiting."""
LONGEST_WAIT = timedelta(minutes=30)
SETTLE_TIME = timedelta(minutes=1)
"""From the first change of the market to asking it: changes come in bursts."""


def request_again(state: Released, wish: Wish) -> Released | Pending:
    """Request the cluster again: for another Colony of the name, after a deletion, or because a person asked."""
    if wish.uid == state.wish.uid and not wish.asks_anew(state.wish):
        # However its Colony changes, what ran out of time or work is bought again for no edit.
        deleted = wish.deleting and wish.newer_than(state.wish)
        return state.but(wish=wish) if deleted else state
    if wish.deleting:
        return state
    return Pending(uid=_incarnation(wish), correlation=wish.uid, wish=wish, orphans=state.orphans)


def replace_wish(state: Pending | Placing, wish: Wish) -> Pending | Placing:
    """Follow the newest wish: nothing has been launched yet."""
    return state.but(wish=wish) if wish.newer_than(state.wish) else state


def on_wish_releasing(state: Releasing, wish: Wish) -> Releasing:
    """Keep the newest wish, unless it asks for the next cluster: that one is requested once this one is released."""
    if not wish.newer_than(state.wish) or wish.asks_anew(state.wish):
        return state
    return state.but(wish=wish)


def on_wish_unplaced(state: Stalled | Waiting, wish: Wish) -> Stalled | Waiting | Pending:
    """Request the cluster as it is asked for now."""
    if not wish.newer_than(state.wish):
        return state
    if wish.deleting:
        return state.but(wish=wish)
    return state.to(Pending, wish=wish, failed_attempts=())


def _incarnation(wish: Wish) -> str:
    return f"{wish.uid}.{wish.generation}"


def wait_or_stall(state: Pending | Placing | Stalled, market: Ranked, now: datetime) -> Waiting | Stalled:
    """Stall if only another wish or an installation can help, else wait and ask the market again."""
    if cooldown(market.reason).final or market.reason == NOT_INSTALLED:
        return state.to(Stalled, reason=market.reason, message=market.message)
    since = state.short_since or now
    wait = min(max(now - since, SHORTEST_WAIT), LONGEST_WAIT) * _jitter(state.uid)
    return state.to(Waiting, reason=market.reason, message=market.message, short_since=since, until=now + wait)


def place_again(state: Waiting, _: Due, now: datetime) -> Waiting | Placing:
    """Ask the market again; failures from long ago no longer count."""
    if now < state.until or state.wish.deleting:
        return state
    return state.to(
        Placing, failed_attempts=tuple(attempt for attempt in state.failed_attempts if still_counts(attempt, now))
    )


def on_market_moved(state: Waiting, _: MarketChanged, now: datetime) -> Waiting:
    """Ask the market soon."""
    return state.but(until=min(state.until, now + SETTLE_TIME))


def _jitter(uid: str) -> float:
    """0.9 to 1.1, derived from the uid: clusters that began to wait together do not all ask at the same time."""
    return 0.9 + crc32(uid.encode()) % 1000 / 5000
