"""What is due is looked at, never twice at a time, and never when nobody may."""

import asyncio

import pytest

from services.runtime.workqueue import PARALLEL, WorkQueue

pytestmark = pytest.mark.looptime


class Looks:
    """Looks that take a second each, and who is looked at meanwhile."""

    def __init__(self):
        self.queue = WorkQueue(self.look)
        self.taken, self.now, self.most = [], [], 0

    async def look(self, key):
        self.taken.append(key)
        self.now.append(key)
        self.most = max(self.most, len(self.now))
        await asyncio.sleep(1)
        self.now.remove(key)

    async def within(self, seconds):
        async with self.queue.running():
            await asyncio.sleep(seconds)


@pytest.fixture
def looks():
    return Looks()


async def test_what_is_due_waits_until_it_may_be_looked_at(looks):
    looks.queue.add("a")
    await asyncio.sleep(5)
    assert looks.taken == []
    await looks.within(2)
    assert looks.taken == ["a"]


async def test_what_becomes_due_during_its_look_is_looked_at_once_more_and_never_twice_at_a_time(looks):
    looks.queue.add("a")
    asyncio.get_running_loop().call_later(0.4, looks.queue.add, "a")
    asyncio.get_running_loop().call_later(0.6, looks.queue.add, "a")
    await looks.within(5)
    assert (looks.taken, looks.most) == (["a", "a"], 1)


async def test_only_so_many_keys_are_looked_at_at_once(looks):
    for key in range(PARALLEL + 1):
        looks.queue.add(key)
    await looks.within(5)
    assert (len(looks.taken), looks.most) == (PARALLEL + 1, PARALLEL)


async def test_a_look_that_breaks_stops_no_other_and_is_taken_again_later_and_later():
    times, broken = {"a": [], "b": []}, {"a"}

    async def look(key):
        times[key].append(round(asyncio.get_running_loop().time()))
        if key in broken:
            raise KeyError(key)

    queue = WorkQueue(look)
    async with queue.running():
        queue.add("a")
        await asyncio.sleep(0)
        queue.add("b")
        await asyncio.sleep(10)
        broken.clear()
        await asyncio.sleep(60)
    start = times["a"][0]
    assert [at - start for at in times["a"]] == [0, 1, 3, 7, 15]
    assert len(times["b"]) == 1


async def test_what_becomes_due_after_the_end_waits_for_the_next_run(looks):
    await looks.within(1)
    looks.queue.add("a")
    await asyncio.sleep(5)
    assert looks.taken == []
    await looks.within(2)
    assert looks.taken == ["a"]


async def test_what_ends_a_process_is_raised_where_the_queue_runs():
    class Killed(BaseException):
        """The end of the process."""

    async def handle(_):
        raise Killed

    queue = WorkQueue(handle)
    queue.add("a")

    async def run():
        async with queue.running():
            await asyncio.sleep(60)

    with pytest.raises(Killed):
        await run()
    await asyncio.sleep(1)  # the task that ran it is not cancelled any more
