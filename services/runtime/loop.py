"""The one loop: hear, decide, publish, do what the new truth asks for, answer."""

import asyncio
import contextlib
from collections import deque
from collections.abc import Awaitable, Callable, Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

import structlog

from events.backoff import Backoff, Backoffs
from events.bus import Bus, Conflict, Consumer, Delivery, Unavailable
from events.errors import TryLater
from events.meters import CONFLICTS, IGNORED, UNDECODABLE
from events.telemetry import Meters, extract, template_of, working_on
from schemas.entity import Due, State, Wake
from schemas.registry import declared
from schemas.subjects import Key, key_of
from services.runtime.entity_store import Clock, EntityStore
from services.runtime.failures import FAILURES
from services.runtime.machine import Command, Event, Machine, Todo, Waits
from services.runtime.mailbox import Mailboxes
from services.runtime.retention import Retention
from services.runtime.subscriptions import Router, Subscription, Undecodable, consumers
from services.runtime.work_item import SharedAck, WorkItem

Act = Callable[[Key, Command], Awaitable[Iterable[Event]]]
"""Turns one command into a call on a port, and its outcome into events. The only place that meets the world."""

log = structlog.get_logger()

GRACE = 5.0
"""Seconds a service may take to finish what it has begun when it is told to leave."""
AT_ONCE = 256
"""How many entities of one service are worked on at the same time."""
SOONEST = 0.9
"""The least part of a wait: retries are spread from there over a fifth of it."""
AFTER_A_FAULT = 5.0
"""Seconds, at least, until an entity is looked at again after our own code failed over it."""
TRIES = 8
"""How often a transition is decided anew while others are faster, before the entity is put off."""
BREATH = 0.005
"""Seconds, doubled each time, in which whoever was faster may get ahead."""


def acts(table: Mapping[type[Command], Callable[[Any], Awaitable[Iterable[Event]]]]) -> Act:
    """An `Act` that looks a command's function up by its type."""

    async def act(_: Key, command: Command) -> Iterable[Event]:
        return await table[type(command)](command)

    return act


def _event(state: State) -> str:
    return declared(type(state)).event


@dataclass(frozen=True)
class Service:
    """A service is what it owns, what it hears, two pure functions, and one that acts."""

    name: str
    machine: Machine
    todo: Todo
    subscriptions: tuple[Subscription, ...]
    act: Act


