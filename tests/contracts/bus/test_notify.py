"""What is told is heard by who listens now, and by nobody later."""

import asyncio

from events.rpc import Endpoint, RpcService


async def test_what_is_told_is_heard_there_and_not_kept(bus, another):
    told: asyncio.Queue[bytes] = asyncio.Queue()

    async def hear(data: bytes) -> bytes:
        await told.put(data)
        return b""

    listener = await another()
    desk = RpcService("alate-test", "1.0.0", "For a test.", (Endpoint("told", "_INBOX.test.told", hear),))
    task = asyncio.ensure_future(listener.answer(desk))
    try:
        async with asyncio.timeout(10):
            while told.empty():  # until it listens
                await bus.notify("_INBOX.test.told", b"hello")
                await asyncio.sleep(0.01)
            assert await told.get() == b"hello"
    finally:
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
    assert [await bus.count(stream, ">") for stream in ("EVENTS", "INTAKE", "DLQ")] == [0, 0, 0]


async def test_nobody_need_be_there_to_hear_it(bus):
    await bus.notify("_INBOX.test.nobody", b"hello")
