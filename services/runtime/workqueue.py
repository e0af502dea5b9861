"""The work queue: items of one lane are handled in order and one at a time, those of other lanes at the same time."""

import asyncio
import contextlib
from collections.abc import AsyncIterator, Awaitable, Callable, Hashable
from typing import Any, Generic, TypeVar

import structlog

from events.backoff import Backoffs
from events.meters import Meters
from services.kubernetes.malformed import raised_at

T = TypeVar("T", bound=Hashable)
PARALLEL = 64
"""Lanes that are worked on at once."""
FAILURES = "alate.failures"
"""Counter of failures of our own code, by the kind of work."""

log = structlog.get_logger()


def whole(item: T) -> Hashable:
    """The lane of an item that shares its lane with no other."""
    return item


class Failures(Generic[T]):
    """Logs and counts the failures of one kind of work; each item has a back-off of its own."""

    def __init__(self, work: str, jitter: Callable[[], float], meters: Meters | None = None) -> None:
        """`work` names the kind of work; `jitter` gives 0 to 1."""
        self._work = work
        self._meters = meters
        self._backoffs: Backoffs[T] = Backoffs(jitter)
        self._logged: dict[T, str] = {}

    def record(self, item: T, error: Exception) -> float:
        """Log and count a failure, with its stack when it is another one than before; gives the seconds to wait."""
        at = raised_at(error)
        stack = None if self._logged.get(item) == at else error
        log.error("work.failed", work=self._work, of=item, reason=at, exc_info=stack)
        self._logged[item] = at
        if self._meters is not None:
            self._meters.count(FAILURES, self._work)
        return self._backoffs.next_delay(item)

    def forget(self, item: T) -> None:
        """It succeeded: the next failure is a first one."""
        if self._logged.pop(item, None) is not None:
            self._backoffs.forget(item)


class WorkQueue(Generic[T]):
    """Calls `handle` with each item that was added, while it is `running`; an item that waits already is added once.

    An item whose handling raises is logged, and added again after a back-off.
    """

    def __init__(
        self,
        handle: Callable[[T], Awaitable[None]],
        work: str = "work",
        jitter: Callable[[], float] = lambda: 1.0,
        *,
        lane: Callable[[T], Hashable] = whole,
        parallel: int = PARALLEL,
    ) -> None:
        """`work` names it in the log; `lane` gives what shares an order with an item, by default nothing."""
        self._handle = handle
        self._lane = lane
        self._slots = asyncio.Semaphore(parallel)
        self._lanes: dict[Hashable, dict[T, None]] = {}
        """What waits, in its order."""
        self._workers: dict[Hashable, asyncio.Task[None]] = {}
        self._timers: dict[T, asyncio.TimerHandle] = {}
        self._backoffs: Backoffs[T] = Backoffs(jitter)
        self._failures: Failures[T] = Failures(work, jitter)
        self._running = False
        self._owner: asyncio.Task[Any] | None = None
        self._fatal: BaseException | None = None

    def add(self, item: T) -> None:
        """Handle an item as soon as its lane comes to it."""
        self._cancel(item)
        lane = self._lane(item)
        waiting = self._lanes.get(lane)
        if waiting is None:
            self._lanes[lane] = {item: None}
        else:
            waiting[item] = None
        if self._running and lane not in self._workers:
            self._start(lane)

    def add_after(self, item: T, delay: float) -> None:
        """Add an item in `delay` seconds, unless it waits or comes earlier; one that is added earlier comes once."""
        loop, timer = asyncio.get_running_loop(), self._timers.get(item)
        when = loop.time() + delay
        if item in self._lanes.get(self._lane(item), ()) or (timer is not None and timer.when() <= when):
            return
        self._cancel(item)
        self._timers[item] = loop.call_at(when, self.add, item)

    def is_delayed(self, item: T) -> bool:
        """An item is to be added later."""
        return item in self._timers

    def add_rate_limited(self, item: T, least: float = 0.0) -> float:
        """Add a failed item after its back-off, which is given, of at least so many seconds."""
        delay = self._backoffs.next_delay(item, least)
        self.add_after(item, delay)
        return delay

    def forget(self, item: T) -> None:
        """An item succeeded: its back-off begins at the first delay again."""
        self._backoffs.forget(item)

    @contextlib.asynccontextmanager
    async def running(self, grace: float = 0.0) -> AsyncIterator[None]:
        """Handle what waits and what is added; at the end, finish for `grace` seconds what was added until then.

        What ends a process, such as SystemExit, ends the block as well, and is raised there.
        """
        self._running, self._owner = True, asyncio.current_task()
        for lane in tuple(self._lanes):
            self._start(lane)
        try:
            yield
        except asyncio.CancelledError:
            if self._fatal is None or self._owner is None:
                raise
            self._owner.uncancel()
            raise self._fatal from None
        finally:
            self._cancel(*self._timers)
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(grace):
                    await self._drain()
            self._running = False
            await self._stop()

    async def _drain(self) -> None:
        while self._workers:
            await asyncio.wait(self._workers.values())

    async def _stop(self) -> None:
        self._cancel(*self._timers)
        workers = tuple(self._workers.values())
        for worker in workers:
            worker.cancel()
        await asyncio.gather(*workers, return_exceptions=True)
        self._workers.clear()

    def _cancel(self, *items: T) -> None:
        for item in items:
            timer = self._timers.pop(item, None)
            if timer is not None:
                timer.cancel()

    def _start(self, lane: Hashable) -> None:
        self._workers[lane] = asyncio.create_task(self._work(lane))

    async def _work(self, lane: Hashable) -> None:
        waiting = self._lanes[lane]
        try:
            async with self._slots:
                while waiting:
                    item = next(iter(waiting))
                    del waiting[item]
                    await self._try(item)
            del self._lanes[lane]
        except asyncio.CancelledError:
            raise
        except BaseException as fatal:  # noqa: BLE001 - it is raised where the queue runs, for nobody awaits a worker
            self._end(fatal)
        finally:
            self._workers.pop(lane, None)

    def _end(self, fatal: BaseException) -> None:
        self._fatal = fatal
        if self._owner is not None:
            self._owner.cancel()

    async def _try(self, item: T) -> None:
        try:
            await self._handle(item)
        except Exception as error:  # noqa: BLE001 - a fault of ours over one item must not stop the others: logged there
            self.add_after(item, self._failures.record(item, error))
        else:
            self._failures.forget(item)
