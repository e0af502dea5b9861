"""The reconcile loop: receive, decide, publish, carry out commands, acknowledge."""

import asyncio
import contextlib
from collections import deque
from collections.abc import Awaitable, Callable, Iterable, Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any

import structlog

from events.backoff import Backoff
from events.bus import Conflict, Consumer, Delivery, Unavailable
from events.errors import TryLater
from events.meters import CONFLICTS, IGNORED
from events.telemetry import NOWHERE, extract, template_of, working_on
from schemas.entity import Due, State, Wake
from schemas.registry import declared
from schemas.subjects import Key, key_of
from services.runtime.consumer import (
    AFTER_A_FAULT,
    Resume,
    Router,
    SharedAck,
    Subscription,
    Worker,
    WorkItem,
    consumers,
)
from services.runtime.context import Context
from services.runtime.entity_store import EntityStore, Retention
from services.runtime.machine import Command, Event, Machine, Todo, Waits
from services.runtime.resumed_share import ResumedShare
from services.runtime.workqueue import FAILURES, WorkQueue

Act = Callable[[Key, Command], Awaitable[Iterable[Event]]]
"""Carries out one command by calls on ports, and returns the resulting events.

Only here does a service act on the world.
"""

log = structlog.get_logger()

GRACE = 5.0
"""Seconds a service may take to finish its work when it stops."""
AT_ONCE = 256
"""The most entities of one service that are handled at once."""
SOONEST = 0.9
"""The smallest factor of a wait, so that retries are spread over a fifth of it."""
TRIES = 8
"""How often a transition is decided again after a conflict before the entity is retried later."""
RESUME = "resume"
"""The name in traces for work that no message caused."""
BREATH = 0.005
"""Seconds to wait after a conflict, doubled each time."""


def acts(table: Mapping[type[Command], Callable[[Any], Awaitable[Iterable[Event]]]]) -> Act:
    """An `Act` that looks a command's function up by its type."""

    async def act(_: Key, command: Command) -> Iterable[Event]:
        return await table[type(command)](command)

    return act


def _event(state: State) -> str:
    return declared(type(state)).event


class Resumption:
    """Has what an entity's state asks for carried out again at once, as something else has changed that it waits for.

    What is asked for before the runtime is ready is not lost: a start carries out everything.
    """

    def __init__(self) -> None:
        self._resume: Callable[[Key], None] = lambda _: None

    def __call__(self, key: Key) -> None:
        self._resume(key)

    def reach(self, resume: Callable[[Key], None]) -> None:
        """From now on, pass it on to a runtime."""
        self._resume = resume


@dataclass(frozen=True)
class Service:
    """A service: the entities it owns, its subscriptions, two pure functions, and one that acts."""

    name: str
    machine: Machine
    todo: Todo
    subscriptions: tuple[Subscription, ...]
    act: Act
    resumption: Resumption = field(default_factory=Resumption)


