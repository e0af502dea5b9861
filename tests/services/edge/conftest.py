"""Every test of the edge has a house of its own."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack
from pathlib import Path

import pytest

from events.backoff import Rate
from events.memory.bus import MemoryBus
from tests.services.edge.house import House, furnished

# Before 3.14 pytest-asyncio's look at "the loop before" makes one that nobody closes; None says there is none.
asyncio.set_event_loop(None)


@pytest.fixture
async def house(tmp_path: Path) -> AsyncIterator[House]:
    async with AsyncExitStack() as stack:
        yield await furnished(stack, MemoryBus(), tmp_path, Rate(50.0, 200))


@pytest.fixture
async def narrow(tmp_path: Path) -> AsyncIterator[House]:
    """A house whose endpoints take two at once, then one a second."""
    async with AsyncExitStack() as stack:
        yield await furnished(stack, MemoryBus(), tmp_path, Rate(1.0, 2))
