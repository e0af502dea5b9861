"""How much is said in each lane now: counted by the second over the last minute."""

from collections import Counter, deque
from datetime import datetime

SPAN = 60
"""Seconds."""


class Rates:
    """Counts of the last seconds."""

    def __init__(self) -> None:
        self._seconds: deque[tuple[int, Counter[str]]] = deque()

    def take(self, lane: str, at: datetime) -> None:
        """Count one more."""
        second = int(at.timestamp())
        if not self._seconds or second > self._seconds[-1][0]:
            self._seconds.append((second, Counter()))
        self._seconds[-1][1][lane] += 1
        self._forget(second)

    def per_second(self, now: datetime) -> dict[str, float]:
        """By lane, over the last minute."""
        self._forget(int(now.timestamp()))
        while self._seconds and self._seconds[-1][0] >= now.timestamp() + SPAN:  # said before a clock was set back
            self._seconds.pop()
        total: Counter[str] = Counter()
        for _, counted in self._seconds:
            total += counted
        return {lane: count / SPAN for lane, count in total.items()}

    def forget(self) -> None:
        """Begin anew."""
        self._seconds.clear()

    def _forget(self, now: int) -> None:
        while self._seconds and self._seconds[0][0] <= now - SPAN:
            self._seconds.popleft()