class Runtime:
    """Runs one service on a bus, until it is cancelled."""

    def __init__(
        self,
        service: Service,
        context: Context,
        *,
        retention: timedelta = timedelta(days=7),
        at_once: int = AT_ONCE,
    ) -> None:
        self.service = service
        self.store = EntityStore(context, service.machine.lifecycle)
        self.ready = asyncio.Event()
        self._log = log.bind(service=service.name)
        self._context = context
        self._clock = context.clock
        self._meters = context.meters
        self._jitter = context.jitter
        self._retention = Retention(self.store, service.machine.lifecycle, context.clock, retention)
        self._router = Router(service.subscriptions)
        self._queue: WorkQueue[WorkItem | Resume] = WorkQueue(
            self._open, service.name, context.jitter, lane=lambda item: item.key, parallel=at_once
        )
        self._resumed = ResumedShare(self.store, service.todo, context, self._queue.add)

    async def run(self) -> None:
        """Read all states, carry out what they ask for, then receive until cancelled; finishes work in progress."""
        await self.store.boot()
        self._resumed.begin()
        self.service.resumption.reach(lambda key: self._queue.add(Resume(key)))
        self.ready.set()
        self._log.info("service.ready", entities=len(self.store))
        async with self._queue.running(GRACE), asyncio.TaskGroup() as group:
            for consumer in self.consumers():
                group.create_task(Worker(self._context, consumer, self._receive).run())
            group.create_task(self._retention.run())
            group.create_task(self._resumed.run())

    def consumers(self) -> tuple[Consumer, ...]:
        """See `services.runtime.consumer.consumers`."""
        return consumers(self.service.name, self.service.machine.lifecycle.domain, self.service.subscriptions)

    async def _receive(self, delivery: Delivery) -> None:
        """Queue what a message means for each entity that it concerns. Raises Undecodable."""
        stored = delivery.stored
        self.store.note_time(stored.time)
        events = self._due(stored.subject) or self._router.read(stored)
        if not events:
            await delivery.ack()
            return
        ack, cause = SharedAck(delivery, len(events)), stored.headers.get("ce-id", "")
        trace, template = extract(stored.headers), template_of(stored.subject)
        self._meters.consumed(template, self._since(stored.time), trace.example)
        for key, event in events:
            self._queue.add(WorkItem(key, event, cause, ack, trace, template, stored.time))

    def _due(self, subject: str) -> tuple[tuple[Key, Event], ...]:
        if not subject.startswith("due."):
            return ()
        key = key_of(subject)
        self.store.fired(key)
        return ((key, Due()),)

    async def _open(self, item: WorkItem | Resume) -> None:
        started, key = self._meters.timer(), item.key
        try:
            if isinstance(item, Resume):
                await self._resume(item)
            else:
                await self._handle(item)
        except Unavailable as away:
            self._log.warning("bus.unavailable", entity=key.path, reason=str(away))
            await self._put_off(item)
        except Conflict:
            self._log.warning("entity.contended", entity=key.path)
            await self._put_off(item)
        except Exception:  # noqa: BLE001 - a fault of ours must not stop the other entities: logged, counted, tried again
            self._log.exception("entity.failed", entity=key.path, domain=key.domain)
            self._meters.count(FAILURES, key.domain)
            await self._put_off(item, AFTER_A_FAULT)
        else:
            self._queue.forget(Resume(key))
            if isinstance(item, WorkItem):
                took, lag = self._meters.timer() - started, self._since(item.stored)
                self._meters.processed(item.template, took, lag, item.trace.example)

    def _since(self, time: datetime) -> float:
        return (self._clock() - time).total_seconds()

    async def _put_off(self, item: WorkItem | Resume, least: float = 0.0) -> None:
        """Handle the item again later, and carry out again what the state asks for."""
        after = self._queue.add_rate_limited(Resume(item.key), least)
        if isinstance(item, WorkItem):
            with contextlib.suppress(Unavailable):  # unanswered, it comes again as well
                await item.ack.retry(after)

    async def _resume(self, item: Resume) -> None:
        with working_on(item.key, NOWHERE, RESUME):
            if item.reload:
                await self.store.reload(item.key)
            await self._advance(item.key, await self._do(item.key))

    async def _handle(self, item: WorkItem) -> None:
        with working_on(item.key, item.trace, item.template):
            await self._advance(item.key, (item.event,), item.cause, item.event)
        await item.ack.done()

    async def _advance(self, key: Key, first: Iterable[Event], cause: str = "", received: Event | None = None) -> None:
        """Decide on events and carry out what the new states ask for, until nothing changes."""
        events = deque(first)
        while events:
            event = events.popleft()
            if await self._step(key, event, cause):
                events.extend(await self._do(key))
            elif event is received and await self.store.reload(key):
                events.append(event)  # it meant nothing to what we knew, but another replica has moved on
            elif isinstance(event, Due):
                await self._rearm(key)

    async def _step(self, key: Key, event: Event, cause: str) -> bool:
        """Decide, then publish; after a conflict read the state and decide again. Raises Conflict."""
        backoff = Backoff(self._jitter, base=BREATH)
        while True:
            state = self.store.entry(key).state
            new = self.service.machine.decide(state, event, self._clock())
            if new is None or new == state:
                self._meters.count(IGNORED, key.domain)
                return False
            try:
                await self._transition(key, state, new, cause)
            except Conflict:
                self._meters.count(CONFLICTS, key.domain)
                if backoff.failures == TRIES:
                    raise
                await asyncio.sleep(backoff.next_delay())
                await self.store.reload(key)
            else:
                return True

    async def _transition(self, key: Key, old: State | None, new: State, cause: str) -> None:
        cancels = self._has_timer(old) and not self._has_timer(new)
        written = await self.store.write(key, new, cause=cause, cancels_timer=cancels)
        was = _event(old) if old else ""
        dwelt = (written.since - old.since).total_seconds() if old else 0.0
        self._meters.transition(key.domain, was, _event(written), dwelt)
        self._log.info(
            "entity.changed",
            domain=key.domain,
            state=_event(written),
            tenant=key.tenant,
            name=key.name,
            was=was or None,
            revision=written.revision,
        )

    def _has_timer(self, state: State | None) -> bool:
        return state is not None and any(isinstance(command, Wake) for command in self.service.todo(state))

    async def _do(self, key: Key) -> list[Event]:
        """Carry out all that the state asks for; returns the resulting events.

        Timers are set first, in case the rest fails.
        """
        state = self.store.entry(key).state
        outcomes: list[Event] = []
        commands = self.service.todo(state) if state else ()
        for command in sorted(commands, key=lambda each: not isinstance(each, Wake)):
            if isinstance(command, Wake):
                outcomes.extend(await self._wake(key, command))
                continue
            try:
                outcomes.extend(await self.service.act(key, command))
            except TryLater as later:
                self._log.debug("command.later", entity=key.path, command=type(command).__name__, reason=later.message)
                self._later(key, later.after)
                if isinstance(later, Waits):
                    outcomes.append(later.event)
        return outcomes

    async def _wake(self, key: Key, wake: Wake) -> tuple[Event, ...]:
        if wake.at <= self._clock():
            return (Due(),)
        if not await self.store.arm(key, wake.at):
            self._later(key, (wake.at - self._clock()).total_seconds() / SOONEST)
        return ()

    async def _rearm(self, key: Key) -> None:
        """Set the timer again: it was an earlier state's, or the bus's clock is ahead of ours."""
        state = self.store.entry(key).state
        for command in self.service.todo(state) if state else ():
            if isinstance(command, Wake) and await self._wake(key, command):
                self._later(key, 0.0)  # it has become time meanwhile

    def _later(self, key: Key, after: float) -> None:
        """Carry out again later what the state asks for; after a crash the next start does it."""
        self._queue.add_after(Resume(key), after * (SOONEST + 0.2 * self._jitter()))
