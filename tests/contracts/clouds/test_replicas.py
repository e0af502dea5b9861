"""Several replicas of every service do the work of one: nothing twice, and all of it when one of them dies."""

import asyncio
from collections import Counter
from contextlib import AsyncExitStack, suppress
from dataclasses import replace

import pytest

from events.kube.client import Kube
from schemas.cluster import Ready
from schemas.member import ServiceMember
from services.clouds.port import backends
from services.compose import composed
from tests.contracts.clouds.house import REGIONS, WORK, Gate, House
from tests.services.sandbox.clouds.conftest import clock, running_sandbox

pytestmark = [pytest.mark.looptime, pytest.mark.timeout(120)]
COLONIES = tuple(f"crew-{number}" for number in range(8))
SPREAD = 1.1
"""Patches differ by a few from run to run, as changes that follow each other are written together."""
SETTLED = 60.0
"""Seconds after which all that follows from a change has been done."""


def of_what(path):
    """The plural of what is written, and of its part, such as ``colonies/status``."""
    parts = path.partition("/namespaces/")[2].split("/")
    return "/".join(parts[1:2] + parts[3:])


class CountingGate(Gate):
    """Counts the writes that are asked for, by kind and what is done."""

    def __init__(self, beyond, counts):
        super().__init__(beyond)
        self._counts = counts

    async def send(self, request):
        if request.method != "GET":
            self._counts[request.method, of_what(request.path)] += 1
        return await super().send(request)


class Replica:
    """All services in one process of their own: their bus, their way to the API server, their name."""

    def __init__(self, house, name, counts):
        self.bus, self.gate = house.bus.again(), CountingGate(house.gate, counts)
        about = ServiceMember(host=name, version="0", since=clock())
        context = replace(house.ports.context, bus=self.bus)
        kube = Kube(self.gate, random=lambda: 0.5)
        ports = replace(house.ports, context=context, management=kube, clouds=backends(kube), replica=(name, about))
        self._tasks = [asyncio.create_task(composed(each, ports).run()) for each in WORK]

    def die(self):
        """At once, as a process that is killed: it says to nobody that it leaves."""
        self.gate.turn(open_=False)
        self.bus.crash()
        for task in self._tasks:
            task.cancel()

    async def stop(self):
        for task in self._tasks:
            task.cancel()
        for task in self._tasks:
            with suppress(asyncio.CancelledError, Exception):
                await task


async def life(house, names, *, dies=""):
    """Clusters are founded and ended by these replicas, of which one may die; gives the writes that it took."""
    counts = Counter()
    for region, price in REGIONS.items():
        await house.offer(region, price)
    async with AsyncExitStack() as stack:
        await stack.enter_async_context(house.sandbox.running())
        replicas = {name: Replica(house, name, counts) for name in names}
        for each in replicas.values():
            stack.push_async_callback(each.stop)
        await asyncio.sleep(5)
        for name in COLONIES:
            await house.ask(name=name)
        if dies:
            await asyncio.sleep(20)
            replicas[dies].die()
        for name in COLONIES:
            await house.until(Ready, name=name)
        await asyncio.sleep(SETTLED)
        states = [await house.state(name) for name in COLONIES]
        for name in COLONIES:
            await house.let_go(name)
        for name in COLONIES:
            await house.gone(name)
        await asyncio.sleep(SETTLED)
    assert {state.attempt.number for state in states} == {1}
    assert await house.paid() == []
    return counts


async def test_three_replicas_write_what_one_writes(house):
    async with running_sandbox() as another:
        alone = House(another, house.backend, of_a_class=house.of_a_class)
        once = await life(alone, ("one",))
    counts = await life(house, ("one", "two", "three"))
    assert once["POST", "secrets"] == once["DELETE", "secrets"] == len(COLONIES)
    assert {key: number for key, number in counts.items() if key[0] != "PATCH"} == {
        key: number for key, number in once.items() if key[0] != "PATCH"
    }
    more = {key: (number, once[key]) for key, number in counts.items() if number > SPREAD * once[key]}
    assert more == {}


async def test_what_a_replica_that_dies_had_begun_is_finished_by_the_others(house):
    await life(house, ("one", "two"), dies="two")
