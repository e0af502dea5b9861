"""What breaks over one object or one tenant is logged with its stack once, counted, and tried again later and later."""

from collections.abc import Callable, Hashable
from typing import Generic, TypeVar

import structlog

from events.backoff import Backoffs
from events.meters import Meters
from services.kubernetes.malformed import place

K = TypeVar("K", bound=Hashable)
FAILURES = "alate.failures"
"""Counter of what our own code failed over, by what was done."""

log = structlog.get_logger()


class Failures(Generic[K]):
    """Of one kind of work, each key a failure domain of its own."""

    def __init__(self, what: str, jitter: Callable[[], float], meters: Meters | None = None) -> None:
        """`what`: an event's name; `jitter` gives 0 to 1."""
        self._what = what
        self._meters = meters
        self._backoffs: Backoffs[K] = Backoffs(jitter)
        self._told: dict[K, str] = {}

    def record(self, key: K, error: Exception) -> float:
        """Log and count it; gives the seconds to wait."""
        at = place(error)
        stack = None if self._told.get(key) == at else error
        log.error(f"{self._what}.failed", of=key, reason=at, exc_info=stack)
        self._told[key] = at
        if self._meters is not None:
            self._meters.count(FAILURES, self._what)
        return self._backoffs.next_delay(key)

    def forget(self, key: K) -> None:
        """It went well: the next failure is a first one."""
        if self._told.pop(key, None) is not None:
            self._backoffs.forget(key)
