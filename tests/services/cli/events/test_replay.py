import asyncio
import json
from contextlib import aclosing

import pytest

from events.bus import EPOCH, Consumer
from services.cli.events.replay import replay
from services.errors import BadInput
from services.eventlog.filters import STREAMS, Which

TEARDOWN = Consumer("teardown-events", "EVENTS", ("cluster.*.*.*", "addon.withdrawn.*.*"))
OTHER = Consumer("other-events", "EVENTS", ("cluster.*.*.*",))


@pytest.fixture
async def bus(bus):
    """Everybody has heard everything."""
    for consumer in (TEARDOWN, OTHER):
        await taken(bus, consumer)
    return bus


async def taken(bus, consumer) -> list:
    found = []
    async with aclosing(bus.consume(consumer)) as deliveries, asyncio.timeout(10):
        while await bus.unanswered(consumer):
            delivery = await anext(deliveries)
            found.append(delivery.stored)
            await delivery.ack()
    return found


async def replayed(bus, which=None, *, send: bool, run: str = "r1", consumer: str = TEARDOWN.name) -> list[dict]:
    out: list[str] = []
    which = which or Which(STREAMS, cluster="train-gpu")
    await replay(bus, consumer, which, EPOCH, run=run, send=send, form="json", write=out.append, say=lambda _: None)
    return [json.loads(line) for line in out]


async def test_by_default_it_is_only_said_what_would_be_told(bus):
    lines = await replayed(bus, send=False)
    assert {line["subject"].split(".")[0] for line in lines} == {"cluster", "addon"}
    assert await bus.unanswered(TEARDOWN) == 0


async def test_what_is_sent_is_heard_by_that_consumer_alone_in_order_and_marked(bus):
    lines = await replayed(bus, send=True)
    assert await bus.unanswered(OTHER) == 0
    heard = await taken(bus, TEARDOWN)
    assert [stored.subject for stored in heard] == [line["subject"] for line in lines]
    assert [stored.headers["ce-id"] for stored in heard] == [line["event"]["id"] for line in lines]
    assert {stored.headers["ce-replay"] for stored in heard} == {"r1"}


async def test_a_run_that_is_gone_on_with_tells_nothing_twice_and_another_run_does(bus):
    lines = await replayed(bus, send=True)
    await replayed(bus, send=True)
    assert await bus.unanswered(TEARDOWN) == len(lines)
    await replayed(bus, send=True, run="r2")
    assert await bus.unanswered(TEARDOWN) == 2 * len(lines)


async def test_only_what_was_asked_for_is_told(bus):
    lines = await replayed(bus, Which(STREAMS, subject="cluster.ready.>"), send=False)
    assert {line["subject"].split(".")[1] for line in lines} == {"ready"}


async def test_a_consumer_nobody_knows_is_one_clear_sentence(bus):
    with pytest.raises(BadInput, match="must be one of other-events, teardown-events"):
        await replayed(bus, send=False, consumer="nobody")
