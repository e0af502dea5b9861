"""What a cluster costs is added up piece by piece, each at the price it had then."""

from datetime import datetime

from schemas.cluster import ClusterState, Placement


def cost(state: ClusterState, placement: Placement, since: datetime | None, now: datetime) -> float:
    """USD of all that was billed before, and of a placement from `since` until `now`."""
    hours = (now - (since or now)).total_seconds() / 3600
    return round(state.cost_usd + placement.price_per_hour * hours, 6)
