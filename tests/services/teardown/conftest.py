"""A founded cluster for whoever asks for one."""

import asyncio
from contextlib import suppress
from itertools import count

import pytest

from services.sandbox.api.server.app import Api
from services.sandbox.api.store.journal import MemoryJournal
from tests.services.teardown.founded import Founded, clock


@pytest.fixture
async def founded():
    """A cluster at work."""
    uids = count(1)
    api = Api(MemoryJournal(), clock, lambda: f"00000000-0000-0000-0000-{next(uids):012d}")
    await api.start()
    it = Founded(api)
    await it.begin()
    work = asyncio.create_task(it.work())
    yield it
    work.cancel()
    with suppress(asyncio.CancelledError):
        await work
    await api.close()
