"""Kinds that may be missing are asked for one after the other, so that one connection serves all of a cluster's."""

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator

from events.kube.client import Sight


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
