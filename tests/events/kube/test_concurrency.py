"""Many who ask one server are shown to be served in order, and to go once it answers nobody."""

import asyncio

import pytest

from events.kube.concurrency import ConcurrencyLimit

pytestmark = pytest.mark.looptime
WITHIN = 15.0


async def asked(turns, seconds, told):
    """One question that is answered after so many seconds of its turn."""
    async with turns.taken():
        await asyncio.sleep(seconds)
    told.append(asyncio.get_running_loop().time())


async def outcomes(*questions):
    return [type(each) for each in await asyncio.gather(*questions, return_exceptions=True)]


async def test_who_stands_in_a_queue_of_many_times_the_limit_is_answered_in_his_turn():
    turns, told = ConcurrencyLimit(2, WITHIN), []
    await asyncio.gather(*(asked(turns, 10, told) for _ in range(20)))
    assert told == [10.0 * (1 + pair // 2) for pair in range(20)]


async def test_a_question_without_an_answer_is_given_up_in_time():
    with pytest.raises(TimeoutError):
        await asked(ConcurrencyLimit(1, WITHIN), 3600, [])
    assert asyncio.get_running_loop().time() == WITHIN


async def test_all_who_wait_go_when_nobody_was_answered():
    turns = ConcurrencyLimit(2, WITHIN)
    assert await outcomes(*(asked(turns, 3600, []) for _ in range(50))) == [TimeoutError] * 50
    assert asyncio.get_running_loop().time() == WITHIN


async def test_one_slow_question_sends_nobody_away_while_others_are_answered():
    turns, told = ConcurrencyLimit(2, WITHIN), []
    ended = await outcomes(asked(turns, 3600, told), *(asked(turns, 10, told) for _ in range(20)))
    assert ended == [TimeoutError] + [type(None)] * 20


async def test_a_server_that_comes_back_is_asked_by_as_many_as_before():
    turns, told = ConcurrencyLimit(2, WITHIN), []
    await outcomes(*(asked(turns, 3600, told) for _ in range(5)))
    await asyncio.gather(*(asked(turns, 10, told) for _ in range(4)))
    assert told == [WITHIN + 10, WITHIN + 10, WITHIN + 20, WITHIN + 20]


@pytest.mark.parametrize("come", [False, True])
async def test_a_turn_that_is_not_wanted_any_more_is_the_next_ones(come):
    """Whoever is cancelled may have been waiting, or have been told in the same moment that his turn has come."""
    turns, told = ConcurrencyLimit(1, WITHIN), []
    first, second, third = (asyncio.ensure_future(asked(turns, 10, told)) for _ in range(3))
    await asyncio.sleep(1)
    if come:
        first.cancel()
        await asyncio.sleep(0)
    second.cancel()
    await third
    assert told == [11.0] if come else [10.0, 20.0]
    await asked(turns, 0, told)
