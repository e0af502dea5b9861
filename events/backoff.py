"""Exponential back-off with jitter, and token buckets: when something may be done again."""

from collections.abc import Callable, Hashable, Iterable
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Generic, NamedTuple, TypeVar

K = TypeVar("K", bound=Hashable)


@dataclass
class Backoff:
    """Delays between retries: doubling, half of each random, at most `cap` seconds."""

    random: Callable[[], float]
    """Gives 0 to 1."""
    base: float = 0.2
    cap: float = 30.0
    failures: int = 0

    def next_delay(self, asked: float = 0.0) -> float:
        """Count a failure; returns the seconds to wait, at least `asked`."""
        full = min(self.cap, self.base * 2.0 ** min(self.failures, 16))
        self.failures += 1
        return max(asked, full * (0.5 + 0.5 * self.random()))


class Backoffs(Generic[K]):
    """Back-offs by key, each from one second up to thirty until a success."""

    def __init__(self, random: Callable[[], float]) -> None:
        """`random` gives 0 to 1."""
        self._random = random
        self._failing: dict[K, Backoff] = {}

    def next_delay(self, key: K, asked: float = 0.0) -> float:
        """Count a failure; returns the seconds to wait, at least `asked`."""
        return self._failing.setdefault(key, Backoff(self._random, base=1.0)).next_delay(asked)

    def forget(self, key: K) -> None:
        """Reset the back-off of a key."""
        self._failing.pop(key, None)


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
