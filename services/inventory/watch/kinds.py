"""Per kind of a cluster: when it is worth a watch, and whether its watch has been broken for long."""

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Mapping
from contextlib import suppress

from events.backoff import Backoff
from events.kube.client import Sight
from events.kube.port import Resource
from services.inventory.read.object_types import BESIDE, BROUGHT

SOON, LATE = 1.0, 30.0
"""Seconds from a change in a cluster until kinds that it may have brought are listed; doubled while there are none."""
AT_THE_LATEST = 300.0
"""Seconds after which an idle kind is listed without a change: as long as a watch lasts."""


class IdleKind:
    """An optional kind of one cluster: counts the changes of other kinds that may have brought objects of it."""

    def __init__(self, jitter: Callable[[], float]) -> None:
        """`jitter` gives 0 to 1."""
        self.changes = 0
        self._jitter = jitter
        self._changed = asyncio.Event()

    def record_change(self) -> None:
        """Count a change that may have brought objects of this kind."""
        self.changes += 1
        self._changed.set()
        self._changed.clear()

    def new_backoff(self) -> Backoff:
        """The back-off for `wait_for_change`."""
        return Backoff(self._jitter, SOON, LATE)

    async def wait_for_change(self, since: int, backoff: Backoff) -> None:
        """Wait until the kind is worth a list again; `since`: the number of changes before the last list."""
        with suppress(TimeoutError):
            async with asyncio.timeout(AT_THE_LATEST):
                while self.changes == since:
                    await self._changed.wait()
        await asyncio.sleep(backoff.next_delay())


class IdleKinds:
    """The optional kinds of one cluster."""

    def __init__(self, jitter: Callable[[], float]) -> None:
        """`jitter` gives 0 to 1."""
        self._of = {resource: IdleKind(jitter) for resource in BESIDE}

    def of(self, resource: Resource) -> IdleKind:
        """The record of an optional kind."""
        return self._of[resource]

    def record_change(self, changed: Resource) -> None:
        """Count a change of an object for every kind that it may have brought."""
        for resource in BROUGHT.get(changed, BESIDE):
            self._of[resource].record_change()


class Serialized:
    """Has the first lists of a cluster's kinds requested one after another, not all at once."""

    def __init__(self) -> None:
        self._turn = asyncio.Lock()

    async def one_by_one(self, sights: AsyncGenerator[Sight, None]) -> AsyncIterator[Sight]:
        """The same watch events; the first one is requested once no other first list is under way."""
        async with self._turn:
            first = await anext(sights)
        yield first
        async for sight in sights:
            yield sight


AT_START = 60.0
"""Seconds that a watch may be broken after a start, as every cluster is then asked for everything at once."""
LATER = 10.0
"""Seconds that a watch may be broken once the cluster was published."""


class Outages:
    """The broken watches of one cluster, and which of them have lasted so long that they are reported."""

    def __init__(self, lasts: Callable[[Resource, str], None]) -> None:
        """`lasts` is called each time an outage has to be reported."""
        self._lasts = lasts
        self._waiting: dict[Resource, asyncio.TimerHandle] = {}
        self._lasting: dict[Resource, str] = {}
        self._refused: dict[Resource, str] = {}
        self._any_broken = asyncio.Event()

    def __bool__(self) -> bool:
        return bool(self._waiting or self._lasting)

    def __contains__(self, resource: Resource) -> bool:
        return resource in self._waiting or resource in self._lasting

    @property
    def lasting(self) -> Mapping[Resource, str]:
        """The outages that have to be reported: by kind, the reason."""
        return self._lasting

    @property
    def refusals(self) -> tuple[str, ...]:
        """The reasons of the kinds whose last answer was a refusal of the API server."""
        return tuple(self._refused.values())

    def begin(self, resource: Resource, reason: str, grace: float, *, refused: bool = False) -> None:
        """Note that a watch is broken; it is reported `grace` seconds after its first failure.

        `refused`: the API server answers, and denies access.
        """
        self._refused.pop(resource, None)
        if refused:
            self._refused[resource] = reason
        self._any_broken.set()
        if resource not in self:
            loop = asyncio.get_running_loop()
            self._waiting[resource] = loop.call_later(grace, self._last, resource, reason)

    def end(self, resource: Resource) -> None:
        """Note that a watch works, or that its kind is known not to be served."""
        self._lasting.pop(resource, None)
        self._refused.pop(resource, None)
        if (waiting := self._waiting.pop(resource, None)) is not None:
            waiting.cancel()
        if not self:
            self._any_broken.clear()

    async def begun(self) -> None:
        """Return as soon as any watch is broken, which may be at once."""
        await self._any_broken.wait()

    def close(self) -> None:
        """Cancel all timers."""
        for resource in (*self._waiting, *self._lasting):
            self.end(resource)

    def _last(self, resource: Resource, reason: str) -> None:
        del self._waiting[resource]
        self._lasting[resource] = reason
        self._lasts(resource, reason)
