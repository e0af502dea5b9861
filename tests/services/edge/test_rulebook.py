"""The Triggers of the management cluster are followed while they are read, however long that takes."""

import asyncio
import json
from contextlib import asynccontextmanager

import pytest

from events.kinds import TRIGGERS
from events.kube import Changed, Listed
from services.edge.rulebook import Rulebook
from tests.services.edge.test_rules import END, START, heard
from tests.services.edge.test_triggers import Here, clock, spec

pytestmark = pytest.mark.looptime

EVENT = heard(json.dumps({"what": "start", "id": 7, "n": 2}).encode())


def trigger(name: str, tenant: str = "acme", generation: int = 1, rules: tuple[dict, ...] = (START, END)) -> dict:
    meta = {"name": name, "namespace": tenant, "generation": generation}
    return {"apiVersion": TRIGGERS.api_version, "kind": "Trigger", "metadata": meta, "spec": spec(*rules)}


class Slow(Here):
    """Evaluators that take their time, and fail in a way of their own."""

    def __init__(self, *fails: Exception | None, takes: float = 1.0) -> None:
        self._fails = list(fails)
        self._takes = takes
        self.asked: list[str] = []

    async def read(self, trigger):
        self.asked.append(trigger.name)
        await asyncio.sleep(self._takes)
        if self._fails and (fails := self._fails.pop(0)):
            raise fails
        return await super().read(trigger)


class Follows:
    """A book that is told what the API server says."""

    def __init__(self, evaluators) -> None:
        self._sights: asyncio.Queue[Listed | Changed] = asyncio.Queue()
        self.told: list[tuple[str, str]] = []
        self.book = Rulebook(self, evaluators, clock)

    async def watch(self, kind):
        while True:
            yield await self._sights.get()

    async def apply(self, kind, item, *, manager, subresource):
        (said,) = item["status"]["conditions"]
        self.told.append((item["metadata"]["name"], said["reason"]))

    def listed(self, *items: dict) -> None:
        self._sights.put_nowait(Listed(tuple(items), "1"))

    def changed(self, item: dict, *, gone: bool = False) -> None:
        self._sights.put_nowait(Changed(item, gone))

    def names(self) -> list[str]:
        return [each.name for each in self.book.about(EVENT)]

    @asynccontextmanager
    async def running(self):
        task = asyncio.create_task(self.book.run())
        try:
            yield self
        finally:
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)


async def test_while_all_are_listed_anew_those_of_before_are_followed():
    async with Follows(Slow()).running() as seen:
        seen.listed(trigger("a"), trigger("b"), trigger("c"))
        await seen.book.listed.wait()
        seen.listed(trigger("b"), trigger("c"), trigger("d"))
        for _ in range(20):
            await asyncio.sleep(0.2)
            assert {"b", "c"} <= set(seen.names())
        assert seen.names() == ["b", "c", "d"]
