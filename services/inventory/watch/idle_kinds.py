"""Stops watching kinds of which a cluster has no objects, and looks for them again when it changes."""

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator, Callable
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
