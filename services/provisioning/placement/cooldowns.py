"""Every failure has a memory: how long it counts, and how much of the market it closes to whoever met it."""

from collections.abc import Iterator
from datetime import datetime, timedelta
from enum import Enum
from typing import NamedTuple

from schemas.cluster import NOT_INSTALLED
from schemas.placement import Attempt, Lot
from services.market.capacity import blamed


class Width(Enum):
    """How much of the market a failed attempt closes; the number of names it takes to say where."""

    CLOUD = 1
    REGION = 2
    TYPE = 3
    """One machine type in the region, in any zone, however bought."""
    KIND = 4
    """Every machine with that accelerator in the region, bought that way."""
    MACHINE = 5
    """One machine type in one zone, bought that way."""


class Memory(NamedTuple):
    """What one kind of failure means for the next choice."""

    lasts: timedelta
    width: Width
    final: bool = False
    """Nothing but another wish helps."""
    shared: bool = False
    """It is the tenant's credential: all clusters of the tenant heed it."""


NOTHING_TO_ADOPT = "NothingToAdopt"
"""What should be taken in does not stand."""
REFUSED = Memory(timedelta(minutes=15), Width.CLOUD)
BAD_CONFIGURATION = Memory(timedelta.max, Width.CLOUD, final=True)
FAILURES: dict[str, Memory] = {
    "NoCapacity": Memory(timedelta(minutes=15), Width.MACHINE),
    "Interrupted": Memory(timedelta(minutes=30), Width.MACHINE),
    "Lost": Memory(timedelta(minutes=30), Width.MACHINE),
    "Taken": Memory(timedelta(minutes=1), Width.MACHINE),
    "AlreadyExists": Memory(timedelta(minutes=1), Width.MACHINE),
    "Quota": Memory(timedelta(hours=1), Width.KIND),
    "NeverReady": Memory(timedelta(hours=1), Width.TYPE),
    "TimeOut": Memory(timedelta(hours=1), Width.REGION),
    "Failed": Memory(timedelta(hours=1), Width.REGION),
    "Denied": REFUSED._replace(shared=True),
    NOT_INSTALLED: Memory(timedelta(0), Width.CLOUD),
    "BadConfiguration": BAD_CONFIGURATION,
    "BadTemplate": BAD_CONFIGURATION,
    "Invalid": BAD_CONFIGURATION,
    "OnePool": BAD_CONFIGURATION,
    "UnknownBackend": BAD_CONFIGURATION,
    NOTHING_TO_ADOPT: BAD_CONFIGURATION,
    "DoesNotFit": BAD_CONFIGURATION,
    "NoPrice": BAD_CONFIGURATION,
}
"""By the reason that is said; one that is not here is `REFUSED`: it is tried elsewhere first."""
Mark = tuple[str | bool, ...]
"""A piece of the market; by how many names it has one tells its width."""


def memory(reason: str) -> Memory:
    """What a reason means."""
    return FAILURES.get(reason, REFUSED)


def remembered(attempt: Attempt, now: datetime) -> bool:
    """Whether a failed attempt still counts."""
    return now - attempt.failed_at < memory(attempt.reason).lasts


def closed(attempt: Attempt) -> Iterator[Mark]:
    """What a failed attempt closes: where its message names a machine, no more than that machine's share."""
    at, width = attempt.placement, memory(attempt.reason).width
    for lot in blamed(attempt):
        yield next(mark for mark in marks(at.cloud, at.region, lot) if len(mark) == width.value)


def marks(cloud: str, region: str, lot: Lot) -> tuple[Mark, ...]:
    """Every piece of the market that a machine is in; without a zone, it is in the region's whichever."""
    return (
        (cloud,),
        (cloud, region),
        (cloud, region, lot.instance),
        (cloud, region, lot.accelerator, lot.spot),
        (cloud, region, lot.zone, lot.instance, lot.spot),
        (cloud, region, "", lot.instance, lot.spot),
    )
