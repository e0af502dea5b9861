"""A durable consumer: every message is answered in the end, by somebody."""

import asyncio
from contextlib import aclosing

import pytest

from events.bus import Consumer, Message, Unavailable

WORK = Consumer("work", "EVENTS", ("cluster.>",), max_deliver=3, ack_wait=0.4, in_flight=8)


async def following(deliveries):
    async with asyncio.timeout(10):
        return await anext(deliveries)


async def say(bus, *contents: bytes) -> None:
    for data in contents:
        await bus.publish(Message("cluster.a.t.x", data, {"ce-id": data.decode()}))


async def letters(bus):
    return await bus.read("DLQ", "dlq.EVENTS.work")


async def settled(bus, consumer=WORK, left: int = 0) -> None:
    async with asyncio.timeout(10):
        while await bus.unanswered(consumer) != left:  # noqa: ASYNC110 - an ack has no answer to wait for
            await asyncio.sleep(0)


async def test_messages_come_in_order_and_acknowledged_ones_never_again(bus, another):
    await say(bus, b"1", b"2")
    async with aclosing(bus.consume(WORK)) as deliveries:
        for expected in (b"1", b"2", b"3"):
            delivery = await following(deliveries)
            assert (delivery.stored.data, delivery.attempt) == (expected, 1)
            assert delivery.stored.headers == {"ce-id": expected.decode()}
            await delivery.ack()
            if expected == b"2":
                await say(bus, b"3")
    await settled(bus)
    async with aclosing((await another()).consume(WORK)) as deliveries:
        await say(bus, b"4")
        assert (await following(deliveries)).stored.data == b"4"


async def test_only_what_the_filters_match_comes(bus):
    consumer = Consumer("work", "EVENTS", ("cluster.*.t.x", "addon.>"))
    for subject in ("cluster.a.t.y", "cluster.a.t.x", "teardown.a.t.x", "addon.a.t.y"):
        await bus.publish(Message(subject, b""))
    async with aclosing(bus.consume(consumer)) as deliveries:
        subjects = [(await following(deliveries)).stored.subject for _ in range(2)]
    assert subjects == ["cluster.a.t.x", "addon.a.t.y"]


async def test_changed_filters_are_obeyed(bus, another):
    async with aclosing(bus.consume(WORK)) as deliveries:
        await say(bus, b"1")
        await (await following(deliveries)).ack()
    changed = Consumer("work", "EVENTS", ("addon.>",))
    async with aclosing((await another()).consume(changed)) as deliveries:
        await say(bus, b"2")
        await bus.publish(Message("addon.a.t.x", b"3"))
        assert (await following(deliveries)).stored.data == b"3"


async def test_a_retried_message_comes_again_and_counts_its_attempts(bus):
    await say(bus, b"1")
    async with aclosing(bus.consume(WORK)) as deliveries:
        first = await following(deliveries)
        asked = asyncio.get_running_loop().time()
        await first.retry(0.1)
        second = await following(deliveries)
        assert asyncio.get_running_loop().time() - asked >= 0.1
        assert (second.stored, second.attempt) == (first.stored, 2)
        await second.ack()
    await settled(bus)


async def test_a_message_that_waits_does_not_hold_up_the_next(bus):
    await say(bus, b"1", b"2")
    async with aclosing(bus.consume(WORK)) as deliveries:
        await (await following(deliveries)).retry(30)
        assert (await following(deliveries)).stored.data == b"2"


async def test_a_message_comes_again_when_its_consumer_dies_without_a_word(bus, another, die):
    await say(bus, b"1", b"2")
    dying = await another()
    deliveries = dying.consume(WORK)
    lost = [await following(deliveries) for _ in range(2)]
    await die(dying)
    async with aclosing(bus.consume(WORK)) as others:
        again = [await following(others) for _ in range(2)]
        assert [delivery.stored for delivery in again] == [delivery.stored for delivery in lost]
        assert [delivery.attempt for delivery in again] == [2, 2]
        for delivery in again:
            await delivery.ack()
    await settled(bus)


async def test_the_dead_cannot_answer(another, die):
    dying = await another()
    await say(dying, b"1")
    deliveries = dying.consume(WORK)
    delivery = await following(deliveries)
    await die(dying)
    for answer in (delivery.ack(), delivery.retry(1), delivery.reject("why")):
        with pytest.raises(Unavailable):
            await answer


