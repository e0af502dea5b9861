"""Per kind of a cluster: when it is worth a watch, and whether its watch has been broken for long."""

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Mapping
from contextlib import suppress

from events.backoff import Backoff
from events.kube.client import Sight
from events.kube.port import Resource
from services.inventory.read.object_types import BESIDE, BROUGHT

SOON, LATE = 1.0, 30.0
"""Seconds from a change in a cluster to the look at what it may have brought; doubled while it brings nothing."""
AT_LAST = 300.0
"""Seconds after which it is looked at all the same: as long as a watch lasts."""


class IdleKind:
    """One kind's: counts what stirs that may bring some of it."""

    def __init__(self, jitter: Callable[[], float]) -> None:
        """`jitter` gives 0 to 1."""
        self.stirs = 0
        self._jitter = jitter
        self._stirred = asyncio.Event()

    def stir(self) -> None:
        """Something of that has changed."""
        self.stirs += 1
        self._stirred.set()
        self._stirred.clear()

    def patience(self) -> Backoff:
        """One kind's, for `over`."""
        return Backoff(self._jitter, SOON, LATE)

    async def over(self, since: int, backoff: Backoff) -> None:
        """Wait until it is worth a look again; `since`: the stirs there were before the last one."""
        with suppress(TimeoutError):
            async with asyncio.timeout(AT_LAST):
                while self.stirs == since:
                    await self._stirred.wait()
        await asyncio.sleep(backoff.next_delay())


class IdleKinds:
    """One cluster's, each kind's its own."""

    def __init__(self, jitter: Callable[[], float]) -> None:
        """`jitter` gives 0 to 1."""
        self._of = {resource: IdleKind(jitter) for resource in BESIDE}

    def of(self, resource: Resource) -> IdleKind:
        """That of a kind beside nodes and pods."""
        return self._of[resource]

    def stir(self, changed: Resource) -> None:
        """Something of a kind has changed."""
        for resource in BROUGHT.get(changed, BESIDE):
            self._of[resource].stir()


class Serialized:
    """One cluster's: whoever has its first sight of a kind lets the next one ask."""

    def __init__(self) -> None:
        self._turn = asyncio.Lock()

    async def taken(self, sights: AsyncGenerator[Sight, None]) -> AsyncIterator[Sight]:
        """The same sights, of which there is always one more; the first one is asked for when it is its turn."""
        async with self._turn:
            first = await anext(sights)
        yield first
        async for sight in sights:
            yield sight


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
        self._unheard = asyncio.Event()

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
        self._unheard.set()
        if resource not in self:
            loop = asyncio.get_running_loop()
            self._waiting[resource] = loop.call_later(patience, self._last, resource, reason)

    def end(self, resource: Resource) -> None:
        """It is heard, or known not to be served."""
        self._lasting.pop(resource, None)
        self._refused.pop(resource, None)
        if (waiting := self._waiting.pop(resource, None)) is not None:
            waiting.cancel()
        if not self:
            self._unheard.clear()

    async def begun(self) -> None:
        """Return as soon as anything is not heard, which may be at once."""
        await self._unheard.wait()

    def close(self) -> None:
        """Nobody listens any more."""
        for resource in (*self._waiting, *self._lasting):
            self.end(resource)

    def _last(self, resource: Resource, reason: str) -> None:
        del self._waiting[resource]
        self._lasting[resource] = reason
        self._lasts(resource, reason)
