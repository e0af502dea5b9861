"""A token bucket, as a pure function."""

from collections.abc import Iterable
from datetime import datetime, timedelta
from typing import NamedTuple


class Rate(NamedTuple):
    """A rate per second, with a burst."""

    per_second: float
    burst: int
    """The most at once."""

    @property
    def memory(self) -> timedelta:
        """The time after which the bucket is full again."""
        return timedelta(seconds=self.burst / self.per_second)


class Bucket(NamedTuple):
    """The tokens left at a moment."""

    left: float
    at: datetime


def taken(rate: Rate, times: Iterable[datetime]) -> Bucket | None:
    """The bucket after one token was taken at each of these times, in order."""
    bucket: Bucket | None = None
    for time in times:
        bucket, _ = take(bucket, rate, time)
    return bucket


def take(bucket: Bucket | None, rate: Rate, now: datetime) -> tuple[Bucket, float]:
    """Take a token: the bucket afterwards, and 0 or the seconds to wait."""
    if bucket is None:
        return Bucket(rate.burst - 1.0, now), 0.0
    there = left(bucket, rate, now)
    if there >= 1.0:
        return Bucket(there - 1.0, now), 0.0
    return Bucket(there, now), (1.0 - there) / rate.per_second


def left(bucket: Bucket | None, rate: Rate, now: datetime) -> float:
    """The tokens available."""
    if bucket is None:
        return float(rate.burst)
    since = max(0.0, (now - bucket.at).total_seconds())
    return min(float(rate.burst), bucket.left + since * rate.per_second)


def spent(bucket: Bucket | None, rate: Rate, now: datetime, much: float) -> Bucket:
    """The bucket after a cost that is known only afterwards; it may become negative."""
    return Bucket(left(bucket, rate, now) - much, now)
