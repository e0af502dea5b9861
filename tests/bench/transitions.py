"""How fast the one loop is: transitions per second through it, against the publishes it cannot do without."""

import asyncio
import random
from collections.abc import Iterable
from contextlib import AsyncExitStack
from datetime import UTC, datetime
from itertools import count
from pathlib import Path
from time import perf_counter
from typing import TYPE_CHECKING

import msgspec

from events.bus import Bus, Message
from events.jetstream.bus import connect
from events.jetstream.server import NatsServer
from events.telemetry import Meters
from schemas.registry import Stream, declared
from schemas.subjects import Key
from services.runtime.context import Context
from services.runtime.loop import Runtime, Service
from services.runtime.machine import Command, Event
from tests.bench.bare_publish import BarePublisher, replay
from tests.bench.figure import Figure, Goal, alternate, of_pairs
from tests.bench.toy import DOMAIN, MACHINE, SPEC, STEPS, STREAMS, SUBSCRIPTIONS, TODO, Asked, Rest, Step, Stepped

if TYPE_CHECKING:
    pass

GOAL = Goal("ratio", 0.6, at_least=True)
ENTITIES = {1: 200, 64: 1500, 256: 1500}
"""How many walk in one run, by the number in flight."""
PAIRS = 6
ROUNDS = count(1000)
"""Each has a tenant of its own: what was said once is, for two minutes, not stored again, even if it was purged."""
AT_ONCE = 256
"""How many are asked for at the same time; that is not measured."""


def name_of(number: int) -> str:
    """An entity's name; all are as long."""
    return f"walker-{number:05}"


class Walk:
    """One run of the runtime: starts when everybody has been asked, ends when the last has arrived."""

    def __init__(self, bus: Bus, in_flight: int) -> None:
        self._left = ENTITIES[in_flight]
        self._over = asyncio.Event()
        service = Service(f"{DOMAIN}-{in_flight}", MACHINE, TODO, SUBSCRIPTIONS, self._act)
        self._runtime = Runtime(
            service, Context(bus, lambda: datetime.now(UTC), random.random, Meters()), at_once=in_flight
        )

    async def _act(self, _: Key, command: Command) -> Iterable[Event]:
        if isinstance(command, Step):
            return (Stepped(command.number),)
        self._left -= isinstance(command, Rest)
        if not self._left:
            self._over.set()
        return ()

    async def seconds(self) -> float:
        async with asyncio.TaskGroup() as group:
            running = group.create_task(self._runtime.run())
            await self._runtime.ready.wait()
            began = perf_counter()
            await self._over.wait()
            took = perf_counter() - began
            running.cancel()
        return took


class Course:
    """Rounds on one server, with so many in flight; each begins on empty streams."""

    def __init__(self, bus: Bus, bare: BarePublisher, in_flight: int) -> None:
        self._bus = bus
        self._bare = bare
        self._in_flight = in_flight
        self._tenant = ""

    @property
    def _transitions(self) -> int:
        return ENTITIES[self._in_flight] * STEPS

    async def runtime(self) -> float:
        """Transitions per second through the runtime."""
        for stream in (Stream.EVENTS, Stream.INTAKE):
            await self._bus.purge(stream, ">")
        self._tenant = f"r{next(ROUNDS)}"
        await self._ask()
        return self._transitions / await Walk(self._bus, self._in_flight).seconds()

    async def bare(self) -> float:
        """Publishes per second of the very same messages, a tenant's name aside."""
        walked = await self._bus.read(Stream.EVENTS, f"{DOMAIN}.*.{self._tenant}.{name_of(0)}")
        histories = replay(walked, f"b{next(ROUNDS)}", map(name_of, range(ENTITIES[self._in_flight])))
        return self._transitions / await self._bare.play(histories, self._in_flight)

    async def _ask(self) -> None:
        subject = declared(Asked).at(self._tenant)
        left = iter(range(ENTITIES[self._in_flight]))

        async def ask() -> None:
            for number in left:
                asked = Asked(self._tenant, name_of(number), SPEC)
                await self._bus.publish(Message(subject, msgspec.json.encode(asked)))

        async with asyncio.TaskGroup() as group:
            for _ in range(AT_ONCE):
                group.create_task(ask())


async def measure(folder: Path) -> list[Figure]:
    """One figure for each number in flight."""
    async with AsyncExitStack() as stack:
        server = await stack.enter_async_context(NatsServer(folder / "nats"))
        bus = await connect(server.url, name="bench", streams=STREAMS)
        stack.push_async_callback(bus.close)
        bare = await stack.enter_async_context(BarePublisher(server.url))
        return [await _figure(Course(bus, bare, in_flight), in_flight) for in_flight in ENTITIES]


async def _figure(course: Course, in_flight: int) -> Figure:
    pairs = await alternate(course.runtime, course.bare, PAIRS)
    return of_pairs(f"transitions, {in_flight} in flight", "1/s", pairs, GOAL)
