"""How long each rival takes from an object's first sight to its status: one at a time, and many at once."""

import asyncio
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from itertools import count
from statistics import median
from time import perf_counter

from events.kube.client import Kube, Object
from tests.bench.figure import quantile
from tests.bench.kube.rivals import RIVALS, Rival
from tests.bench.onlooker import Onlooker, answered, there

SAMPLES = 50
MANY = 1000
AT_ONCE = 32
SETTLED = 0.03
"""Seconds of rest before each write: what the one before it set going must not be measured with it."""


@dataclass
class Row:
    """What was measured of one rival: milliseconds, and seconds for all of the many."""

    alone: list[float] = field(default_factory=list)
    among: list[float] = field(default_factory=list)
    seconds: float = 0.0

    def plain(self) -> dict[str, float]:
        """As it is written to the file."""
        return {
            "alone_p50_ms": median(self.alone),
            "alone_p99_ms": quantile(self.alone, 0.99),
            "many_p50_ms": median(self.among),
            "many_p99_ms": quantile(self.among, 0.99),
            "many_per_second": len(self.among) / self.seconds,
        }


class Reactions:
    """Writes objects of every rival's kind, and times the answers."""

    def __init__(self, kube: Kube, onlookers: Mapping[Rival, Onlooker], spec: Object) -> None:
        self._kube = kube
        self._onlookers = onlookers
        self._spec = spec
        self._numbers = count(1)

    async def measure(self, many: int = MANY) -> dict[Rival, Row]:
        """A, B, C, D, A, B, …, after three of each that do not count; then many of each."""
        rows = {rival: Row() for rival in RIVALS}
        for number in range(-3, SAMPLES):
            for rival, row in rows.items():
                await asyncio.sleep(SETTLED)
                took = await self.once(rival)
                row.alone += [took] * (number >= 0)
        for rival, row in rows.items():
            await self._at_once(rival, row, many)
        return rows

    async def once(self, rival: Rival) -> float:
        """Write one object; gives milliseconds."""
        name = f"one-{next(self._numbers)}"
        wanted = {"metadata": {"name": name, "namespace": "default"}, "spec": self._spec}
        await self._kube.create(rival.resource, wanted)
        onlooker = self._onlookers[rival]
        began = await onlooker.when(name, there)
        return 1000 * (await onlooker.when(name, answered) - began)

    async def _at_once(self, rival: Rival, row: Row, many: int) -> None:
        """Each of so many writers writes its next one when the last one is answered."""
        left = iter(range(many))
        began = perf_counter()
        async with asyncio.TaskGroup() as group:
            for _ in range(AT_ONCE):
                group.create_task(self._write(rival, row, left))
        row.seconds = perf_counter() - began

    async def _write(self, rival: Rival, row: Row, left: Iterator[int]) -> None:
        for _ in left:
            row.among.append(await self.once(rival))
