"""How long each kind of failure counts, and how much of the market it closes."""

from collections.abc import Iterator
from datetime import datetime, timedelta
from enum import Enum
from typing import NamedTuple

from schemas.cluster import NOT_INSTALLED
from schemas.placement import Attempt, Lot
from services.market.capacity import blamed_lots


class Scope(Enum):
    """How much of the market a failed attempt closes; the value is the number of names in its slice."""

    CLOUD = 1
    REGION = 2
    TYPE = 3
    """One machine type in the region, in every zone, on demand and spot."""
    KIND = 4
    """Every machine with that accelerator in the region, bought the same way."""
    MACHINE = 5
    """One machine type in one zone, bought the same way."""


class Cooldown(NamedTuple):
    """What one kind of failure means for the next choice."""

    lasts: timedelta
    width: Scope
    final: bool = False
    """Only another wish helps."""
    shared: bool = False
    """The tenant's credential failed: it counts for all clusters of the tenant."""


NOTHING_TO_ADOPT = "NothingToAdopt"
"""The cluster to adopt does not exist."""
DEFAULT_COOLDOWN = Cooldown(timedelta(minutes=15), Scope.CLOUD)
PERMANENT = Cooldown(timedelta.max, Scope.CLOUD, final=True)
COOLDOWNS: dict[str, Cooldown] = {
    "NoCapacity": Cooldown(timedelta(minutes=15), Scope.MACHINE),
    "Interrupted": Cooldown(timedelta(minutes=30), Scope.MACHINE),
    "Lost": Cooldown(timedelta(minutes=30), Scope.MACHINE),
    "Taken": Cooldown(timedelta(minutes=1), Scope.MACHINE),
    "AlreadyExists": Cooldown(timedelta(minutes=1), Scope.MACHINE),
    "Quota": Cooldown(timedelta(hours=1), Scope.KIND),
    "NeverReady": Cooldown(timedelta(hours=1), Scope.TYPE),
    "TimeOut": Cooldown(timedelta(hours=1), Scope.REGION),
    "Failed": Cooldown(timedelta(hours=1), Scope.REGION),
    "Denied": DEFAULT_COOLDOWN._replace(shared=True),
    NOT_INSTALLED: Cooldown(timedelta(0), Scope.CLOUD),
    "BadConfiguration": PERMANENT,
    "BadTemplate": PERMANENT,
    "Invalid": PERMANENT,
    "OnePool": PERMANENT,
    "UnknownBackend": PERMANENT,
    NOTHING_TO_ADOPT: PERMANENT,
    "DoesNotFit": PERMANENT,
    "NoPrice": PERMANENT,
}
"""By reason; every other reason has `DEFAULT_COOLDOWN`, so that another place is tried first."""
MarketSlice = tuple[str | bool, ...]
"""The names of a part of the market; their number tells its scope."""


def cooldown(reason: str) -> Cooldown:
    """What a reason means."""
    return COOLDOWNS.get(reason, DEFAULT_COOLDOWN)


def still_counts(attempt: Attempt, now: datetime) -> bool:
    """Whether a failed attempt still counts."""
    return now - attempt.failed_at < cooldown(attempt.reason).lasts


def closed_slices(attempt: Attempt) -> Iterator[MarketSlice]:
    """The slices that a failed attempt closes; if its message names a machine, only that machine's."""
    at, width = attempt.placement, cooldown(attempt.reason).width
    for lot in blamed_lots(attempt):
        yield next(mark for mark in market_slices(at.cloud, at.region, lot) if len(mark) == width.value)


def market_slices(cloud: str, region: str, lot: Lot) -> tuple[MarketSlice, ...]:
    """Every slice that a machine belongs to; without a zone, it counts for every zone of its region."""
    return (
        (cloud,),
        (cloud, region),
        (cloud, region, lot.instance),
        (cloud, region, lot.accelerator, lot.spot),
        (cloud, region, lot.zone, lot.instance, lot.spot),
        (cloud, region, "", lot.instance, lot.spot),
    )
