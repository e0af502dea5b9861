"""The Triggers of the management cluster are followed while they are read, however long that takes."""

import asyncio
import json
from contextlib import asynccontextmanager

import pytest

from events.kube.client import Changed, Listed
from events.kube.resources import TRIGGERS
from services.edge.triggers.crd_source import AGAIN, CrdTriggers
from services.edge.triggers.fair_share import FairShare
from services.expressions.processes import EvaluatorEnded
from tests.services.edge.here import Here
from tests.services.edge.triggers.test_loop import Works, clock, spec
from tests.services.edge.triggers.test_rules import END, START, heard

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
        await super().read(trigger)
        return self._takes


class Follows:
    """A book that is told what the API server says."""

    def __init__(self, evaluators) -> None:
        self._sights: asyncio.Queue[Listed | Changed] = asyncio.Queue()
        self.told: list[tuple[str, str]] = []
        self.book = CrdTriggers(self, FairShare(evaluators, clock), clock)

    async def watch(self, kind):
        while True:
            yield await self._sights.get()

    async def apply(self, kind, item, *, manager, subresource):
        said, *_ = item["status"]["conditions"]
        self.told.append((item["metadata"]["name"], said["reason"]))

    def listed(self, *items: dict) -> None:
        self._sights.put_nowait(Listed(tuple(items), "1"))

    def changed(self, item: dict, *, gone: bool = False) -> None:
        self._sights.put_nowait(Changed(item, gone))

    def names(self, tenant: str = "acme") -> list[str]:
        return [each.name for each in self.book.listening_to(heard(EVENT.event.data, tenant).channel)]

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


async def test_a_trigger_over_which_an_evaluator_went_away_is_followed_as_it_was_and_read_again():
    async with Follows(Slow(None, EvaluatorEnded("gone"))).running() as seen:
        seen.listed(trigger("a"))
        await seen.book.listed.wait()
        (before,) = seen.book.listening_to(EVENT.channel)
        seen.changed(trigger("a", generation=2, rules=(START,)))
        await asyncio.sleep(3)
        assert list(seen.book.listening_to(EVENT.channel)) == [before]
        await asyncio.sleep(AGAIN)
        (after,) = seen.book.listening_to(EVENT.channel)
        assert b'"end"' not in after.written
    assert seen.told == [("a", "Followed")] * 2


async def test_a_fault_of_ours_over_one_trigger_ends_nothing_and_the_others_are_followed():
    async with Follows(Slow(RuntimeError("ours"))).running() as seen:
        seen.listed(trigger("a"), trigger("b"))
        await seen.book.listed.wait()
        seen.changed(trigger("c"))
        await asyncio.sleep(90)
        assert seen.names() == ["a", "b", "c"]


async def test_what_a_trigger_listens_to_that_is_not_read_yet_waits_for_it():
    works = Works(evaluators=Slow(EvaluatorEnded("gone"), takes=0.0))
    seen = Follows(works.evaluators)
    async with seen.running(), works.running(seen.book):
        seen.listed(trigger("a"))
        await seen.book.listed.wait()
        with pytest.raises(EvaluatorEnded, match=r"^Trigger acme/a is not read yet$"):
            seen.names()
        await works.deliver("d1", "start")
        await works.worked_off()
    assert (await works.wishes(), await works.reasons()) == (["cluster.requested.acme"], [])


async def test_a_trigger_that_is_deleted_while_it_is_read_is_not_followed():
    async with Follows(Slow()).running() as seen:
        seen.listed()
        await seen.book.listed.wait()
        seen.changed(trigger("a"))
        await asyncio.sleep(0.5)
        seen.changed(trigger("a"), gone=True)
        await asyncio.sleep(5)
        assert (seen.names(), seen.told) == ([], [])


async def test_a_trigger_of_another_shape_is_not_followed_and_stops_no_other():
    async with Follows(Slow()).running() as seen:
        seen.listed(trigger("a") | {"spec": 1}, trigger("b"))
        await seen.book.listed.wait()
        assert seen.names() == ["b"]


async def test_reading_what_a_tenant_writes_has_its_share_and_anothers_is_read_meanwhile():
    many = [trigger(f"t{number}") for number in range(40)]
    slow = Slow(takes=0.5)
    async with Follows(slow).running() as seen:
        seen.listed(*many, trigger("b", "other"))
        await asyncio.sleep(0.6)
        assert seen.names("other") == ["b"]
        await seen.book.listed.wait()
        assert 10 <= len(slow.asked) <= 16  # 5 s at once, and what comes to it meanwhile
        for number in range(60):
            seen.changed(trigger("t39", generation=number + 2, rules=(START,)))
            await asyncio.sleep(1)
        assert len(slow.asked) <= 16 + 0.25 * 60 / 0.5 + 10
        await asyncio.sleep(60)
        assert len(seen.names()) == 40


async def test_what_is_listed_anew_as_it_was_is_not_read_once_more():
    slow = Slow()
    async with Follows(slow).running() as seen:
        for _ in range(3):
            seen.listed(trigger("a"), trigger("b"))
            await asyncio.sleep(5)
        assert (slow.asked, seen.names()) == (["a", "b"], ["a", "b"])


async def test_a_trigger_that_changes_while_it_cannot_be_read_waits_for_one_time_and_no_more():
    broke: list[dict] = []
    asyncio.get_running_loop().set_exception_handler(lambda _, context: broke.append(context))
    slow = Slow(EvaluatorEnded("gone"), EvaluatorEnded("gone"))
    async with Follows(slow).running() as seen:
        seen.listed()
        await seen.book.listed.wait()
        for generation in (1, 2, 3):
            seen.changed(trigger("a", generation=generation))
        await asyncio.sleep(30)
        assert (slow.asked, seen.names(), broke) == (["a"] * 3, ["a"], [])
