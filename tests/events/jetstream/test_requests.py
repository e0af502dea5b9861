"""An answer finds its question, and no question is waited for without an end."""

import asyncio

import pytest
from nats.aio.client import Client
from nats.aio.msg import Msg

from events.jetstream.requests import LOOK, PendingRequests, RequestLost

NEVER = 1e9


@pytest.fixture
async def questions():
    asked = PendingRequests(asyncio.get_running_loop())
    yield asked
    asked.close()


def letter(text: bytes, headers: dict[str, str] | None = None) -> Msg:
    return Msg(Client(), "inbox.1", "", text, headers)


async def test_answers_in_any_order_find_their_questions(questions):
    asked = {number: questions.ask(number, "x", NEVER) for number in ("1", "2", "3")}
    for number in ("2", "3", "1"):
        questions.answer(number, letter(number.encode()))
    assert {number: (await answer).data.decode() for number, answer in asked.items()} == {n: n for n in asked}


async def test_an_answer_that_nobody_waits_for_is_dropped(questions):
    asked = questions.ask("1", "x", NEVER)
    questions.forget("1")
    questions.answer("1", letter(b"late"))
    assert not asked.done()
    assert not questions


async def test_a_second_answer_changes_nothing(questions):
    asked = questions.ask("1", "x", NEVER)
    questions.answer("1", letter(b"first"))
    questions.answer("1", letter(b"second"))
    assert (await asked).data == b"first"


async def test_where_nobody_hears_the_question_is_lost(questions):
    asked = questions.ask("1", "x", NEVER)
    questions.answer("1", letter(b"", {"Status": "503"}))
    with pytest.raises(RequestLost, match="nothing answers there"):
        await asked


@pytest.mark.looptime
async def test_each_question_is_lost_when_its_own_time_is_up_whichever_came_first(questions):
    clock = asyncio.get_running_loop().time
    later, sooner = questions.ask("1", "x", 10.0), questions.ask("2", "x", 3.0)
    with pytest.raises(RequestLost):
        await sooner
    assert 3.0 <= clock() < 3.0 + LOOK
    with pytest.raises(RequestLost):
        await later
    assert 10.0 <= clock() < 10.0 + LOOK


@pytest.mark.looptime
async def test_while_nothing_is_asked_nobody_looks(questions):
    with pytest.raises(RequestLost):
        await questions.ask("1", "x", 1.0)
    questions.forget("1")
    await asyncio.sleep(LOOK)
    assert questions._looking is None


async def test_only_those_with_a_reason_fail(questions):
    one, other = questions.ask("1", "a", NEVER), questions.ask("2", "b", NEVER)
    questions.fail(lambda subject: RequestLost("refused") if subject == "a" else None)
    with pytest.raises(RequestLost, match="refused"):
        await one
    assert not other.done()


@pytest.mark.looptime
async def test_the_rest_is_waited_for_no_longer_than_patience_lasts(questions):
    questions.ask("1", "x", NEVER)
    await questions.rest(2.0)
    assert asyncio.get_running_loop().time() == 2.0
