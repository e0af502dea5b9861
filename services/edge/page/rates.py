"""Messages a second of each subject group, counted over the last minute."""

from collections import Counter, deque
from datetime import datetime

SPAN = 60
"""Seconds."""


class Rates:
    """Counts by second."""

    def __init__(self) -> None:
        self._seconds: deque[tuple[int, Counter[str]]] = deque()

    def count(self, group: str, at: datetime) -> None:
        """Count one more."""
        second = int(at.timestamp())
        if not self._seconds or second > self._seconds[-1][0]:
            self._seconds.append((second, Counter()))
        self._seconds[-1][1][group] += 1
        self._expire(second)

    def per_second(self, now: datetime) -> dict[str, float]:
        """By group, over the last minute."""
        self._expire(int(now.timestamp()))
        while self._seconds and self._seconds[-1][0] >= now.timestamp() + SPAN:  # counted before a clock was set back
            self._seconds.pop()
        total: Counter[str] = Counter()
        for _, counted in self._seconds:
            total += counted
        return {group: count / SPAN for group, count in total.items()}

    def clear(self) -> None:
        """Drop all counts."""
        self._seconds.clear()

    def _expire(self, now: int) -> None:
        while self._seconds and self._seconds[0][0] <= now - SPAN:
            self._seconds.popleft()
