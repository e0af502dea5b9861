"""One timer for all clusters that wait."""

import asyncio
from collections.abc import Callable
from datetime import datetime, timedelta
from heapq import heappop, heappush
from typing import Generic, TypeVar

from events.errors import Fault, TryLater

K = TypeVar("K")

RETRY = 1.0
"""Seconds until a step that was refused, or that changed nothing, is retried."""


class Alarm(Generic[K]):
    """Calls back with each key at its time; a key has one time, the earliest."""

    def __init__(self, clock: Callable[[], datetime], call: Callable[[K], None]) -> None:
        self._clock = clock
        self._call = call
        self._heap: list[tuple[datetime, int, K]] = []
        self._times: dict[K, datetime] = {}
        self._count = 0
        self._sooner = asyncio.Event()

    def at(self, due: datetime, key: K) -> None:
        """Wake the key at this time, unless it is woken before."""
        if key in self._times and self._times[key] <= due:
            return
        self._times[key] = due
        self._count += 1
        heappush(self._heap, (due, self._count, key))
        self._sooner.set()

    def after(self, seconds: float, key: K) -> None:
        """Wake the key after so many seconds."""
        self.at(self._clock() + timedelta(seconds=seconds), key)

    def again(self, fault: Fault, key: K) -> float:
        """Wake the key when a refused step may be retried; returns the seconds until then."""
        after = max(fault.after if isinstance(fault, TryLater) else RETRY, 0.1)
        self.after(after, key)
        return after

    async def run(self) -> None:
        """Run until cancelled."""
        while True:
            self._sooner.clear()
            self._ring()
            wait = (self._heap[0][0] - self._clock()).total_seconds() if self._heap else None
            try:
                async with asyncio.timeout(None if wait is None else max(wait, 0.001)):
                    await self._sooner.wait()
            except TimeoutError:
                continue

    def _ring(self) -> None:
        while self._heap and self._heap[0][0] <= self._clock():
            due, _, key = heappop(self._heap)
            if self._times.get(key) == due:
                del self._times[key]
                self._call(key)
