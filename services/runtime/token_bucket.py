"""A token bucket, as a pure function."""

from collections.abc import Iterable
from datetime import datetime, timedelta
from typing import NamedTuple


class Rate(NamedTuple):
    """So many a second, on average."""

    per_second: float
    burst: int
    """So many at once."""

    @property
    def memory(self) -> timedelta:
        """What came longer ago than this makes no difference: since then the bucket would be full again."""
        return timedelta(seconds=self.burst / self.per_second)


class Bucket(NamedTuple):
    """How many may still come at a moment."""

    left: float
    at: datetime


def taken(rate: Rate, times: Iterable[datetime]) -> Bucket | None:
    """The bucket of which one was taken at each of these times, in their order."""
    bucket: Bucket | None = None
    for time in times:
        bucket, _ = take(bucket, rate, time)
    return bucket


def take(bucket: Bucket | None, rate: Rate, now: datetime) -> tuple[Bucket, float]:
    """One more: the bucket afterwards, and 0, or how many seconds it is too early."""
    if bucket is None:
        return Bucket(rate.burst - 1.0, now), 0.0
    there = left(bucket, rate, now)
    if there >= 1.0:
        return Bucket(there - 1.0, now), 0.0
    return Bucket(there, now), (1.0 - there) / rate.per_second


def left(bucket: Bucket | None, rate: Rate, now: datetime) -> float:
    """How much there is to take."""
    if bucket is None:
        return float(rate.burst)
    since = max(0.0, (now - bucket.at).total_seconds())
    return min(float(rate.burst), bucket.left + since * rate.per_second)


def spent(bucket: Bucket | None, rate: Rate, now: datetime, much: float) -> Bucket:
    """The bucket after so much was taken of it, which is known only afterwards: it may be less than empty."""
    return Bucket(left(bucket, rate, now) - much, now)
