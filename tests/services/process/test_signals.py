"""Each way of telling a process to stop ends its work in order; work that is done gives what came of it."""

import asyncio
import os
import signal

import pytest

from services.process.signals import ENDS, until_told


@pytest.fixture
def default_again():
    yield
    for end in ENDS:
        signal.signal(end, signal.default_int_handler if end is signal.SIGINT else signal.SIG_DFL)


@pytest.mark.usefixtures("default_again")
@pytest.mark.parametrize("end", ENDS)
async def test_work_is_cancelled_and_cleans_up_when_the_process_is_told_to_stop(end):
    left = []

    async def work():
        try:
            os.kill(os.getpid(), end)
            await asyncio.Event().wait()
        finally:
            left.append(end)

    with pytest.raises(asyncio.CancelledError):
        await until_told(work())
    assert left == [end]


@pytest.mark.usefixtures("default_again")
async def test_work_that_is_done_gives_what_came_of_it():
    assert await until_told(asyncio.sleep(0, "done")) == "done"
