"""An entry of the members' bucket expires when it is not renewed, and whoever follows it hears so."""

import asyncio
from contextlib import aclosing

from events.bus import CaughtUp, Message
from events.streams import TTL, is_tombstone

STREAM, ENTRY, OTHER = "KV_alate-members", "$KV.alate-members.press.one", "$KV.alate-members.press.two"


async def test_the_marker_of_an_expired_entry_reaches_who_follows(bus, another):
    await bus.publish(Message(ENTRY, b"{}", {TTL: "1"}))
    await bus.publish(Message(OTHER, b"{}", {TTL: "30"}))
    async with aclosing((await another()).feed(STREAM, "$KV.alate-members.press.*")) as feed, asyncio.timeout(10):
        found = [each async for each in _until_marker(feed)]
    assert [(type(each).__name__, getattr(each, "subject", "")) for each in found] == [
        ("Stored", ENTRY), ("Stored", OTHER), ("CaughtUp", ""), ("Stored", ENTRY),
    ]  # fmt: skip
    assert [is_tombstone(each) for each in found if not isinstance(each, CaughtUp)] == [False, False, True]


async def _until_marker(feed):
    async for each in feed:
        yield each
        if not isinstance(each, CaughtUp) and is_tombstone(each):
            return


async def test_a_renewed_entry_does_not_expire(bus):
    await bus.publish(Message(ENTRY, b"1", {TTL: "1"}))
    await bus.publish(Message(OTHER, b"", {TTL: "1"}))
    await bus.publish(Message(ENTRY, b"2", {TTL: "30"}))
    async with aclosing(bus.feed(STREAM, "$KV.alate-members.press.*")) as feed, asyncio.timeout(10):
        found = [each async for each in _until_marker(feed)]
    assert found[-1].subject == OTHER
    assert [each.data for each in await bus.read(STREAM, ENTRY)] == [b"2"]
