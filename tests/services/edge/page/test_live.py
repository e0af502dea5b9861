"""Every open page is sent new messages, and after an interruption those it missed."""

import asyncio
import json
from contextlib import asynccontextmanager
from dataclasses import dataclass

from aiohttp import ClientResponse

from events.bus import Consumer, Stored
from events.memory.bus import MemoryBus
from events.streams import Redrive, redriven
from schemas import cluster
from services.edge.http import server
from services.edge.page import follower, live
from tests.services.edge.house import NOW
from tests.services.edge.page.page_server import open_page
from tests.services.edge.page.states import state, wish


@dataclass
class Line:
    """One page's connection, read event by event; fleet rows are passed over."""

    answer: ClientResponse

    async def next(self) -> dict[str, str]:
        """The next event that is not of the fleet."""
        found: dict[str, str] = {}
        async with asyncio.timeout(10):
            while True:
                line = (await self.answer.content.readline()).decode().rstrip("\n")
                if not line and found.get("event", "fleet") != "fleet":
                    return found
                if not line:
                    found = {}
                if line and not line.startswith(":"):
                    name, _, value = line.partition(": ")
                    found[name] = value

    async def until(self, subject: str) -> tuple[list[str], str]:
        """All subjects up to one, and the last cursor."""
        told, cursor = [], ""
        while subject not in told:
            event = await self.next()
            assert event["event"] == "messages", event
            told += [one["subject"] for one in json.loads(event["data"])]
            cursor = event.get("id", cursor)
        return told, cursor


@asynccontextmanager
async def connected(page, after: str = "", **headers):
    asked = {"Last-Event-ID": after} if after else headers
    async with page.session.get(f"{page.url}/live", headers=asked) as answer:
        assert answer.headers["Content-Type"] == "text/event-stream"
        yield Line(answer)


async def test_a_message_is_sent_with_its_group_and_position_and_without_its_payload(fresh):
    async with connected(fresh) as line:
        await fresh.publish("cluster.requested.acme", b'{"name":"train","token":"hidden"}')
        event = await line.next()
        assert (event["event"], event["id"]) == ("messages", "INTAKE=1")
        (told,) = json.loads(event["data"])
        assert (told["group"], told["tenant"], told["name"]) == ("cluster.requested", "acme", "train")
        assert told["position"] == "INTAKE/1"
        assert "hidden" not in event["data"]


async def test_a_page_that_reconnects_is_sent_what_it_missed_and_nothing_twice(fresh):
    async with connected(fresh) as line:
        await fresh.publish("cluster.requested.a")
        _, cursor = await line.until("cluster.requested.a")
    await fresh.publish("cluster.requested.b")
    await fresh.publish("hook.github.acme.ci.1")
    async with connected(fresh, cursor) as line:
        told, _ = await line.until("hook.github.acme.ci.1")
    assert sorted(told) == ["cluster.requested.b", "hook.github.acme.ci.1"]


async def test_a_page_that_can_set_no_header_gives_its_cursor_in_the_query(fresh):
    async with connected(fresh) as line:
        await fresh.publish("cluster.requested.a")
        _, cursor = await line.until("cluster.requested.a")
    await fresh.publish("cluster.requested.b")
    async with fresh.session.get(f"{fresh.url}/live", params={"after": cursor}) as answer:
        told, _ = await Line(answer).until("cluster.requested.b")
    assert told == ["cluster.requested.b"]


async def test_after_a_restart_of_the_edge_a_page_resumes_where_it_stopped(tmp_path):
    bus = MemoryBus(clock=lambda: NOW)
    async with open_page(bus, tmp_path) as page, connected(page) as line:
        await page.publish("cluster.requested.a")
        _, cursor = await line.until("cluster.requested.a")
        await page.publish("cluster.requested.b")
    async with open_page(bus, tmp_path) as page, connected(page, cursor) as line:
        told, _ = await line.until("cluster.requested.b")
    assert told == ["cluster.requested.b"]


