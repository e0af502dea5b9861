"""Does the same with many objects, some at a time."""

import asyncio
from collections.abc import Awaitable, Callable, Iterable
from typing import TypeVar

from events.errors import Fault, TryLater

T = TypeVar("T")
R = TypeVar("R")
AT_ONCE = 8
"""Requests of one add-on to one cluster at a time; its transport lets 16 through, of all add-ons together."""


async def in_parallel(work: Callable[[T], Awaitable[R]], items: Iterable[T]) -> list[R]:
    """The results in the order of the items, once all are done.

    Raises a fault if any item had one: rather one that stays than one that passes, rather the first.
    """
    waiting = list(enumerate(items))
    results: dict[int, R] = {}
    faults: dict[int, Fault] = {}
    rest = iter(waiting)

    async def worker() -> None:
        for at, item in rest:
            try:
                results[at] = await work(item)
            except Fault as fault:
                faults[at] = fault

    async with asyncio.TaskGroup() as group:
        for _ in range(min(AT_ONCE, len(waiting))):
            group.create_task(worker())
    if faults:
        raise min(faults.items(), key=lambda each: (isinstance(each[1], TryLater), each[0]))[1]
    return [results[at] for at, _ in waiting]
