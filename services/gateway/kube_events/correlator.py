"""Counts repeated Kubernetes Events and limits how many a Colony gets."""

from datetime import datetime, timedelta
from typing import NamedTuple

from services.gateway.read_models import Name
from services.runtime.token_bucket import Bucket, Rate, take

RATE = Rate(per_second=1 / 30, burst=100)
"""Events of one Colony: as many as 25 clusters make that are founded at once, then two a minute."""
KEPT = timedelta(hours=1)
"""How long a Kubernetes API server keeps an Event by default: what happens again after that is a new one."""
MANY = 4096
"""So many Events and Colonies are remembered before those of more than `KEPT` ago are forgotten."""


class EventCount(NamedTuple):
    """What was written of an Event."""

    times: int
    mark: str
    """Which transition was counted last."""
    at: datetime


class Correlator:
    """The memory of one gateway."""

    def __init__(self, rate: Rate = RATE) -> None:
        self._rate = rate
        self._buckets: dict[Name, Bucket] = {}
        self._counted: dict[tuple[str, str], EventCount] = {}
        """By namespace and name of the Event."""

    def count(self, colony: Name, event: str, mark: str, now: datetime) -> int:
        """How often it has happened, if that is to be written now; 0 if it was, or the Colony has told too much."""
        self._forget(now)
        before = self._counted.get((colony[0], event))
        if before is not None and before.mark == mark:
            return 0
        self._buckets[colony], early = take(self._buckets.get(colony), self._rate, now)
        if early:
            return 0
        again = before is not None and now - before.at < KEPT
        count = before.times + 1 if before is not None and again else 1
        self._counted[colony[0], event] = EventCount(count, mark, now)
        return count

    def _forget(self, now: datetime) -> None:
        if len(self._counted) > MANY:
            self._counted = {name: each for name, each in self._counted.items() if now - each.at < KEPT}
        if len(self._buckets) > MANY:
            self._buckets = {name: each for name, each in self._buckets.items() if now - each.at < self._rate.memory}
