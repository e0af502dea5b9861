"""Letters wait in order, and silence is noticed."""

import asyncio

import pytest

from events.jetstream.requests import Mailbox


@pytest.fixture
def box() -> Mailbox[str]:
    return Mailbox("inbox")


async def test_letters_come_out_in_order(box):
    for letter in "abc":
        box.put(letter)
    assert [await box.get(1) for _ in range(3)] == ["a", "b", "c"]


@pytest.mark.looptime
async def test_silence_is_none_after_so_many_seconds(box):
    assert await box.get(5) is None
    assert asyncio.get_running_loop().time() == 5


@pytest.mark.looptime
async def test_who_waits_gets_the_letter_when_it_comes(box):
    asyncio.get_running_loop().call_later(3, box.put, "late")
    assert await box.get(5) == "late"
    assert asyncio.get_running_loop().time() == 3


async def test_a_renewed_connection_is_told_in_its_place(box):
    for letter in ("before", None, "after"):
        box.put(letter)
    assert [await box.get(1) for _ in range(3)] == ["before", None, "after"]


async def test_the_rest_is_letters_only_and_empties_the_box(box):
    for letter in ("a", None, "b"):
        box.put(letter)
    assert box.rest() == ["a", "b"]
    assert box.rest() == []
