"""Of kinds that may be missing one is asked for at a time, and none stops the others for longer than its question."""

import asyncio
from contextlib import aclosing, asynccontextmanager
from typing import Any

import pytest

from events.kube.client import Changed, Listed
from services.inventory.watch.kinds import Serialized

pytestmark = pytest.mark.looptime


class House:
    """Follows kinds whose lists take a second each, and notes when each is asked for and seen."""

    def __init__(self):
        self.turns, self.asked, self.seen = Serialized(), {}, {}

    async def sights(self, kind):
        self.asked[kind] = asyncio.get_running_loop().time()
        await asyncio.sleep(1)
        yield Listed((), "1")
        while True:
            await asyncio.sleep(1)
            yield Changed({"kind": kind}, gone=False)

    async def follow(self, kind):
        async with aclosing(self.sights(kind)) as sights:
            async for sight in self.turns.one_by_one(sights):
                self.seen.setdefault(kind, []).append(type(sight))


@asynccontextmanager
async def three():
    """Not a fixture: its time would be another one."""
    made: Any = House()
    made.following = [asyncio.create_task(made.follow(kind)) for kind in "abc"]
    yield made
    for task in made.following:
        task.cancel()
    await asyncio.gather(*made.following, return_exceptions=True)


async def test_one_kind_is_asked_for_when_the_one_before_has_answered():
    async with three() as house:
        await asyncio.sleep(2.5)
        assert house.asked == {"a": 0.0, "b": 1.0, "c": 2.0}


async def test_what_was_seen_once_is_followed_without_a_turn():
    async with three() as house:
        await asyncio.sleep(4.5)
        assert house.seen == {"a": [Listed, *3 * [Changed]], "b": [Listed, *2 * [Changed]], "c": [Listed, Changed]}


async def test_who_leaves_while_asking_lets_the_next_one_ask():
    async with three() as house:
        await asyncio.sleep(0.5)
        house.following[0].cancel()
        await asyncio.sleep(0.1)
        assert house.asked == {"a": 0.0, "b": 0.5}
