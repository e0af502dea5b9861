"""A mailbox per entity: what concerns one is done in order, what concerns others at the same time."""

import asyncio
from collections import deque
from collections.abc import Awaitable, Callable, Hashable
from typing import Generic, TypeVar

K = TypeVar("K", bound=Hashable)
T = TypeVar("T")


class Mailboxes(Generic[K, T]):
    """Hands every letter to `open_letter`, one at a time per entity."""

    def __init__(self, open_letter: Callable[[K, T], Awaitable[None]], at_once: int) -> None:
        """`at_once` is how many entities are worked on at the same time."""
        self._open = open_letter
        self._turns = asyncio.Semaphore(at_once)
        self._boxes: dict[K, deque[T]] = {}
        self._workers: set[asyncio.Task[None]] = set()

    def put(self, key: K, letter: T) -> None:
        """Add a letter; a worker comes with the first one of an entity, and goes with the last."""
        box = self._boxes.get(key)
        if box is not None:
            box.append(letter)
            return
        self._boxes[key] = deque((letter,))
        worker = asyncio.create_task(self._work(key))
        self._workers.add(worker)
        worker.add_done_callback(self._workers.discard)

    async def _work(self, key: K) -> None:
        box = self._boxes[key]
        try:
            async with self._turns:
                while box:
                    await self._open(key, box.popleft())
        finally:
            del self._boxes[key]

    async def drain(self) -> None:
        """Wait until every letter that is in has been opened."""
        while self._workers:
            await asyncio.wait(self._workers)

    async def close(self) -> None:
        """Let go of what is not opened yet: it was not answered, so it comes again."""
        for worker in tuple(self._workers):
            worker.cancel()
        await asyncio.gather(*self._workers, return_exceptions=True)
