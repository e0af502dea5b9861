"""A service that works in one replica at a time: the others stand by, and take over when the share is theirs."""

import asyncio

import pytest

from services.runtime.replica import Standby
from services.runtime.share import ShareChange
from tests.foreign import at_work

pytestmark = pytest.mark.looptime


class Turn:
    """A share that a test gives and takes."""

    def __init__(self, *, mine):
        self.held, self._told = mine, []

    def mine(self, _):
        return self.held

    def listen(self, changed):
        self._told.append(changed)

    def give(self, *, mine):
        self.held = mine
        for told in self._told:
            told(ShareChange("one", frozenset(("one",)), frozenset(("one", "two"))))


class Work:
    """A service that counts those that run."""

    running = 0

    def __init__(self):
        self.ready = asyncio.Event()

    async def run(self):
        Work.running += 1
        self.ready.set()
        try:
            await asyncio.Event().wait()
        finally:
            Work.running -= 1


async def test_who_stands_by_is_ready_and_works_once_it_is_its_turn():
    turn = Turn(mine=False)
    standby = Standby("addons", turn, Work)
    async with at_work(standby.run):
        await asyncio.wait_for(standby.ready.wait(), 1)
        assert Work.running == 0
        for mine in (True, False, True):
            turn.give(mine=mine)
            await asyncio.sleep(0.1)
            assert Work.running == mine
    assert Work.running == 0


async def test_who_works_is_ready_when_its_service_is():
    standby = Standby("addons", Turn(mine=True), Work)
    async with at_work(standby.run):
        await asyncio.wait_for(standby.ready.wait(), 1)
        assert Work.running == 1


async def test_a_fault_of_the_service_ends_who_stands_by_too():
    class Faulty(Work):
        async def run(self):
            self.ready.set()
            raise OSError("no disk")

    standby = Standby("addons", Turn(mine=True), Faulty)
    with pytest.raises(ExceptionGroup, match="unhandled errors"):
        await asyncio.wait_for(standby.run(), 1)
