"""Every failure has a memory: how long it counts, and how much of the market it closes to whoever met it."""

from collections.abc import Iterator
from datetime import datetime, timedelta
from enum import Enum
from typing import NamedTuple

from schemas.cluster import NOT_INSTALLED
from schemas.placement import Attempt, Lot
from services.market.capacity import blamed_lots


class Scope(Enum):
    """How much of the market a failed attempt closes; the number of names it takes to say where."""

    CLOUD = 1
    REGION = 2
    TYPE = 3
    """One machine type in the region, in any zone, however bought."""
    KIND = 4
    """Every machine with that accelerator in the region, bought that way."""
    MACHINE = 5
    """One machine type in one zone, bought that way."""


class Cooldown(NamedTuple):
    """What one kind of failure means for the next choice."""

    lasts: timedelta
    width: Scope
    final: bool = False
    """Nothing but another wish helps."""
    shared: bool = False
    """It is the tenant's credential: all clusters of the tenant heed it."""


NOTHING_TO_ADOPT = "NothingToAdopt"
"""What should be taken in does not stand."""
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
"""By the reason that is said; one that is not here is `REFUSED`: it is tried elsewhere first."""
MarketSlice = tuple[str | bool, ...]
"""A piece of the market; by how many names it has one tells its width."""


def cooldown(reason: str) -> Cooldown:
    """What a reason means."""
    return COOLDOWNS.get(reason, DEFAULT_COOLDOWN)


def still_counts(attempt: Attempt, now: datetime) -> bool:
    """Whether a failed attempt still counts."""
    return now - attempt.failed_at < cooldown(attempt.reason).lasts


def closed_slices(attempt: Attempt) -> Iterator[MarketSlice]:
    """What a failed attempt closes: where its message names a machine, no more than that machine's share."""
    at, width = attempt.placement, cooldown(attempt.reason).width
    for lot in blamed_lots(attempt):
        yield next(mark for mark in market_slices(at.cloud, at.region, lot) if len(mark) == width.value)


def market_slices(cloud: str, region: str, lot: Lot) -> tuple[MarketSlice, ...]:
    """Every piece of the market that a machine is in; without a zone, it is in the region's whichever."""
    return (
        (cloud,),
        (cloud, region),
        (cloud, region, lot.instance),
        (cloud, region, lot.accelerator, lot.spot),
        (cloud, region, lot.zone, lot.instance, lot.spot),
        (cloud, region, "", lot.instance, lot.spot),
    )
