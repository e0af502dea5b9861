"""Messages in an inbox are read in order, and silence is reported after a time."""

import asyncio

import pytest

from events.jetstream.requests import Mailbox


@pytest.fixture
def box() -> Mailbox[str]:
    return Mailbox("inbox")


async def test_messages_are_read_in_order(box):
    for letter in "abc":
        box.put(letter)
    assert [await box.get(1) for _ in range(3)] == ["a", "b", "c"]


@pytest.mark.looptime
async def test_a_read_returns_none_after_its_timeout(box):
    assert await box.get(5) is None
    assert asyncio.get_running_loop().time() == 5


@pytest.mark.looptime
async def test_a_waiting_read_returns_the_message_when_it_arrives(box):
    asyncio.get_running_loop().call_later(3, box.put, "late")
    assert await box.get(5) == "late"
    assert asyncio.get_running_loop().time() == 3


async def test_a_reconnect_is_reported_in_order_among_the_messages(box):
    for letter in ("before", None, "after"):
        box.put(letter)
    assert [await box.get(1) for _ in range(3)] == ["before", None, "after"]


async def test_draining_returns_only_messages_and_empties_the_inbox(box):
    for letter in ("a", None, "b"):
        box.put(letter)
    assert box.rest() == ["a", "b"]
    assert box.rest() == []
