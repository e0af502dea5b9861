"""Profiles reach the clusters that they select, and leave those that they select no longer."""

import asyncio

import pytest

from events.kube.client import Changed
from events.kube.resources import CONFIGMAPS
from tests.services.addons.fleet import config_map, fleet

pytestmark = pytest.mark.looptime


def inline(name: str, **data: str):
    return {"name": name, "manifests": config_map(name, **data)}


GOLD = {"matchLabels": {"tier": "gold"}}


@pytest.fixture
async def clusters():
    async with fleet() as made:
        await made.found("train-a", tier="gold")
        await made.found("train-b", tier="iron")
        yield made


async def test_a_profile_reaches_the_clusters_that_it_selects_and_no_others(clusters):
    await clusters.profile("base", inline("nfd"), clusters=GOLD)
    await clusters.has("train-a", "nfd")
    assert await clusters.get("train-b", "nfd") is None


async def test_a_cluster_that_comes_later_gets_what_profiles_want_of_it(clusters):
    await clusters.profile("base", inline("nfd"), clusters=GOLD)
    await clusters.found("train-c", tier="gold")
    await clusters.has("train-c", "nfd")


async def test_a_profile_for_all_namespaces_reaches_every_cluster(clusters):
    await clusters.profile("base", inline("nfd"), namespace="")
    for name in ("train-a", "train-b"):
        await clusters.has(name, "nfd")


async def test_a_change_reaches_the_clusters(clusters):
    await clusters.profile("base", inline("nfd", size="1"), clusters=GOLD)
    await clusters.has("train-a", "nfd")
    await clusters.profile("base", inline("nfd", size="2"), clusters=GOLD)
    await clusters.until(lambda: size_is(clusters, "2"))


async def size_is(clusters, size):
    return (await clusters.get("train-a", "nfd"))["data"] == {"size": size}


async def test_what_is_selected_no_longer_is_withdrawn(clusters):
    await clusters.profile("base", inline("nfd"), clusters=GOLD)
    await clusters.has("train-a", "nfd")
    await clusters.profile("base", inline("nfd"), clusters={"matchLabels": {"tier": "iron"}})
    await clusters.has("train-a")
    await clusters.has("train-b", "nfd")


async def test_what_a_deleted_profile_gave_is_withdrawn(clusters):
    await clusters.profile("base", inline("nfd"))
    await clusters.has("train-a", "nfd")
    await clusters.drop("base")
    await clusters.has("train-a")


async def test_what_is_left_stays_and_belongs_to_nobody(clusters):
    await clusters.profile("base", inline("nfd"), clusters=GOLD, onUnmatch="Leave")
    await clusters.has("train-a", "nfd")
    await clusters.drop("base")
    await clusters.has("train-a")
    assert await clusters.get("train-a", "nfd") is not None


async def test_a_profile_that_becomes_invalid_withdraws_nothing_and_says_why(clusters):
    await clusters.profile("base", inline("nfd"))
    await clusters.has("train-a", "nfd")
    await clusters.profile("base", inline("nfd") | {"dependsOn": [{"name": "nothing"}]})

    async def refused():
        status = await clusters.status("base")
        return next(
            (c["message"] for c in status.get("conditions", ()) if c["type"] == "Accepted" and c["message"]), ""
        )

    assert "add-on nfd depends on nothing, which is not there" in await clusters.until(refused)
    await asyncio.sleep(60)
    await clusters.has("train-a", "nfd")


async def counted(clusters, name):
    """What its printer columns count, and what it says of each cluster that is not ready."""
    status = await clusters.status(name)
    lines = {each["name"]: each["message"] for each in status.get("clusters", ())}
    accepted = [each["status"] for each in status.get("conditions", ()) if each["type"] == "Accepted"]
    return status.get("matched"), status.get("ready"), accepted, lines


