"""Pages on a bus that holds what a real run left behind: open for who comes by address, closed, on an empty bus."""

from collections.abc import AsyncIterator

import pytest

from events.memory.bus import MemoryBus
from tests.corpus import replayed
from tests.services.edge.page.hall import Page, open_page


@pytest.fixture
async def bus() -> MemoryBus:
    return await replayed("0.1.0")


@pytest.fixture
async def page(bus, tmp_path) -> AsyncIterator[Page]:
    async with open_page(bus, tmp_path) as one:
        yield one


@pytest.fixture
async def closed(bus, tmp_path) -> AsyncIterator[Page]:
    """A page that nobody sees without a token."""
    async with open_page(bus, tmp_path, is_open=False) as one:
        yield one


@pytest.fixture
async def fresh(tmp_path) -> AsyncIterator[Page]:
    """A page on which nothing was said yet."""
    async with open_page(MemoryBus(), tmp_path) as one:
        yield one
