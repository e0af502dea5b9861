"""The whole: many clusters in one process, and restarts nobody notices."""

import asyncio

from events.bus import Unavailable
from events.kube.client import Request
from events.kube.resources import CONFIGMAPS as MAPS
from events.kube.resources import NAMESPACES

CONFIGMAPS = "/api/v1/namespaces/default/configmaps"
WIDGETS = "/apis/demo.io/v1/namespaces/default/widgets"
CRDS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"


def other(world, cluster, token=""):
    return type(world.client)(world.api, cluster, token)


async def test_an_unknown_cluster_is_not_found(world):
    assert (await other(world, "nowhere").get("/api/v1/namespaces")).status == 404


async def test_a_path_outside_any_cluster_is_not_found(world):
    assert (await world.api.handle(Request("GET", "/api/v1/namespaces"))).status == 404


async def test_health_needs_no_cluster(world):
    assert (await world.api.handle(Request("GET", "/readyz"))).body == b"ok"


async def test_a_found_cluster_has_its_namespaces_and_nothing_of_the_others(world):
    await world.client.create(CONFIGMAPS, {"metadata": {"name": "here"}})
    await world.api.found("train")
    assert await other(world, "train").names("/api/v1/namespaces") == ["default", "kube-system"]
    assert await other(world, "train").names(CONFIGMAPS) == []


async def test_a_definition_is_served_in_its_own_cluster_only(world, client):
    await world.api.found("train")
    assert (await other(world, "train").get(WIDGETS)).status == 404
    assert (await client.get(WIDGETS)).status == 200


async def test_whether_there_is_anything_of_a_kind_is_known_for_each_cluster(world):
    await world.api.found("other")
    assert world.api.holds("other", NAMESPACES)
    assert not world.api.holds("other", MAPS)
    assert not world.api.holds("nowhere", NAMESPACES)


async def test_finding_a_cluster_twice_writes_once(world):
    await world.api.found("train")
    before = (await world.client.get("/api/v1/namespaces"))["metadata"]
    await world.api.found("train")
    assert (await world.client.get("/api/v1/namespaces"))["metadata"] == before


async def test_a_dropped_cluster_leaves_nothing_in_the_journal(world):
    await world.api.found("train")
    await other(world, "train").create(CONFIGMAPS, {"metadata": {"name": "mine"}})
    watch = asyncio.create_task(anext(other(world, "train").watch(CONFIGMAPS, resourceVersion="5"), "ended"))
    await asyncio.sleep(0)
    await world.api.drop("train")
    assert await watch == "ended"
    assert (await other(world, "train").get(CONFIGMAPS)).status == 404
    assert not [subject for subject, _, _ in await world.journal.load() if subject.startswith("kube.train.")]


async def test_a_cluster_with_a_token_asks_for_it(worlds):
    async with worlds(tokens={"management": "open sesame"}) as world:
        assert (await world.client.get("/version")).status == 401
        assert (await other(world, "management", "open sesame").get("/version")).status == 200


async def test_after_a_restart_everything_is_as_it_was_and_nothing_is_written(world, worlds, client):
    await client.create(WIDGETS, {"metadata": {"name": "one"}})
    await client.create(WIDGETS, {"metadata": {"name": "two"}})
    await client.delete(f"{WIDGETS}/two")
    before = (await client.get(WIDGETS))["items"]
    kept = [entry for entry in await world.journal.load() if entry[2]]
    async with worlds(world.journal) as again:
        assert (await again.client.get(WIDGETS))["items"] == before
        assert [entry for entry in await world.journal.load() if entry[2]] == kept


async def test_after_a_restart_an_old_watch_is_told_to_list_again(world, worlds, client):
    old = (await client.create(WIDGETS, {"metadata": {"name": "one"}})).version
    await client.create(WIDGETS, {"metadata": {"name": "two"}})
    async with worlds(world.journal) as again:
        (event,) = await again.client.events(WIDGETS, 1, resourceVersion=old)
        assert (event["type"], event["object"]["code"], event["object"]["reason"]) == ("ERROR", 410, "Expired")


async def under_way():
    """Let a request come as far as the journal."""
    for _ in range(20):
        await asyncio.sleep(0)


async def test_a_caller_who_goes_away_does_not_leave_half_a_write(distant):
    distant.journal.held = "configmaps"
    task = asyncio.create_task(distant.client.create(CONFIGMAPS, {"metadata": {"name": "a"}}))
    await under_way()
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)
    distant.journal.let_go()
    assert (await distant.client.create(CONFIGMAPS, {"metadata": {"name": "a"}})).status == 409
    assert await distant.client.names(CONFIGMAPS) == ["a"]


async def test_a_write_under_way_does_not_outlive_its_cluster(distant):
    await distant.api.found("train")
    distant.journal.held = "late"
    late = asyncio.create_task(other(distant, "train").create(CONFIGMAPS, {"metadata": {"name": "late"}}))
    await under_way()
    dropping = asyncio.create_task(distant.api.drop("train"))
    await under_way()
    distant.journal.let_go()
    await asyncio.gather(late, dropping)
    assert distant.api.clusters == ("management",)
    assert not [subject for subject, _, _ in await distant.journal.load() if subject.startswith("kube.train.")]


async def test_a_write_under_way_does_not_outlive_its_namespace(distant):
    client = distant.client
    await client.create("/api/v1/namespaces", {"metadata": {"name": "team"}})
    distant.journal.held = "late"
    team = CONFIGMAPS.replace("default", "team")
    late = asyncio.create_task(client.create(team, {"metadata": {"name": "late"}}))
    deleting = asyncio.create_task(client.delete("/api/v1/namespaces/team"))
    await under_way()
    distant.journal.let_go()
    await asyncio.gather(late, deleting)
    await client.gone("/api/v1/namespaces/team")
    assert await client.names(team) == []


async def test_a_journal_that_does_not_answer_is_said_to_be_unavailable(distant):
    async def refuse(*_):
        raise Unavailable("nobody there")

    distant.journal.append = refuse
    refused = await distant.client.create(CONFIGMAPS, {"metadata": {"name": "a"}})
    assert (refused.status, refused.headers["Retry-After"]) == (503, "1")
    assert await distant.client.names(CONFIGMAPS) == []
