"""How fast the one loop is: transitions per second through it, against the publishes it cannot do without."""

import asyncio
import random
from collections.abc import AsyncIterator, Iterable
from contextlib import AsyncExitStack
from dataclasses import replace
from datetime import UTC, datetime
from itertools import count
from pathlib import Path
from time import perf_counter
from typing import TYPE_CHECKING, cast

import msgspec

from events.bus import Bus, Consumer, Delivery, Message
from events.jetstream import connect
from events.nats_server import NatsServer
from events.telemetry import Meters
from schemas.registry import Stream, declared
from schemas.subjects import Key
from services.machine import Command, Event
from services.runtime import Runtime, Service
from tests.bench.bare_publish import BarePublisher, replay
from tests.bench.figure import Figure, Goal, alternate, of_pairs
from tests.bench.toy import DOMAIN, HEARS, MACHINE, SPEC, STEPS, STREAMS, TODO, Asked, Rest, Step, Stepped

if TYPE_CHECKING:
    from services.machine import Todo

GOAL = Goal("ratio", 0.6, at_least=True)
ENTITIES = {1: 200, 64: 2000, 256: 2000}
"""How many walk in one run, by the number in flight."""
PAIRS = 7
AT_ONCE = 256
"""How many are asked for at the same time; that is not measured."""


class Narrow:
    """A bus that hands out no more than so many messages of a consumer at a time."""

    def __init__(self, bus: Bus, in_flight: int) -> None:
        self._bus = bus
        self._in_flight = in_flight
        self.publish = bus.publish  # at every transition: nothing of ours stands between

    def __getattr__(self, name: str) -> object:
        return getattr(self._bus, name)

    def consume(self, consumer: Consumer) -> AsyncIterator[Delivery]:
        return self._bus.consume(replace(consumer, in_flight=self._in_flight))


class Walk:
    """One run of the runtime: starts when everybody has been asked, ends when the last has arrived."""

    def __init__(self, bus: Bus, in_flight: int) -> None:
        self._left = ENTITIES[in_flight]
        self._over = asyncio.Event()
        service = Service(f"{DOMAIN}-{in_flight}", MACHINE, cast("Todo", TODO), HEARS, self._act)
        narrow = cast("Bus", Narrow(bus, in_flight))
        self._runtime = Runtime(service, narrow, clock=lambda: datetime.now(UTC), meters=Meters(), jitter=random.random)

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
        self._rounds = count(1000)
        self._tenant = ""

    @property
    def _transitions(self) -> int:
        return ENTITIES[self._in_flight] * STEPS

    async def runtime(self) -> float:
        """Transitions per second through the runtime."""
        for stream in (Stream.EVENTS, Stream.INTAKE):
            await self._bus.purge(stream, ">")
        self._tenant = f"r{next(self._rounds)}"
        await self._ask()
        return self._transitions / await Walk(self._bus, self._in_flight).seconds()

    async def bare(self) -> float:
        """Publishes per second of the very same messages, a tenant's name aside."""
        stored = await self._bus.read(Stream.EVENTS, f"{DOMAIN}.*.{self._tenant}.*")
        histories = replay(stored, self._tenant, f"b{next(self._rounds)}")
        return self._transitions / await self._bare.play(histories, self._in_flight)

    async def _ask(self) -> None:
        subject, names = declared(Asked).at(self._tenant), count()
        left = iter(range(ENTITIES[self._in_flight]))

        async def ask() -> None:
            for _ in left:
                asked = Asked(self._tenant, f"walker-{next(names)}", SPEC)
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
