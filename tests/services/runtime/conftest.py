"""A lamp, the smallest entity there is: pressed, connected, lit for ten minutes, dark."""

import asyncio
from collections.abc import Iterable
from contextlib import suppress
from datetime import UTC, datetime, timedelta

import msgspec
import pytest

from events.bus import Conflict, Message, Timer, Unavailable
from events.memory.bus import MemoryBus
from events.meters import Meters
from events.streams import StreamSpec
from schemas import registry
from schemas.entity import Due, Lifecycle, State, Wake
from schemas.subjects import Key
from services.runtime.consumer import subscribe
from services.runtime.entity_store import EntityStore
from services.runtime.loop import Runtime, Service
from services.runtime.machine import asks, machine, on
from services.runtime.share import WHOLE, Share
from tests.context import context

START = datetime(2026, 1, 1, tzinfo=UTC)
HALL = Key("lamp", "acme", "hall")
SHINES = timedelta(minutes=10)
MANY = 1000
"""How often nobody may try in vain within a test."""
STREAMS = (
    StreamSpec("EVENTS", ("lamp.*.*.*", "timer.>", "due.>"), schedules=True),
    StreamSpec("LEVELS", ("observed.>",), per_subject=1),
    StreamSpec("DLQ", ("dlq.>",)),
)


class Pressed(msgspec.Struct, frozen=True, kw_only=True):
    uid: str
    on: bool = True


class Connected(msgspec.Struct, frozen=True):
    pass


class Connect(msgspec.Struct, frozen=True):
    uid: str


class Waiting(State, frozen=True, kw_only=True):
    pass


class Lit(State, frozen=True, kw_only=True):
    until: datetime


class Dark(State, frozen=True, kw_only=True):
    pass


def press(_: None, pressed: Pressed) -> Waiting | None:
    return Waiting(uid=pressed.uid, correlation="house") if pressed.on else None


def press_again(state: Dark, pressed: Pressed) -> Dark | Waiting:
    return Waiting(uid=pressed.uid, correlation="house") if pressed.uid != state.uid else state


def shine(state: Waiting, _: Connected, now: datetime) -> Lit:
    return state.to(Lit, until=now + SHINES)


def put_out(state: Waiting | Lit, pressed: Pressed) -> Waiting | Lit | Dark:
    return state if pressed.on or pressed.uid != state.uid else state.to(Dark)


def fade(state: Lit, _: Due, now: datetime) -> Lit | Dark:
    return state.to(Dark) if now >= state.until else state


LIFE = Lifecycle("lamp", {None: (Waiting,), Waiting: (Lit, Dark), Lit: (Dark,), Dark: (Waiting,)}, ends=(Dark,))
DECIDE = machine(
    LIFE,
    on(type(None), Pressed, press),
    on(Dark, Pressed, press_again),
    on(Waiting, Connected, shine),
    on((Waiting, Lit), Pressed, put_out),
    on(Lit, Due, fade),
)
TODO = asks({Waiting: lambda s: (Connect(s.uid),), Lit: lambda s: (Wake(s.until),)})


def clock() -> datetime:
    return START + timedelta(seconds=asyncio.get_running_loop().time())


class Flaky(MemoryBus):
    """A bus whose next calls of some kind go astray."""

    def __init__(self) -> None:
        super().__init__(STREAMS, lambda: clock() + self.jumped)
        self.jumped = timedelta()
        """How far the machine's clock was set forward, for the bus and for all that run on it."""
        self.astray = {"wake": 0, "publish": 0, "purge": 0}
        self.contended: set[str] = set()
        """Histories whose compare-and-swap is lost every time."""
        self.lost: list[float] = []
        """When one was."""

    def _perhaps(self, call: str) -> None:
        if self.astray[call]:
            self.astray[call] -= 1
            raise Unavailable(f"{call} went astray")

    async def wake(self, timer: Timer) -> None:
        self._perhaps("wake")
        await super().wake(timer)

    async def publish(self, message: Message, **how) -> int:
        self._perhaps("publish")
        if (expect := how.get("expect")) and expect.history in self.contended:
            self.lost.append(asyncio.get_running_loop().time())
            if len(self.lost) > MANY:
                raise AssertionError("retried in a hot loop")
            raise Conflict(expect.sequence)
        return await super().publish(message, **how)

    async def purge(self, stream: str, subject_filter: str) -> int:
        self._perhaps("purge")
        return await super().purge(stream, subject_filter)