async def test_what_a_connection_left_unanswered_comes_again_at_once(bus, another):
    patient = Consumer("work", "EVENTS", ("cluster.>",), ack_wait=30)
    await say(bus, b"1")
    leaving = await another()
    deliveries = leaving.consume(patient)
    await following(deliveries)
    await leaving.close()
    async with aclosing(bus.consume(patient)) as others:
        assert (await following(others)).attempt == 2


async def test_no_more_than_in_flight_are_out_at_once(bus):
    few = Consumer("work", "EVENTS", ("cluster.>",), in_flight=2, ack_wait=30)
    await say(bus, b"1", b"2", b"3")
    async with aclosing(bus.consume(few)) as deliveries:
        first, _ = await following(deliveries), await following(deliveries)
        third = asyncio.create_task(anext(deliveries))
        assert await asyncio.wait([third], timeout=0.1) == (set(), {third})
        await first.ack()
        async with asyncio.timeout(10):
            assert (await third).stored.data == b"3"


async def test_replicas_share_the_work(bus, another):
    await say(bus, *(b"%d" % number for number in range(40)))
    done: list[bytes] = []

    async def work(replica) -> None:
        async with aclosing(replica.consume(WORK)) as deliveries:
            async for delivery in deliveries:
                done.append(delivery.stored.data)
                await delivery.ack()

    workers = [asyncio.create_task(work(replica)) for replica in (bus, await another())]
    await settled(await another())
    for worker in workers:
        worker.cancel()
    await asyncio.gather(*workers, return_exceptions=True)
    assert sorted(map(int, done)) == list(range(40))


async def test_a_dead_letter_is_kept_with_its_reason_and_never_comes_again(bus):
    await say(bus, b"bad", b"good")
    async with aclosing(bus.consume(WORK)) as deliveries:
        await (await following(deliveries)).reject("cannot be decoded:\n no such field")
        assert (await following(deliveries)).stored.data == b"good"
    (letter,) = await letters(bus)
    assert letter.data == b"bad"
    assert letter.headers == {
        "ce-id": "bad",
        "Alate-Dlq-Reason": "cannot be decoded: no such field",
        "Alate-Dlq-Subject": "cluster.a.t.x",
        "Alate-Dlq-Sequence": "1",
    }


async def test_retrying_at_the_last_attempt_makes_a_dead_letter(bus):
    await say(bus, b"1")
    async with aclosing(bus.consume(WORK)) as deliveries:
        for attempt in (1, 2, 3):
            delivery = await following(deliveries)
            assert delivery.attempt == attempt
            assert await letters(bus) == ()
            await delivery.retry(0)
    (letter,) = await letters(bus)
    assert letter.headers["Alate-Dlq-Reason"] == "still not done after 3 attempts"
    await settled(bus)


async def test_a_message_nobody_ever_answers_becomes_a_dead_letter(bus):
    hasty = Consumer("work", "EVENTS", ("cluster.>",), max_deliver=2, ack_wait=0.1)
    await say(bus, b"poison")
    async with aclosing(bus.consume(hasty)) as deliveries:
        assert [(await following(deliveries)).attempt for _ in range(2)] == [1, 2]
        waiting = asyncio.create_task(anext(deliveries))
        await settled(bus, hasty)
        (letter,) = await letters(bus)
        await say(bus, b"next")
        async with asyncio.timeout(10):
            assert (await waiting).stored.data == b"next"
    assert (letter.data, letter.headers["Alate-Dlq-Reason"]) == (b"poison", "no answer in 2 attempts")


async def test_unanswered_counts_what_is_to_come_and_what_is_out(bus):
    await say(bus, b"1", b"2", b"3")
    assert await bus.unanswered(WORK) == 3
    async with aclosing(bus.consume(WORK)) as deliveries:
        first = await following(deliveries)
        assert await bus.unanswered(WORK) == 3
        await first.ack()
        await settled(bus, left=2)


async def test_purged_messages_do_not_come(bus):
    await say(bus, b"1")
    await bus.unanswered(WORK)
    await bus.purge("EVENTS", "cluster.>")
    await say(bus, b"2")
    async with aclosing(bus.consume(WORK)) as deliveries:
        assert (await following(deliveries)).stored.data == b"2"
