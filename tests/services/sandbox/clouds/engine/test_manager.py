"""Whenever the clouds die, those that come after end where they would have ended."""

import asyncio
from collections import Counter

import pytest

from events.errors import TryLater
from events.kube.client import Kube
from events.kube.resources import CLUSTERS, MACHINEDEPLOYMENTS, MACHINES, NODES, SECRETS
from services.sandbox.clouds.engine.manager import Clouds
from services.sandbox.clouds.model.annotations import CONTROLPLANES
from services.sandbox.clouds.model.billing import machines_ever
from services.sandbox.clouds.model.pace import Pace
from services.sandbox.clouds.model.snapshot import SimulationRules

pytestmark = pytest.mark.looptime


class Killed(BaseException):
    """kill -9, as far as one task can feel it."""


class Mortal:
    """A way to the API on which the clouds die at their first write: before it is sent, or before its answer."""

    def __init__(self, inner, life):
        self._inner = inner
        self._life = life

    async def send(self, request):
        if request.method == "GET":
            return await self._inner.send(request)
        if self._life["writes"] == 0:
            raise Killed
        self._life["writes"] -= 1
        answer = await self._inner.send(request)
        if self._life["writes"] == 0 and self._life["answer lost"]:
            raise Killed
        return answer

    def stream(self, request):
        return self._inner.stream(request)

    async def close(self):
        return None


class MortalWorld:
    """Founding, and letting go, are writes as well."""

    def __init__(self, world, life):
        self._world = world
        self._life = life

    async def found(self, place):
        return await self._once(self._world.found(place))

    async def drop(self, place):
        await self._once(self._world.drop(place))

    async def _once(self, call):
        if self._life["writes"] == 0:
            call.close()
            raise Killed
        self._life["writes"] -= 1
        result = await call
        if self._life["writes"] == 0 and self._life["answer lost"]:
            raise Killed
        return result

    def kube(self, place):
        return Kube(Mortal(self._world.kube(place).transport, self._life), random=lambda: 0.5)


async def one_life(sandbox, clock, writes, lost):
    """Clouds that live for so many writes; whether they died of it (else they had nothing more to do)."""
    life = {"writes": writes, "answer lost": lost}
    kube = Kube(Mortal(sandbox.kube.transport, life), random=lambda: 0.5)
    rules = SimulationRules(Pace().times(0.01), shapes=sandbox.laws.shapes)
    task = asyncio.create_task(Clouds(kube, MortalWorld(sandbox.world, life), rules, clock).run())
    done, _ = await asyncio.wait([task], timeout=5)
    if not done:
        task.cancel()
        await asyncio.wait([task])
        return False
    with pytest.raises(BaseExceptionGroup) as caught:
        task.result()
    assert caught.group_contains(Killed)
    return True


async def live(sandbox, clock, most, lost):
    """Life after life, each a write longer than the last, up to `most`; gives how many there were.

    A life of one write would do the same first half of a step for ever, as does a real process that dies there.
    """
    lives = 0
    while await one_life(sandbox, clock, 1 + lives % most, lost):
        lives += 1
        assert lives < 400, "these clouds die without ever getting anywhere"
    return lives


async def shape(sandbox):
    """What a cluster is, without names and times."""
    said = Counter()
    for resource in (CLUSTERS, CONTROLPLANES, MACHINEDEPLOYMENTS, MACHINES):
        for each in await sandbox.all(resource):
            conditions = tuple((c["type"], c["status"], c["reason"]) for c in each["status"]["conditions"])
            said[resource.kind, each["status"].get("phase"), each["status"].get("replicas"), conditions] += 1
    places = [place for place in sandbox.api.clusters if place != "management"]
    nodes = [len((await sandbox.world.kube(place).list(NODES)).items) for place in places]
    bought = sum(one.end is None for one in await machines_ever(sandbox.kube))
    return said, nodes, bought, len(await sandbox.all(SECRETS))


async def undisturbed(sandbox, clock):
    """What becomes of a cluster whose clouds never die; and it is gone again."""
    await sandbox.apply("calm", REPLICAS="2")
    await one_life(sandbox, clock, 10_000, lost=False)
    found = await shape(sandbox)
    await sandbox.kube.delete(CLUSTERS, "calm", "default")
    await one_life(sandbox, clock, 10_000, lost=False)
    return found


@pytest.mark.parametrize(("most", "lost"), [(4, True), (5, False), (7, True)])
async def test_dying_after_every_few_writes_changes_nothing(sandbox, now, most, lost):
    calm = await undisturbed(sandbox, now)
    await sandbox.apply("torn", REPLICAS="2")
    assert await live(sandbox, now, most, lost) > 20
    assert await shape(sandbox) == calm
    await sandbox.kube.delete(CLUSTERS, "torn", "default")
    assert await live(sandbox, now, most, lost) > 8
    assert await shape(sandbox) == (Counter(), [], 0, 0)
    ever = await machines_ever(sandbox.kube)
    assert len(ever) == 6  # three of the calm cluster, three of this one: none twice


async def test_twenty_clusters_are_founded_side_by_side(sandbox):
    async with sandbox.running():
        for number in range(20):
            await sandbox.apply(f"c-{number}", REPLICAS="1")
        await asyncio.sleep(8)  # what one alone takes, and no more
        available = [await sandbox.condition(CLUSTERS, f"c-{number}", "Available") for number in range(20)]
    assert {status for status, _, _ in available} == {"True"}


async def test_a_refused_write_is_tried_again_later(sandbox, now):
    class Refusing(Mortal):
        left = 5

        async def send(self, request):
            if request.method == "PATCH" and self.left:
                self.left -= 1
                raise TryLater("not now", 0.5)
            return await self._inner.send(request)

    kube = Kube(Refusing(sandbox.kube.transport, {}), random=lambda: 0.5)
    task = asyncio.create_task(Clouds(kube, sandbox.world, sandbox.laws, now).run())
    await sandbox.apply("c", REPLICAS="1")
    await sandbox.until(CLUSTERS, "c", "Available")
    task.cancel()
    await asyncio.wait([task])
