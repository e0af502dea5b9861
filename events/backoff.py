"""Exponential back-off with jitter."""

from collections.abc import Callable, Hashable
from dataclasses import dataclass
from typing import Generic, TypeVar

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