async def test_a_profile_that_is_not_accepted_counts_no_cluster_as_ready(clusters):
    await clusters.profile("never", inline("nfd") | {"dependsOn": [{"name": "nothing"}]})
    await clusters.profile("base", inline("gpu"), clusters=GOLD)
    await clusters.until(lambda: is_counted(clusters, "base", (1, 1, ["True"], {})))
    await clusters.profile("base", inline("gpu") | {"dependsOn": [{"name": "nothing"}]}, clusters=GOLD)
    kept = {"acme/train-a": "keeps what it had, as the profile is not accepted"}
    await clusters.until(lambda: is_counted(clusters, "base", (0, 0, ["False"], kept)))
    assert await counted(clusters, "never") == (0, 0, ["False"], {})
    await clusters.profile("base", inline("gpu"), clusters=GOLD)
    await clusters.until(lambda: is_counted(clusters, "base", (1, 1, ["True"], {})))


async def is_counted(clusters, name, expected):
    return await counted(clusters, name) == expected


async def test_of_a_suspended_profile_nothing_changes(clusters):
    await clusters.profile("base", inline("nfd", size="1"), clusters=GOLD)
    await clusters.has("train-a", "nfd")
    await clusters.profile("base", inline("nfd", size="2"), clusters={"names": ["train-b"]}, suspend=True)
    await asyncio.sleep(60)
    assert await size_is(clusters, "1")
    assert await clusters.get("train-b", "nfd") is None


@pytest.mark.parametrize(("mode", "after"), [("Correct", "1"), ("Warn", "9"), ("Continuous", "9"), ("Once", "9")])
async def test_what_others_change_is_corrected_or_reported_as_the_mode_says(clusters, mode, after):
    await clusters.profile("base", inline("nfd", size="1") | {"mode": mode}, clusters=GOLD)
    await clusters.has("train-a", "nfd")
    await asyncio.sleep(2)
    kube = clusters.clusters["train-a"]
    await kube.patch(CONFIGMAPS, "nfd", "default", {"data": {"size": "9"}}, manager="somebody")
    await asyncio.sleep(30)
    assert await size_is(clusters, after)
    told = "ConfigMap nfd: /data/size is 9 by somebody and should be 1"
    assert await clusters.message("train-a", "base.nfd") == (told if mode == "Warn" else "")


@pytest.mark.parametrize("mode", ["Continuous", "Once"])
async def test_what_others_delete_is_reported_where_drift_is_not(clusters, mode):
    await clusters.profile("base", inline("nfd", size="1") | {"mode": mode}, clusters=GOLD)
    await clusters.has("train-a", "nfd")
    await asyncio.sleep(2)
    await clusters.clusters["train-a"].delete(CONFIGMAPS, "nfd", "default")
    await clusters.until(lambda: said(clusters, "base.nfd", "ConfigMap nfd is not there any more"))
    await asyncio.sleep(300)
    await clusters.has("train-a")


async def test_a_change_of_the_description_undoes_what_others_changed_in_the_mode_continuous(clusters):
    await clusters.profile("base", inline("nfd", size="1") | {"mode": "Continuous"}, clusters=GOLD)
    await clusters.has("train-a", "nfd")
    await asyncio.sleep(2)
    kube = clusters.clusters["train-a"]
    await kube.patch(CONFIGMAPS, "nfd", "default", {"data": {"size": "9"}}, manager="somebody")
    await clusters.profile("base", inline("nfd", size="1", new="1") | {"mode": "Continuous"}, clusters=GOLD)
    await clusters.until(lambda: data_is(clusters, {"size": "1", "new": "1"}))


async def data_is(clusters, data):
    return (await clusters.get("train-a", "nfd"))["data"] == data


async def test_who_corrects_again_and_again_stops_and_says_so(clusters):
    await clusters.profile("base", inline("nfd", size="1"), clusters=GOLD)
    await clusters.has("train-a", "nfd")
    kube = clusters.clusters["train-a"]
    for _ in range(12):
        await asyncio.sleep(5)
        await kube.patch(CONFIGMAPS, "nfd", "default", {"data": {"size": "9"}}, manager="somebody")
    await asyncio.sleep(10)
    assert "changed again and again, and not corrected any more" in await clusters.message("train-a", "base.nfd")
    assert await size_is(clusters, "9")


async def test_one_waits_for_another_and_says_so(clusters):
    slow = {"name": "slow", "manifests": DEPLOYMENT}
    await clusters.profile("base", slow, inline("after") | {"dependsOn": [{"name": "slow"}]}, clusters=GOLD)
    await clusters.until(lambda: said(clusters, "base.after", "waits for base.slow (applying)"))
    assert await clusters.get("train-a", "after") is None


