"""Marks a source as unreachable only after a grace period."""

import asyncio
from collections.abc import Callable, Mapping

from events.kube.port import Resource

AT_START = 60.0
"""Seconds a silence may last before anything was heard: after a start, every cluster is asked everything at once."""
LATER = 10.0
"""Seconds a silence may last from then on."""


class Outages:
    """One cluster's: which kinds are not heard, and which of these for so long that it has to be told."""

    def __init__(self, lasts: Callable[[Resource, str], None]) -> None:
        """`lasts` is called each time a silence has become one that has to be told."""
        self._lasts = lasts
        self._waiting: dict[Resource, asyncio.TimerHandle] = {}
        self._lasting: dict[Resource, str] = {}
        self._refused: dict[Resource, str] = {}

    def __bool__(self) -> bool:
        return bool(self._waiting or self._lasting)

    def __contains__(self, resource: Resource) -> bool:
        return resource in self._waiting or resource in self._lasting

    @property
    def lasting(self) -> Mapping[Resource, str]:
        """Those that have to be told, with the reasons."""
        return self._lasting

    @property
    def refusals(self) -> tuple[str, ...]:
        """Why those do not let us in that answered last of all that they do not."""
        return tuple(self._refused.values())

    def begin(self, resource: Resource, reason: str, patience: float, *, refused: bool = False) -> None:
        """It is not heard, for `patience` seconds to begin with; one that goes on goes on from when it began.

        `refused`: it answers, and does not let us in.
        """
        self._refused.pop(resource, None)
        if refused:
            self._refused[resource] = reason
        if resource not in self:
            loop = asyncio.get_running_loop()
            self._waiting[resource] = loop.call_later(patience, self._last, resource, reason)

    def end(self, resource: Resource) -> None:
        """It is heard, or known not to be served."""
        self._lasting.pop(resource, None)
        self._refused.pop(resource, None)
        if (waiting := self._waiting.pop(resource, None)) is not None:
            waiting.cancel()

    def close(self) -> None:
        """Nobody listens any more."""
        for resource in (*self._waiting, *self._lasting):
            self.end(resource)

    def _last(self, resource: Resource, reason: str) -> None:
        del self._waiting[resource]
        self._lasting[resource] = reason
        self._lasts(resource, reason)
