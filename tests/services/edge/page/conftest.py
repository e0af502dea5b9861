"""Pages on a bus with the messages of a real run: one open to everybody, one closed, and one on an empty bus."""

from collections.abc import AsyncIterator

import pytest

from events.memory.bus import MemoryBus
from tests.corpus import replayed
from tests.services.edge.page.page_server import Page, open_page


@pytest.fixture
async def bus() -> MemoryBus:
    return await replayed("0.1.0")


@pytest.fixture
async def page(bus, tmp_path) -> AsyncIterator[Page]:
    async with open_page(bus, tmp_path) as one:
        yield one


@pytest.fixture
async def closed(bus, tmp_path) -> AsyncIterator[Page]:
    """A page that nobody may view without a token."""
    async with open_page(bus, tmp_path, is_open=False) as one:
        yield one


@pytest.fixture
async def fresh(tmp_path) -> AsyncIterator[Page]:
    """A page on an empty bus."""
    async with open_page(MemoryBus(), tmp_path) as one:
        yield one
