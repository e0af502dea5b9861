"""Every bus against one suite: in memory and on the real nats-server."""

from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any

import pytest

from events.bus import Bus
from events.jetstream.bus import connect
from events.jetstream.server import NatsServer
from events.memory.bus import MemoryBus

Connect = Callable[[], Awaitable[Bus]]


async def memory(stack: AsyncExitStack, folder: Path) -> Connect:
    first = MemoryBus()

    async def dial() -> Bus:
        return first.again()

    return dial


async def jetstream(stack: AsyncExitStack, folder: Path) -> Connect:
    server = await stack.enter_async_context(NatsServer(folder))

    async def dial() -> Bus:
        return await connect(server.url, name="contract")

    return dial


@pytest.fixture(params=[memory, jetstream], ids=lambda adapter: adapter.__name__)
async def another(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Connect]:
    """Connects to what all connections of the test share."""
    async with AsyncExitStack() as stack:
        dial = await request.param(stack, tmp_path / "nats")

        async def entered() -> Bus:
            bus = await dial()
            stack.push_async_callback(bus.close)
            return bus

        yield entered


@pytest.fixture
async def bus(another: Connect) -> Bus:
    return await another()


@pytest.fixture
def die() -> Callable[[Bus], Awaitable[None]]:
    """Breaks a bus off without a word to anybody, as a crash of its process would."""

    async def broken(bus: Any) -> None:
        if isinstance(bus, MemoryBus):
            bus.crash()
        else:
            await bus._wire.close()

    return broken
