"""Work on many objects is done some at a time, to its end, and its worst fault is what is raised."""

import asyncio

import pytest

from events.errors import Denied, TryLater
from services.addons.objects.in_parallel import AT_ONCE, in_parallel

pytestmark = pytest.mark.looptime


async def test_results_come_in_the_order_of_the_items_and_few_are_worked_on_at_once():
    now = most = 0

    async def work(item):
        nonlocal now, most
        now, most = now + 1, max(most, now + 1)
        await asyncio.sleep(1 / (item + 1))
        now -= 1
        return item * 2

    assert await in_parallel(work, range(50)) == [item * 2 for item in range(50)]
    assert most == AT_ONCE


async def test_a_refusal_counts_more_than_what_passes_and_all_others_are_done():
    done = []

    async def work(item):
        if item == 1:
            raise TryLater("later")
        if item in (2, 3):
            raise Denied(f"never {item}")
        done.append(item)

    with pytest.raises(Denied, match="never 2"):
        await in_parallel(work, range(20))
    assert done == [0, *range(4, 20)]


async def test_of_nothing_nothing_comes():
    assert await in_parallel(asyncio.sleep, ()) == []
