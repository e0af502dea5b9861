"""What is told once more is told to one consumer alone, once."""

import asyncio
from contextlib import aclosing

from events.bus import Consumer, Message
from events.streams import Redrive, publish_once, redriven

ONE = Consumer("one-events", "EVENTS", ("cluster.ready.*.*",))
OTHER = Consumer("other-events", "EVENTS", ("cluster.>", "addon.>"))
SAID = Message("cluster.ready.acme.x", b"1", {"ce-id": "e1"})


async def refused(bus) -> None:
    """One consumer buries what the other one takes."""
    await bus.publish(SAID)
    for consumer in (ONE, OTHER):
        async with aclosing(bus.consume(consumer)) as deliveries, asyncio.timeout(10):
            delivery = await anext(deliveries)
            await (delivery.reject("no use") if consumer is ONE else delivery.ack())


async def redrive(bus, mark="dlq-1") -> int:
    (letter,) = await bus.read("DLQ", ">")
    return await publish_once(bus, redriven(letter, Redrive("EVENTS", ONE.name, mark), SAID.subject))


async def test_only_the_consumer_that_failed_hears_it_and_as_it_was_first_said(bus):
    await refused(bus)
    await redrive(bus)
    async with aclosing(bus.consume(ONE)) as deliveries, asyncio.timeout(10):
        delivery = await anext(deliveries)
        assert (delivery.stored.subject, delivery.stored.data) == (SAID.subject, SAID.data)
        assert (delivery.stored.headers, delivery.attempt) == (SAID.headers, 1)
        await delivery.ack()
    assert await bus.unanswered(OTHER) == 0


async def test_told_twice_it_is_heard_once(bus):
    await refused(bus)
    assert await redrive(bus) == await redrive(bus)
    assert await redrive(bus, "dlq-2") != await redrive(bus)
    assert await bus.unanswered(ONE) == 2


async def test_histories_do_not_show_it(bus):
    await refused(bus)
    await redrive(bus)
    assert (await bus.last("EVENTS", "cluster.*.acme.x")).sequence == 1
    assert await bus.count("EVENTS", "cluster.>") == 1


async def test_what_fails_again_is_a_dead_letter_of_the_subject_it_was_first_said_on(bus):
    await refused(bus)
    await redrive(bus)
    async with aclosing(bus.consume(ONE)) as deliveries, asyncio.timeout(10):
        await (await anext(deliveries)).reject("no use either")
    letters = await bus.read("DLQ", ">")
    assert [letter.headers["Alate-Dlq-Subject"] for letter in letters] == [SAID.subject] * 2


async def test_a_consumer_tells_its_own_filters_only(bus):
    await refused(bus)
    assert [place.filters for place in await bus.consumers("EVENTS")] == [ONE.filters, OTHER.filters]
