"""Writes in flight together become visible in the order of their revisions."""

import asyncio

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from events.bus import Unavailable
from services.sandbox.api.store.order import WriteOrder


@settings(deadline=None)
@given(st.permutations(range(1, 9)), st.sets(st.integers(1, 8)), st.integers(1, 3))
def test_whatever_order_the_answers_come_in_writes_show_in_order(answers, lost, stride):
    async def run():
        order, shown = WriteOrder(), []
        acks = {n: asyncio.get_running_loop().create_future() for n in answers}

        async def append(n):
            return await acks[n]

        writes = [asyncio.create_task(order.write(append(n), shown.append)) for n in sorted(answers)]
        await asyncio.sleep(0)
        for n in answers:
            if n in lost:
                acks[n].set_exception(Unavailable("gone"))
            else:
                acks[n].set_result(n * stride)  # a stride over one: foreign messages lie between
            await asyncio.sleep(0)
            assert shown == sorted(shown)
        results = await asyncio.gather(*writes, return_exceptions=True)
        assert shown == [n * stride for n in sorted(answers) if n not in lost]
        assert sum(isinstance(r, Unavailable) for r in results) == len(lost & set(answers))

    asyncio.run(run())


async def test_the_next_number_waits_for_nobody():
    order, shown = WriteOrder(), []
    never = asyncio.get_running_loop().create_future()

    async def slow():
        return await never

    async def now():
        return 1

    waiting = asyncio.create_task(order.write(slow(), shown.append))
    await asyncio.sleep(0)
    assert await order.write(now(), shown.append) == 1
    never.set_result(2)
    assert (await waiting, shown, order.head) == (2, [1, 2], 2)


async def test_a_failed_write_lets_the_others_pass():
    order, shown = WriteOrder(), []
    stuck = asyncio.get_running_loop().create_future()

    async def slow():
        return await stuck

    async def after_a_gap():
        return 5

    first = asyncio.create_task(order.write(slow(), shown.append))
    await asyncio.sleep(0)
    second = asyncio.create_task(order.write(after_a_gap(), shown.append))
    await asyncio.sleep(0)
    assert shown == []
    stuck.set_exception(Unavailable("gone"))
    with pytest.raises(Unavailable):
        await first
    assert (await second, shown) == (5, [5])
