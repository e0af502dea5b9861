"""A bus that holds what a real run left behind."""

import pytest

from events.memory.bus import MemoryBus
from tests.corpus import replayed


@pytest.fixture
async def bus() -> MemoryBus:
    return await replayed("0.1.0")
