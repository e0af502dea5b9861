"""Boot and live feed are one: nothing falls between them."""

import asyncio
from contextlib import aclosing
from typing import Any

from events.bus import CaughtUp, Message


async def boot(feed) -> list:
    """What is given until the feed says that it caught up."""
    found: list[Any] = []
    async with asyncio.timeout(10):
        async for given in feed:
            if isinstance(given, CaughtUp):
                return found
            found.append(given)
    raise AssertionError("the feed ended")


async def live(feed):
    async with asyncio.timeout(10):
        return await anext(feed)


async def test_an_empty_stream_is_caught_up_with_at_once(bus):
    async with aclosing(bus.feed("EVENTS", "cluster.>")) as feed:
        assert await boot(feed) == []


async def test_boot_gives_the_last_message_of_every_subject_in_order(bus):
    for subject in ("cluster.a.t.x", "cluster.b.t.x", "cluster.a.t.y", "cluster.a.t.x", "addon.a.t.x"):
        await bus.publish(Message(subject, b""))
    async with aclosing(bus.feed("EVENTS", "cluster.>")) as feed:
        kept = await boot(feed)
    assert [(stored.sequence, stored.subject) for stored in kept] == [
        (2, "cluster.b.t.x"),
        (3, "cluster.a.t.y"),
        (4, "cluster.a.t.x"),
    ]


async def test_after_boot_everything_comes_live(bus):
    await bus.publish(Message("cluster.a.t.x", b"0"))
    async with aclosing(bus.feed("EVENTS", "cluster.>", "addon.>")) as feed:
        assert len(await boot(feed)) == 1
        for said in (Message("cluster.a.t.x", b"1", {"ce-id": "1"}), Message("addon.a.t.x", b"2")):
            await bus.publish(said)
            given = await live(feed)
            assert (given.subject, given.data, given.headers) == (said.subject, said.data, said.headers)


async def test_there_is_no_gap_between_boot_and_live(bus, another):
    writer = await another()
    started = asyncio.Event()

    async def write() -> None:
        for number in range(400):
            await writer.publish(Message(f"cluster.a.t.n{number % 50}", b"%d" % number))
            if number == 100:
                started.set()

    writing = asyncio.create_task(write())
    await started.wait()
    seen: dict[str, int] = {}
    async with aclosing(bus.feed("EVENTS", "cluster.>")) as feed, asyncio.timeout(10):
        kept = await boot(feed)
        assert len({stored.subject for stored in kept}) == 50
        orders = [stored.sequence for stored in kept]
        for stored in kept:
            seen[stored.subject] = int(stored.data)
        while min(seen.values()) < 350:
            stored = await anext(feed)
            orders.append(stored.sequence)
            seen[stored.subject] = int(stored.data)
    await writing
    assert sorted(set(orders)) == orders
    first_live = next(at for at in range(len(orders)) if orders[at:] == list(range(orders[at], orders[-1] + 1)))
    assert first_live <= 50


async def test_boot_is_complete_while_levels_are_replaced(bus, another):
    names = [f"observed.node.t.n{number}" for number in range(300)]
    for name in names:
        await bus.publish(Message(name, b"old"))
    writer = await another()
    writing = asyncio.gather(*(writer.publish(Message(name, b"new")) for name in names))
    async with aclosing(bus.feed("LEVELS", "observed.>")) as feed, asyncio.timeout(10):
        latest = {stored.subject: stored.data for stored in await boot(feed)}
        assert latest.keys() == set(names)
        while set(latest.values()) != {b"new"}:
            stored = await anext(feed)
            latest[stored.subject] = stored.data
    await writing


async def test_two_feeds_both_get_everything(bus, another):
    other = await another()
    async with aclosing(bus.feed("EVENTS", ">")) as one, aclosing(other.feed("EVENTS", ">")) as two:
        await boot(one)
        await boot(two)
        await bus.publish(Message("cluster.a.t.x", b"1"))
        assert (await live(one)).data == (await live(two)).data == b"1"


async def test_a_feed_ends_when_its_bus_is_left(bus):
    feed = bus.feed("EVENTS", "cluster.>")
    await boot(feed)
    waiting = asyncio.create_task(anext(feed, None))
    await asyncio.sleep(0)
    await bus.close()
    async with asyncio.timeout(5):
        assert await waiting is None
