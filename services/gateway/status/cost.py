"""What a Colony has cost is brought up to date in its status now and then: it grows all the time."""

from collections.abc import Iterator
from datetime import datetime, timedelta
from typing import NamedTuple

from events.kube.port import Object

COST = "costUsd"
Name = tuple[str, str]
"""A Colony's namespace and name."""


class Noted(NamedTuple):
    """What a status shows."""

    cost: float | None
    since: datetime


class Costs:
    """The costs as the statuses show them."""

    def __init__(self, every: timedelta) -> None:
        """`every`: so long a status stands though the cost alone has grown."""
        self._every = every
        self._noted: dict[Name, Noted] = {}

    def kept(self, name: Name, computed: Object, shown: Object, now: datetime) -> Object:
        """The status as it shall be shown: at the cost that it shows, where nothing else differs and it is not due."""
        cost = shown.get(COST)
        before = self._noted.get(name)
        if before is None or before.cost != cost:  # it was written by somebody else, or before the start
            before = self._noted[name] = Noted(cost, now)
        if COST in computed and cost is not None and not self._is_due(before, now):
            as_shown = computed | {COST: cost}
            if as_shown == shown:
                return as_shown
        self._noted[name] = Noted(computed.get(COST), now)
        return computed

    def due(self, now: datetime) -> Iterator[Name]:
        """Colonies whose cost is as old as it may be."""
        return (name for name, each in tuple(self._noted.items()) if self._is_due(each, now))

    def _is_due(self, noted: Noted, now: datetime) -> bool:
        """What was noted far ahead of now was so before the clock was set back."""
        return abs(now - noted.since) >= self._every

    def forget(self, name: Name) -> None:
        """It is not there any more."""
        self._noted.pop(name, None)