DEPLOYMENT = """
apiVersion: apps/v1
kind: Deployment
metadata: {name: slow, namespace: default}
spec:
  selector: {matchLabels: {app: slow}}
  template:
    metadata: {labels: {app: slow}}
    spec: {containers: [{name: main, image: slow}]}
"""


async def said(clusters, addon, message):
    return await clusters.message("train-a", addon) == message


async def test_one_waits_for_the_rule_of_its_dependency_and_says_so_once(clusters):
    rule = "objects.exists(o, o.data.size == '2')"
    then = inline("then") | {"dependsOn": [{"name": "first", "ready": rule}]}
    await clusters.profile("base", inline("first", size="1"), then, clusters=GOLD)
    told = f"waits for base.first: base.then.dependsOn[0].ready: {rule} is not true yet"
    await clusters.until(lambda: said(clusters, "base.then", told))
    before = await clusters.states("train-a", "base.then")
    await asyncio.sleep(300)
    assert await clusters.states("train-a", "base.then") == before
    await clusters.profile("base", inline("first", size="2"), then, clusters=GOLD)
    await clusters.has("train-a", "first", "then")


async def test_they_are_withdrawn_in_reverse(clusters):
    await clusters.profile("base", inline("first"), inline("then") | {"dependsOn": [{"name": "first"}]}, clusters=GOLD)
    await clusters.has("train-a", "first", "then")
    order: list[str] = []
    watching = asyncio.create_task(watched(clusters, order))
    await asyncio.sleep(1)
    await clusters.drop("base")
    await clusters.has("train-a")
    watching.cancel()
    assert order == ["then", "first"]


async def watched(clusters, order):
    async for sight in clusters.clusters["train-a"].watch(CONFIGMAPS, "default", labels="alate.dev/addon"):
        if isinstance(sight, Changed) and sight.gone:
            order.append(sight.object["metadata"]["name"])


async def test_a_cluster_that_is_founded_anew_under_the_same_name_gets_its_add_ons(clusters):
    await clusters.profile("base", inline("nfd"), clusters=GOLD)
    await clusters.has("train-a", "nfd")
    await clusters.release("train-a")
    await clusters.found("train-a", uid="u2", tier="gold")
    await clusters.has("train-a", "nfd")


async def test_moving_objects_from_one_profile_to_another_never_removes_them(clusters):
    await clusters.profile("one", inline("nfd"), clusters=GOLD)
    await clusters.has("train-a", "nfd")
    before = (await clusters.get("train-a", "nfd"))["metadata"]["uid"]
    await clusters.profile("two", inline("nfd"), clusters=GOLD)
    await clusters.drop("one")

    async def taken_over():
        return (await clusters.states("train-a", "one.nfd"))[-1] == "withdrawn"

    await clusters.until(taken_over)
    await clusters.has("train-a", "nfd")
    assert (await clusters.get("train-a", "nfd"))["metadata"]["uid"] == before


async def test_the_status_counts_clusters_and_says_what_the_others_wait_for(clusters):
    await clusters.profile("base", {"name": "slow", "manifests": DEPLOYMENT}, clusters=GOLD)

    async def waiting():
        status = await clusters.status("base")
        return status if status.get("clusters") else None

    status = await clusters.until(waiting)
    assert (status["matched"], status["ready"]) == (1, 0)
    assert status["clusters"][0]["name"] == "acme/train-a"
    await clusters.profile("other", inline("nfd"))

    async def ready():
        return (await clusters.status("other")).get("ready") == 2

    await clusters.until(ready)


async def test_a_restart_writes_nothing(clusters):
    await clusters.profile("base", inline("nfd"))
    for name in ("train-a", "train-b"):
        await clusters.has(name, "nfd")
    await asyncio.sleep(5)
    before = await everything(clusters)
    await clusters.stop()
    await clusters.start()
    await asyncio.sleep(300)
    assert await everything(clusters) == before


async def everything(clusters):
    kubes = (clusters.management, *clusters.clusters.values())
    versions = [each["metadata"]["resourceVersion"] for kube in kubes for each in (await kube.list(CONFIGMAPS)).items]
    return versions, await clusters.status("base"), await clusters.bus.read("EVENTS", "addon.*.*.*")