class House:
    """A bus, and as many runtimes on it as one likes."""

    def __init__(self) -> None:
        self.bus = Flaky()
        self.meters = Meters()
        self.connects: list[tuple[str, float]] = []
        self.answers: list[Exception | tuple] = []
        """What the next connects come to; (Connected(),) if nothing is said."""
        self.todo = TODO
        self.takes = 0.0
        """Seconds a connect takes."""
        self.called = asyncio.Event()
        self._tasks: list[asyncio.Task] = []

    async def act(self, key: Key, command: Connect) -> Iterable:
        self.connects.append((key.name, asyncio.get_running_loop().time()))
        self.called.set()
        await asyncio.sleep(self.takes)
        answer = self.answers.pop(0) if self.answers else (Connected(),)
        if isinstance(answer, Exception):
            raise answer
        return answer

    async def start(self, bus: MemoryBus | None = None, behind: float = 0.0, share: Share = WHOLE) -> asyncio.Task:
        """Run one more; its clock may be some seconds behind the bus's."""
        line = subscribe(Pressed, lambda names, pressed: ((Key("lamp", names[2], names[3]), pressed),))
        service = Service("lamps", DECIDE, self.todo, (line,), self.act)
        runtime = Runtime(
            service,
            context(
                bus or self.bus, lambda: clock() + self.bus.jumped - timedelta(seconds=behind), self.meters, share=share
            ),
            retention=timedelta(hours=2),
        )
        task = asyncio.create_task(runtime.run())
        self._tasks.append(task)
        await runtime.ready.wait()
        await asyncio.sleep(0.01)
        return task

    async def stop(self, *tasks: asyncio.Task) -> None:
        for task in tasks or self._tasks:
            task.cancel()
            with suppress(asyncio.CancelledError):
                await task

    async def press(self, name: str, uid: str = "l1", *, on: bool = True, wait: float = 0.01, trace: str = "") -> None:
        data = msgspec.json.encode(Pressed(uid=uid, on=on))
        headers = {"ce-id": f"finger.{uid}.{on}"} | ({"traceparent": trace} if trace else {})
        await self.bus.publish(Message(f"observed.press.acme.{name}", data, headers))
        await asyncio.sleep(wait)

    async def history(self, name: str = "*") -> tuple:
        return await self.bus.read("EVENTS", f"lamp.*.acme.{name}")

    async def story(self, name: str = "hall") -> list[str]:
        return [stored.subject.split(".")[1] for stored in await self.history(name)]

    async def elsewhere(self, state: State) -> None:
        """Another replica writes a transition that ours has not heard of."""
        store = EntityStore(context(self.bus, clock), LIFE)
        await store.boot()
        await store.write(HALL, state, cause="", cancels_timer=False)

    def connected(self) -> tuple:
        """What a connect comes to that works."""
        return (Connected(),)

    def connects_while_lit(self) -> None:
        """A lamp that is lit asks to be connected all the time, before it says when it is to be woken."""
        self.todo = asks({Waiting: lambda s: (Connect(s.uid),), Lit: lambda s: (Connect(s.uid), Wake(s.until))})

    def lit(self, uid: str = "l1", shines: timedelta = SHINES) -> Lit:
        return Lit(uid=uid, until=clock() + shines)

    def dark(self, uid: str) -> Dark:
        return Dark(uid=uid)

    async def lit_until(self) -> datetime:
        return msgspec.json.decode((await self.history("hall"))[-1].data, type=Lit).until

    def timer(self, seconds: float) -> Timer:
        return Timer(HALL.timer, HALL.due, clock() + timedelta(seconds=seconds))

    async def connecting(self) -> None:
        """Wait until the first call on the world is under way."""
        await self.called.wait()


@pytest.fixture
async def house(monkeypatch):
    monkeypatch.setattr(registry, "_by_type", {})
    monkeypatch.setattr(registry, "_by_struct", {})
    for struct in (Waiting, Lit, Dark):
        registry.state("lamp", struct.__name__.lower(), owner="lamps")(struct)
    registry.level("observed.press.{tenant}.{lamp}", owner="finger")(Pressed)
    made = House()
    yield made
    await made.stop()