class Runtime:
    """Runs one service on a bus, until it is cancelled."""

    def __init__(  # noqa: PLR0913 - what it runs, its one port, and all that comes in from outside
        self,
        service: Service,
        bus: Bus,
        *,
        clock: Clock,
        meters: Meters,
        jitter: Callable[[], float],
        retention: timedelta = timedelta(days=7),
        at_once: int = AT_ONCE,
    ) -> None:
        self.service = service
        self.store = EntityStore(bus, service.machine.lifecycle, clock, meters)
        self.ready = asyncio.Event()
        self._log = log.bind(service=service.name)
        self._bus = bus
        self._clock = clock
        self._meters = meters
        self._jitter = jitter
        self._retention = Retention(self.store, service.machine.lifecycle, clock, retention)
        self._router = Router(service.subscriptions)
        self._mail: Mailboxes[Key, WorkItem] = Mailboxes(self._open, at_once)
        self._again: dict[Key, asyncio.TimerHandle] = {}
        self._outages: Backoffs[Key] = Backoffs(jitter)
        self._leaving = False

    async def run(self) -> None:
        """Boot, do what unsettled states ask for, then listen for ever."""
        await self.store.boot()
        for key, entry in self.store:
            if entry.state is not None and self.service.todo(entry.state):
                self._mail.put(key, WorkItem(None))
        self.ready.set()
        self._log.info("service.ready", entities=len(self.store))
        try:
            async with asyncio.TaskGroup() as group:
                for consumer in self.consumers():
                    group.create_task(self._listen(consumer))
                group.create_task(self._retention.run())
        finally:
            await self._leave()

    async def _leave(self) -> None:
        """Finish what has been begun, within `GRACE`; what is not answered then comes again."""
        self._leaving = True
        for handle in self._again.values():
            handle.cancel()
        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(self._mail.drain(), GRACE)
        await self._mail.close()

    def consumers(self) -> tuple[Consumer, ...]:
        """See `services.runtime.subscriptions.consumers`."""
        return consumers(self.service.name, self.service.machine.lifecycle.domain, self.service.subscriptions)

    async def _listen(self, consumer: Consumer) -> None:
        async with contextlib.aclosing(self._bus.consume(consumer)) as deliveries:
            async for delivery in deliveries:
                try:
                    await self._hear(delivery)
                except Unavailable as away:  # it could not be answered, so it comes again
                    self._log.warning("bus.unavailable", subject=delivery.stored.subject, reason=str(away))

    async def _hear(self, delivery: Delivery) -> None:
        stored = delivery.stored
        self.store.heard_at(stored.time)
        try:
            told = self._due(stored.subject) or self._router.read(stored)
        except Undecodable as wrong:
            self._meters.count(UNDECODABLE, stored.subject.partition(".")[0])
            self._log.warning("message.undecodable", subject=stored.subject, reason=str(wrong))
            await delivery.reject(str(wrong))
            return
        if not told:
            await delivery.ack()
            return
        ack, cause = SharedAck(delivery, len(told)), stored.headers.get("ce-id", "")
        trace, template = extract(stored.headers), template_of(stored.subject)
        self._meters.consumed(template, self._since(stored.time), trace.example)
        for key, event in told:
            self._mail.put(key, WorkItem(event, cause, ack, trace, template, stored.time))

    def _due(self, subject: str) -> tuple[tuple[Key, Event], ...]:
        if not subject.startswith("due."):
            return ()
        key = key_of(subject)
        self.store.fired(key)
        return ((key, Due()),)

    async def _open(self, key: Key, item: WorkItem) -> None:
        started = self._meters.timer()
        try:
            with working_on(key, item.trace, item.template):
                await self._advance(key, item)
            self._outages.forget(key)
            if item.ack is not None:
                await item.ack.done()
        except Unavailable as away:
            self._log.warning("bus.unavailable", entity=key.path, reason=str(away))
            await self._put_off(key, item)
        except Conflict:
            self._log.warning("entity.contended", entity=key.path)
            await self._put_off(key, item)
        except Exception:  # noqa: BLE001 - a fault of ours must not stop the other entities: logged, counted, tried again
            self._log.exception("entity.failed", entity=key.path, domain=key.domain)
            self._meters.count(FAILURES, key.domain)
            await self._put_off(key, item, AFTER_A_FAULT)
        else:
            if item.stored is not None:
                took, lag = self._meters.timer() - started, self._since(item.stored)
                self._meters.processed(item.template, took, lag, item.trace.example)

    def _since(self, time: datetime) -> float:
        return (self._clock() - time).total_seconds()

    async def _put_off(self, key: Key, item: WorkItem, least: float = 0.0) -> None:
        """Hear it again in a while; and do again what the state asks for, for what was heard may be part of it."""
        after = self._outages.next_delay(key, least)
        self._later(key, after)
        if item.ack is not None:
            with contextlib.suppress(Unavailable):  # unanswered, it comes again as well
                await item.ack.retry(after)

    async def _advance(self, key: Key, item: WorkItem) -> None:
        events: deque[Event] = deque()
        if item.event is None:
            if item.since_boot:
                await self.store.reload(key)
            events.extend(await self._do(key))
        else:
            events.append(item.event)
        while events:
            event = events.popleft()
            if await self._step(key, event, item.cause):
                events.extend(await self._do(key))
            elif event is item.event and await self.store.reload(key):
                events.append(event)  # it meant nothing to what we knew, but another replica has moved on
            elif isinstance(event, Due):
                await self._rearm(key)

    async def _step(self, key: Key, event: Event, cause: str) -> bool:
        """Decide, then publish; whoever loses the compare-and-swap reads, then decides again. Raises Conflict."""
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
            f"{key.domain}.{_event(written)}",
            tenant=key.tenant,
            name=key.name,
            was=was or None,
            revision=written.revision,
        )

    def _has_timer(self, state: State | None) -> bool:
        return state is not None and any(isinstance(command, Wake) for command in self.service.todo(state))

    async def _do(self, key: Key) -> list[Event]:
        """Do all that the state asks for; gives what came of it. Its timers come first, whatever fails after them."""
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
                    outcomes.append(later.said)
        return outcomes

    async def _wake(self, key: Key, wake: Wake) -> tuple[Event, ...]:
        if wake.at <= self._clock():
            return (Due(),)
        if not await self.store.arm(key, wake.at):
            self._later(key, (wake.at - self._clock()).total_seconds() / SOONEST)
        return ()

    async def _rearm(self, key: Key) -> None:
        """It is not time yet: the timer was an earlier state's, or the bus's clock is ahead of ours."""
        state = self.store.entry(key).state
        for command in self.service.todo(state) if state else ():
            if isinstance(command, Wake) and await self._wake(key, command):
                self._later(key, 0.0)  # it has become time meanwhile

    def _later(self, key: Key, after: float) -> None:
        """Do again in a while what the state asks for; a crash until then is no loss: boot does it too."""
        loop, waits = asyncio.get_running_loop(), self._again.get(key)
        when = loop.time() + self._spread(after)
        if self._leaving or (waits is not None and waits.when() <= when):
            return
        if waits is not None:
            waits.cancel()
        self._again[key] = loop.call_at(when, self._do_again, key)

    def _do_again(self, key: Key) -> None:
        del self._again[key]
        self._mail.put(key, WorkItem(None, since_boot=True))

    def _spread(self, after: float) -> float:
        return after * (SOONEST + 0.2 * self._jitter())
