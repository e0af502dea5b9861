"""What a cluster costs is added up piece by piece, each at the price it had then."""

from datetime import datetime

from schemas.cluster import ClusterState
from schemas.placement import Attempt, Placement


def cost(state: ClusterState, placement: Placement, since: datetime | None, now: datetime) -> float:
    """USD of all that was billed before, and of a placement from `since` until `now`."""
    hours = max(0.0, (now - (since or now)).total_seconds() / 3600)  # the clock may have been set back since
    return round(state.cost_usd + placement.price_per_hour * hours, 6)


def held(state: ClusterState) -> tuple[Attempt | None, datetime | None]:
    """What it has, or may have, and since when that costs what its placement says."""
    return getattr(state, "attempt", None), getattr(state, "billed_since", None)


def so_far(state: ClusterState, now: datetime) -> float:
    """USD of all that the cluster has cost until now."""
    attempt, since = held(state)
    return cost(state, attempt.placement, since, now) if attempt else state.cost_usd