async def test_a_page_that_reconnects_too_late_is_told_of_the_gap(fresh, monkeypatch):
    monkeypatch.setattr(follower, "MEMORY", 2)
    async with open_page(fresh.bus.again(), fresh.secrets) as page:
        async with connected(page) as line:
            await page.publish("cluster.requested.a")
            _, cursor = await line.until("cluster.requested.a")
        for name in "bcd":
            await page.publish(f"cluster.requested.{name}")
        async with connected(page) as line:
            await line.until("cluster.requested.d")
        async with connected(page, cursor) as line:
            assert (await line.next())["event"] == "gap"
            assert (await line.until("cluster.requested.d"))[0] == ["cluster.requested.c", "cluster.requested.d"]


async def test_messages_published_together_come_in_few_batches(fresh):
    for number in range(500):
        await fresh.publish(f"cluster.requested.t{number}")
    async with connected(fresh) as line:
        batches = 0
        told: list[str] = []
        while "cluster.requested.t499" not in told:
            told += [one["subject"] for one in json.loads((await line.next())["data"])]
            batches += 1
    assert len(told) == 500
    assert batches < 50


def redriven_intake():
    consumer = Consumer("gateway-intake", "INTAKE", ("cluster.requested",))
    return redriven(Stored("cluster.requested", b"{}"), Redrive("INTAKE", consumer.name, "dlq-1"), "cluster.requested")


async def test_timers_and_redeliveries_are_not_sent(fresh):
    await fresh.bus.publish(redriven_intake())
    async with connected(fresh) as line:
        await fresh.publish("cluster.requested.last")
        assert (await line.until("cluster.requested.last"))[0] == ["cluster.requested.last"]


async def test_the_number_of_connected_pages_is_bounded(fresh, monkeypatch):
    monkeypatch.setattr(live, "MAX_PAGES", 1)
    async with connected(fresh):
        assert (await fresh.ask("GET", "/live")).status == 503
    async with asyncio.timeout(10):
        while (await _status(fresh)) == 503:
            await fresh.publish("cluster.requested")  # a cut is found when there is something to say


async def _status(page) -> int:
    async with page.session.get(f"{page.url}/live") as answer:
        return answer.status


async def test_connected_pages_leave_room_for_webhooks(fresh, monkeypatch):
    monkeypatch.setattr(server, "AT_ONCE", 1)
    async with open_page(fresh.bus.again(), fresh.secrets) as page, connected(page), connected(page):
        assert (await page.ask("GET", "/subjects")).status == 200


async def test_when_the_edge_stops_its_pages_are_disconnected_at_once(fresh, tmp_path):
    async with asyncio.timeout(4):
        async with open_page(fresh.bus.again(), tmp_path) as page:
            answer = await page.session.get(f"{page.url}/live")
        answer.close()


async def fleet_events(answer):
    """Every fleet event of a connection."""
    line = Line(answer)
    while True:
        raw = (await line.answer.content.readline()).decode()
        if raw == "event: fleet\n":
            yield json.loads((await line.answer.content.readline()).decode().removeprefix("data: "))


async def test_a_page_is_sent_the_whole_fleet_first_and_then_what_changes(fresh):
    await fresh.publish_state(state(cluster.Launching))
    async with asyncio.timeout(10), fresh.session.get(f"{fresh.url}/live") as answer:
        events = fleet_events(answer)
        first = await anext(events)
        assert (first["whole"], [row["state"] for row in first["rows"]]) == (True, ["launching"])
        await fresh.publish_state(state(cluster.Ready))
        assert [row["state"] for row in (await anext(events))["rows"]] == ["ready"]
        await fresh.publish_state(state(cluster.Released))
        assert await anext(events) == {"gone": [["acme", "train-gpu"]]}


async def test_a_large_fleet_is_sent_in_parts(fresh, monkeypatch):
    monkeypatch.setattr(live, "BATCH", 2)
    for name in "abc":
        await fresh.publish_state(state(cluster.Ready, wish(colony=name)))
    async with asyncio.timeout(10), fresh.session.get(f"{fresh.url}/live") as answer:
        events = fleet_events(answer)
        parts = [await anext(events), await anext(events)]
    assert [(part.get("whole", False), len(part["rows"])) for part in parts] == [(True, 2), (False, 1)]
