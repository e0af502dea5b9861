"""Shares one call among all who ask for the same at the same time."""

import asyncio
from collections.abc import Awaitable, Callable
from itertools import count
from typing import Generic, TypeVar

T = TypeVar("T")


class SharedCalls(Generic[T]):
    """Calls that are under way, by key. A call that nobody waits for any more goes on: the next who asks finds it."""

    def __init__(self) -> None:
        self._numbers = count()
        self._running: dict[str, tuple[int, asyncio.Task[T]]] = {}

    async def get(self, key: str, call: Callable[[], Awaitable[T]], *, fresh: bool = False) -> T:
        """The result of a call that is under way, or of a new one; `fresh`: of none that began before this."""
        asked = next(self._numbers)
        while (running := self._running.get(key)) and fresh and running[0] < asked:
            await asyncio.wait((running[1],))
        if running is None:
            running = self._running[key] = (next(self._numbers), asyncio.create_task(self._run(key, call)))
            running[1].add_done_callback(_look)
        return await asyncio.shield(running[1])

    async def _run(self, key: str, call: Callable[[], Awaitable[T]]) -> T:
        try:
            return await call()
        finally:
            del self._running[key]

    async def close(self) -> None:
        """End all calls."""
        tasks = [task for _, task in self._running.values()]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


def _look(task: asyncio.Task[T]) -> None:
    """See the exception of a call that nobody waits for any more."""
    if not task.cancelled():
        task.exception()
