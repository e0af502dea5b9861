"""What is said is told to every page that looks on, and after a cut from where it stopped."""

import asyncio
import json
from contextlib import asynccontextmanager
from dataclasses import dataclass

from events.bus import Consumer, Stored
from events.memory.bus import MemoryBus
from events.redrive import Again, once_more
from services.edge.http import server
from services.edge.page import following, live
from tests.services.edge.house import NOW
from tests.services.edge.page.hall import open_page


@dataclass
class Line:
    """One page's line, read event by event."""

    answer: object

    async def next(self) -> dict[str, str]:
        """The next event; words of no meaning are passed over."""
        found: dict[str, str] = {}
        async with asyncio.timeout(10):
            while True:
                line = (await self.answer.content.readline()).decode().rstrip("\n")
                if not line and "event" in found:
                    return found
                if line and not line.startswith(":"):
                    name, _, value = line.partition(": ")
                    found[name] = value

    async def until(self, subject: str) -> tuple[list[str], str]:
        """All subjects that are told until one is, and the last mark."""
        told, mark = [], ""
        while subject not in told:
            event = await self.next()
            assert event["event"] == "said", event
            told += [one["subject"] for one in json.loads(event["data"])]
            mark = event.get("id", mark)
        return told, mark


@asynccontextmanager
async def looking(page, after: str = "", **headers):
    asked = {"Last-Event-ID": after} if after else headers
    async with page.session.get(f"{page.url}/live", headers=asked) as answer:
        assert answer.headers["Content-Type"] == "text/event-stream"
        yield Line(answer)


async def test_what_is_said_is_told_with_its_lane_and_its_place_and_not_with_what_it_carries(fresh):
    async with looking(fresh) as line:
        await fresh.say("cluster.requested.acme", b'{"name":"train","token":"hidden"}')
        event = await line.next()
        assert (event["event"], event["id"]) == ("said", "INTAKE=1")
        (told,) = json.loads(event["data"])
        assert (told["lane"], told["tenant"], told["name"]) == ("cluster.requested", "acme", "train")
        assert told["place"] == "INTAKE/1"
        assert "hidden" not in event["data"]


async def test_after_a_cut_a_page_is_told_what_it_missed_and_nothing_twice(fresh):
    async with looking(fresh) as line:
        await fresh.say("cluster.requested.a")
        _, mark = await line.until("cluster.requested.a")
    await fresh.say("cluster.requested.b")
    await fresh.say("hook.github.acme.ci.1")
    async with looking(fresh, mark) as line:
        told, _ = await line.until("hook.github.acme.ci.1")
    assert sorted(told) == ["cluster.requested.b", "hook.github.acme.ci.1"]


async def test_a_page_that_can_set_no_header_names_its_mark_in_the_query(fresh):
    async with looking(fresh) as line:
        await fresh.say("cluster.requested.a")
        _, mark = await line.until("cluster.requested.a")
    await fresh.say("cluster.requested.b")
    async with fresh.session.get(f"{fresh.url}/live", params={"after": mark}) as answer:
        told, _ = await Line(answer).until("cluster.requested.b")
    assert told == ["cluster.requested.b"]


async def test_after_a_restart_of_the_edge_it_goes_on_where_it_stopped(tmp_path):
    bus = MemoryBus(clock=lambda: NOW)
    async with open_page(bus, tmp_path) as page, looking(page) as line:
        await page.say("cluster.requested.a")
        _, mark = await line.until("cluster.requested.a")
        await page.say("cluster.requested.b")
    async with open_page(bus, tmp_path) as page, looking(page, mark) as line:
        told, _ = await line.until("cluster.requested.b")
    assert told == ["cluster.requested.b"]


async def test_who_comes_back_too_late_is_told_that_something_is_missing(fresh, monkeypatch):
    monkeypatch.setattr(following, "MEMORY", 2)
    async with open_page(fresh.bus.again(), fresh.secrets) as page:
        async with looking(page) as line:
            await page.say("cluster.requested.a")
            _, mark = await line.until("cluster.requested.a")
        for name in "bcd":
            await page.say(f"cluster.requested.{name}")
        async with looking(page) as line:
            await line.until("cluster.requested.d")
        async with looking(page, mark) as line:
            assert (await line.next())["event"] == "gap"
            assert (await line.until("cluster.requested.d"))[0] == ["cluster.requested.c", "cluster.requested.d"]


async def test_what_is_said_at_once_comes_in_one_batch(fresh):
    for number in range(500):
        await fresh.say(f"cluster.requested.t{number}")
    async with looking(fresh) as line:
        batches = 0
        told: list[str] = []
        while "cluster.requested.t499" not in told:
            told += [one["subject"] for one in json.loads((await line.next())["data"])]
            batches += 1
    assert len(told) == 500
    assert batches < 50


def redriven():
    consumer = Consumer("gateway-intake", "INTAKE", ("cluster.requested",))
    return once_more(Stored("cluster.requested", b"{}"), Again("INTAKE", consumer.name, "dlq-1"), "cluster.requested")


async def test_timers_and_redrives_are_no_events(fresh):
    await fresh.bus.publish(redriven())
    async with looking(fresh) as line:
        await fresh.say("cluster.requested.last")
        assert (await line.until("cluster.requested.last"))[0] == ["cluster.requested.last"]


async def test_so_many_pages_look_on_and_no_more(fresh, monkeypatch):
    monkeypatch.setattr(live, "LOOKING", 1)
    async with looking(fresh):
        assert (await fresh.ask("GET", "/live")).status == 503
    async with asyncio.timeout(10):
        while (await _status(fresh)) == 503:
            await fresh.say("cluster.requested")  # a cut is found when there is something to say


async def _status(page) -> int:
    async with page.session.get(f"{page.url}/live") as answer:
        return answer.status


async def test_pages_that_look_on_leave_the_door_to_webhooks(fresh, monkeypatch):
    monkeypatch.setattr(server, "AT_ONCE", 1)
    async with open_page(fresh.bus.again(), fresh.secrets) as page, looking(page), looking(page):
        assert (await page.ask("GET", "/lanes")).status == 200


async def test_when_the_edge_leaves_its_pages_are_let_go_at_once(fresh, tmp_path):
    async with asyncio.timeout(4):
        async with open_page(fresh.bus.again(), tmp_path) as page:
            answer = await page.session.get(f"{page.url}/live")
        answer.close()
