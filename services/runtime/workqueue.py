"""Whatever is due is looked at by a task of its own, and once more if it became due again meanwhile."""

import asyncio
from collections.abc import Awaitable, Callable, Hashable, Iterator
from contextlib import contextmanager
from typing import Generic, TypeVar

from services.runtime.failures import Failures

K = TypeVar("K", bound=Hashable)

PARALLEL = 64
"""Keys that are looked at at once; one key is always looked at by one task."""


class WorkQueue(Generic[K]):
    """Calls `look` with each key that is due, while it is let do so `within` a group of tasks."""

    def __init__(
        self, look: Callable[[K], Awaitable[None]], what: str = "round", jitter: Callable[[], float] = lambda: 1.0
    ) -> None:
        """`what`: the name under which a look that breaks is told; it is taken again later, by `jitter` (0 to 1)."""
        self._look = look
        self._failures: Failures[K] = Failures(what, jitter)
        self._due: dict[K, None] = {}
        self._busy: set[K] = set()
        self._slots = asyncio.Semaphore(PARALLEL)
        self._tasks: asyncio.TaskGroup | None = None

    def add(self, key: K) -> None:
        """Something changed for a key, or its time has come."""
        self._due[key] = None
        self._begin(key)

    @contextmanager
    def running_in(self, group: asyncio.TaskGroup) -> Iterator[None]:
        """Take up all that is due, and all that becomes due."""
        self._tasks = group
        try:
            for key in tuple(self._due):
                self._begin(key)
            yield
        finally:
            self._tasks = None  # a group that is ending takes no more tasks

    def _begin(self, key: K) -> None:
        if self._tasks is not None and key not in self._busy:
            self._busy.add(key)
            self._tasks.create_task(self._tend(key))

    async def _tend(self, key: K) -> None:
        try:
            async with self._slots:
                while key in self._due:
                    del self._due[key]
                    await self._try(key)
        finally:
            self._busy.discard(key)

    async def _try(self, key: K) -> None:
        """What breaks over one key is that key's matter."""
        try:
            await self._look(key)
        except Exception as error:  # noqa: BLE001 - a fault of ours over one must not stop the others: logged there
            asyncio.get_running_loop().call_later(self._failures.record(key, error), self.add, key)
        else:
            self._failures.forget(key)
