"""When a cluster goes by itself, and when that is said."""

from datetime import datetime, timedelta

from schemas.teardown import TeardownState


def next_end(state: TeardownState) -> tuple[datetime, str] | None:
    """The nearest limit: when, and which."""
    limits = _limits(state)
    return min(limits) if limits else None


def warn_at(state: TeardownState, end_at: datetime) -> datetime:
    """When people are told: as long before as they asked, but never more than half the limit."""
    limits = state.wish.limits
    shortest = min(limit for limit in (limits.time_to_live, limits.idle_after) if limit is not None)
    return end_at - timedelta(seconds=min(limits.warn_before, shortest / 2))


def _limits(state: TeardownState) -> list[tuple[datetime, str]]:
    if state.ready_since is None:
        return []
    limits = state.wish.limits
    may_idle = state.idle_since and not state.wish.need.hibernate
    idle_since = max(state.idle_since, state.ready_since) if state.idle_since and may_idle else None
    pairs = ((state.ready_since, limits.time_to_live, "TimeToLive"), (idle_since, limits.idle_after, "Idle"))
    return [(since + timedelta(seconds=span), why) for since, span, why in pairs if since and span is not None]
