"""A crash at any await is as invisible where what others made is taken in, scaled and handed back."""

from dataclasses import dataclass
from itertools import count
from typing import Any

import msgspec
import pytest

from events.memory.bus import MemoryBus
from schemas import cluster
from schemas.infra import InfraSeen
from schemas.placement import Attempt
from schemas.wish import Adopt, OnRelease, Wish
from services.provisioning.lifecycle.release import UNKNOWN_PLACEMENT
from tests.services.crash.test_crash_anywhere import KEYS, LARGER, SERVICES, WISH, Ending, World, at_work, look
from tests.services.crash.theirs import Taker, Theirs

pytestmark = [pytest.mark.looptime, pytest.mark.timeout(60)]
NAME = "theirs"


def taking_in(wish: Wish, end: OnRelease, **more: Any) -> Wish:
    adopt = Adopt(name=NAME, on_release=end, node_price_per_hour=1.0)
    return msgspec.structs.replace(wish, need=msgspec.structs.replace(wish.need, adopt=adopt), **more)


class Beside(World):
    """Somebody else's cluster stands in it."""

    def __init__(self, bus: MemoryBus) -> None:
        super().__init__(bus)
        self.theirs = Theirs(self._told)
        self.theirs.make(NAME)

    def cloud(self, life: Any) -> Taker:
        return Taker(self.theirs, life.call)

    async def _told(self, name: str, seen: InfraSeen) -> None:
        (self.standing.add if seen.present else self.standing.discard)(seen.attempt)
        await self.say(seen, "acme", "fake", name)
        if seen.present:
            nodes = self.theirs.objects[name]["spec"]["nodes"]
            self.done.add(f"{nodes} nodes")
            await self.count(seen.uid, Attempt(number=seen.attempt, placement=UNKNOWN_PLACEMENT), nodes)


@dataclass(frozen=True)
class HandedBack:
    """What is the same after every run."""

    ending: Ending
    there: tuple[str, ...]
    labels: tuple[str, ...]
    asked_to_end: frozenset[str]


async def tell(mortal: Any, end: OnRelease, lives: dict[str, Any]) -> HandedBack:
    """Taken in, fitted out, grown, handed back."""
    world = Beside(MemoryBus(clock=mortal.clock))
    async with at_work(mortal, world, lives):
        await world.say(taking_in(WISH, end), "acme", "train-a")
        for key, event in zip(KEYS, ("ready", "applied", "armed"), strict=True):
            await world.until(key, event)
        grown = taking_in(msgspec.structs.replace(WISH, need=LARGER), end, generation=2)
        await world.say(grown, "acme", "train-a")
        await world.settled(cluster.Ready, grown.need)
        await world.say(msgspec.structs.replace(grown, generation=3, deleting=True), "acme", "train-a")
        for key, event in zip(KEYS, ("released", "withdrawn", "gone"), strict=True):
            await world.until(key, event)
    there = world.theirs.objects
    labels = tuple(label for each in there.values() for label in each["metadata"]["labels"])
    return HandedBack(await look(world), tuple(there), labels, frozenset(world.theirs.asked_to_end))


@pytest.mark.parametrize(("end", "there"), [(OnRelease.KEEP, (NAME,)), (OnRelease.DELETE, ())])
async def test_the_calm_story_is_the_one_that_is_meant(mortal, end, there):
    told = await tell(mortal, end, {})
    assert told.ending.histories[0] == ("pending", "launching", "provisioned", "ready", "releasing", "released")
    assert (told.there, told.labels, told.ending.standing, told.ending.launched) == (
        there,
        (),
        frozenset(),
        frozenset(),
    )
    assert told.asked_to_end == frozenset({NAME} - set(there))
    assert told.ending.done >= {"2 nodes", "3 nodes", "applied d1 on theirs-kubeconfig", "withdrawn"}


@pytest.mark.parametrize("after", [False, True], ids=["before", "after"])
@pytest.mark.parametrize("end", OnRelease)
@pytest.mark.parametrize("name", SERVICES)
async def test_a_crash_at_any_await_is_invisible(mortal, name, end, after):
    calm = mortal.Life()
    ending = await tell(mortal, end, {name: [calm]})
    assert calm.calls > 15
    for number in range(1, calm.calls + 1):
        life = mortal.Life(at=number, after=after)
        assert await tell(mortal, end, {name: [life, mortal.Life()]}) == ending, f"died at call {number}"
        assert life.dead


@pytest.mark.parametrize("every", [13, 17, 23])
async def test_dying_again_and_again_is_invisible_too(mortal, every):
    ending = await tell(mortal, OnRelease.KEEP, {})
    lives = {name: (mortal.Life(at=every + n, after=bool(n % 2)) for n in count()) for name in SERVICES}
    assert await tell(mortal, OnRelease.KEEP, lives) == ending
