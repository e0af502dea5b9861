"""The page shows the fleet, the history of a cluster and dead letters, and redelivers these."""

import asyncio
import json

import pytest

from events.bus import Consumer
from schemas import cluster
from tests.services.edge.page.page_server import JO, open_page
from tests.services.edge.page.states import state


async def shown(page, path: str):
    """What is shown there, once all is known."""
    async with asyncio.timeout(10):
        while (got := await page.ask("GET", path)).status == 503:
            pass
    return got


async def test_the_fleet_is_every_cluster_that_is_not_released(page):
    assert "rows" not in (await shown(page, "/fleet")).json  # the clusters of the run were released
    await page.publish_state(state(cluster.Stalled))
    async with asyncio.timeout(10):
        while not (rows := (await page.ask("GET", "/fleet")).json.get("rows")):
            pass
    assert [(row["tenant"], row["name"], row["state"], row["message"]) for row in rows] == [
        ("acme", "train-gpu", "stalled", "no offer fits")
    ]


async def test_a_history_is_every_transition_with_its_cause_and_duration(page):
    got = (await shown(page, "/clusters/default/train-gpu")).json
    cluster = [each for each in got["transitions"] if each["entity"] == "cluster"]
    assert [each["state"] for each in cluster][:4] == ["pending", "launching", "provisioned", "ready"]
    assert all(each["seconds"] is not None for each in cluster[:-1])
    assert all({"id", "cause", "position"} <= set(each) for each in got["transitions"])


async def test_an_unknown_cluster_has_no_history(page):
    got = await page.ask("GET", "/clusters/default/%3Cb%3E")
    assert (got.status, got.json["detail"]) == (404, "no such cluster has a history")


async def test_dead_letters_are_grouped_by_cause_and_shown_without_their_payload(page):
    before = (await shown(page, "/letters")).json["items"]
    await page.dead_letter(reason="spec.a is 'x'")
    await page.dead_letter(reason="spec.a is 'y'")
    groups = (await shown(page, "/letters")).json["items"]
    assert [(group["count"], group["consumer"]) for group in groups[: len(groups) - len(before)]] == [
        (2, "gateway-intake")
    ]
    assert {"data", "message"} & set(groups[0]) == set()


async def test_a_redelivered_letter_reaches_its_consumer_once_and_is_dropped(page):
    consumer = Consumer("gateway-intake", "INTAKE", ("cluster.requested", "cluster.requested.*"))
    feed = page.bus.consume(consumer)
    waiting = asyncio.ensure_future(anext(feed))
    await asyncio.sleep(0)
    number = await page.dead_letter("cluster.requested.acme", "it was not there yet")
    got = await page.ask("POST", f"/letters/{number}/redrive", headers=JO)
    assert (got.status, got.json) == (200, {"redriven": 1})
    assert await page.bus.at("DLQ", number) is None
    again = await page.ask("POST", f"/letters/{number}/redrive", headers=JO)
    assert again.status == 404
    waiting.cancel()
    await asyncio.gather(waiting, return_exceptions=True)
    assert len(await page.bus.read("INTAKE", "redrive.>")) == 1


async def test_a_letter_without_a_consumer_stays(page):
    number = await page.dead_letter("cluster.requested.acme", "nobody is there")
    await page.bus.drop("DLQ", number)
    other = await page.publish("dlq.EVENTS.nobody")
    got = await page.ask("POST", f"/letters/{other}/redrive", headers=JO)
    assert (got.status, "there is no consumer" in got.json["detail"]) == (409, True)
    assert await page.bus.at("DLQ", other) is not None


async def test_the_graph_says_which_service_publishes_and_consumes_what(page):
    found = (await shown(page, "/graph")).json
    nodes = {node["id"] for node in found["nodes"]}
    edges = {(edge["source"], edge["target"]) for edge in found["edges"]}
    assert {each for edge in edges for each in edge} <= nodes
    assert {
        ("provisioning", "subject:cluster"),
        ("subject:cluster", "addons"),
        ("anyone", "subject:cluster.requested"),
        ("subject:cluster.requested", "gateway"),
        ("edge", "subject:hook"),
    } <= edges
    assert len({edge["id"] for edge in found["edges"]}) == len(found["edges"])


@pytest.mark.parametrize("path", ["/fleet", "/letters", "/graph", "/session"])
async def test_no_cache_may_store_an_answer(page, path):
    assert (await shown(page, path)).headers["Cache-Control"] == "no-store"


async def test_while_the_bus_is_away_the_answer_says_so(bus, tmp_path):
    async with open_page(bus, tmp_path) as page:
        await bus.close()
        got = await page.ask("GET", "/letters")
        assert (got.status, got.headers["Retry-After"]) == (503, "5")
        assert json.loads(got.body)["detail"] == "the bus is away: ask again"
