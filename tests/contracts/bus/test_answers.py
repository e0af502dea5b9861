"""A question is answered by one of those who answer there, refused with a sentence, or nobody is there to answer."""

import asyncio
from contextlib import asynccontextmanager

import pytest

from events.bus import Unavailable
from events.errors import Denied
from events.rpc import Endpoint, RpcService


def desk(answer) -> RpcService:
    return RpcService("alate-test", "1.0.0", "For a test.", (Endpoint("echo", "ask.test.echo", answer),))


async def echo(data: bytes) -> bytes:
    if data == b"wrong":
        raise Denied("wrong is no question: expected anything else", "BadQuestion")
    return data.upper()


@asynccontextmanager
async def answering(bus, answer=echo):
    task = asyncio.ensure_future(bus.answer(desk(answer)))
    try:
        await heard(bus)
        yield
    finally:
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)


async def heard(bus) -> None:
    """Until somebody answers."""
    async with asyncio.timeout(10):
        while True:
            try:
                await bus.ask("ask.test.echo")
            except Unavailable:
                await asyncio.sleep(0.01)
            else:
                return


async def test_a_question_is_answered_whoever_asks(bus, another):
    other = await another()
    async with answering(bus):
        assert await other.ask("ask.test.echo", b"so") == b"SO"


async def test_a_refusal_reaches_the_asker_as_one_sentence(bus, another):
    other = await another()
    async with answering(bus):
        with pytest.raises(Denied, match=r"^wrong is no question: expected anything else$") as refused:
            await other.ask("ask.test.echo", b"wrong")
    assert refused.value.reason == "BadQuestion"


async def test_where_nobody_answers_the_bus_says_so(bus):
    with pytest.raises(Unavailable, match="nothing answers there"):
        await bus.ask("ask.test.nobody")


async def test_whoever_has_left_is_not_asked_any_more(bus, another):
    other = await another()
    async with answering(bus):
        await other.ask("ask.test.echo")
    with pytest.raises(Unavailable):
        await other.ask("ask.test.echo")


async def test_each_question_goes_to_one_of_several(bus, another):
    asked = []

    async def counted(data: bytes) -> bytes:
        asked.append(data)
        return data

    other = await another()
    async with answering(bus, counted), answering(other, counted):
        asked.clear()
        await asyncio.gather(*(other.ask("ask.test.echo", str(number).encode()) for number in range(20)))
    assert sorted(map(int, asked)) == list(range(20))


async def test_a_question_is_no_message_and_is_kept_nowhere(bus):
    async with answering(bus):
        await bus.ask("ask.test.echo", b"so")
    for stream in ("EVENTS", "LEVELS", "INTAKE", "DLQ"):
        assert await bus.count(stream, ">") == 0
