"""A profile's change reaches clusters in stages, stops where it fails, and goes back; a restart changes nothing."""

import asyncio

import pytest

from events.errors import Denied
from events.kube.resources import ADDONPROFILES, CONFIGMAPS, CONTROLLERREVISIONS, NAMESPACES
from tests.services.addons.fleet import TENANT, config_map, fleet

pytestmark = pytest.mark.looptime
CANARY = {"name": "canary", "clusters": {"matchLabels": {"tier": "canary"}}}
REST = {"name": "prod", "clusters": {}, "approval": True}


def inline(size: str, name: str = "nfd"):
    return {"name": name, "manifests": config_map(name, size=size)}


BROKEN = {"name": "nfd", "manifests": '{"apiVersion":"none.example.org/v1","kind":"None","metadata":{"name":"nfd"}}'}


@pytest.fixture
async def clusters():
    async with fleet() as made:
        await made.found("train-a", tier="canary")
        for name in ("train-b", "train-c"):
            await made.found(name, tier="gold")
        yield made


async def sizes(clusters, name: str = "nfd") -> dict[str, str]:
    found = {each: await clusters.get(each, name) for each in clusters.clusters}
    return {each: item["data"]["size"] for each, item in found.items() if item}


async def become(clusters, expected: dict[str, str], name: str = "nfd") -> None:
    async def look() -> bool:
        return await sizes(clusters, name) == expected

    await clusters.until(look, within=1200.0)


async def says(clusters, kind: str, text: str, profile: str = "base") -> None:
    async def look() -> bool:
        conditions = (await clusters.status(profile)).get("conditions", ())
        return any(each["type"] == kind and text in each["message"] for each in conditions)

    await clusters.until(look, within=1200.0)


async def rolled_out(clusters, **rollout) -> None:
    """The first size is everywhere."""
    await clusters.profile("base", inline("1"), rollout=rollout)
    await become(clusters, dict.fromkeys(clusters.clusters, "1"))
    await says(clusters, "Reconciling", "3 of 3 clusters done")
    await asyncio.sleep(5)


async def approve(clusters, stage: str) -> None:
    revision = (await clusters.status("base"))["revision"]
    annotations = {"alate.dev/approved": f"{stage}@{revision}"}
    await clusters.management.patch(ADDONPROFILES, "base", TENANT, {"metadata": {"annotations": annotations}})


async def test_a_stage_waits_for_the_one_before_and_for_its_approval(clusters):
    await clusters.profile("base", inline("1"), rollout={"stages": [CANARY, REST], "soak": "1m"})
    await says(clusters, "Reconciling", "stage canary: 0 of 1 clusters done, 1 in flight; next is stage prod")
    await become(clusters, {"train-a": "1"})
    await says(clusters, "Reconciling", "stage prod: 0 of 2 clusters done; stage prod waits for the annotation")
    assert await sizes(clusters) == {"train-a": "1"}
    await approve(clusters, "prod")
    await become(clusters, dict.fromkeys(clusters.clusters, "1"))


async def test_clusters_whose_turn_has_not_come_are_kept_as_they_were(clusters):
    await rolled_out(clusters)
    await clusters.profile("base", inline("2"), rollout={"stages": [CANARY, REST]})
    await become(clusters, {"train-a": "2", "train-b": "1", "train-c": "1"})
    await clusters.clusters["train-b"].delete(CONFIGMAPS, "nfd", "default")
    await become(clusters, {"train-a": "2", "train-b": "1", "train-c": "1"})
    await says(clusters, "Ready", "1 of 3 clusters are ready: acme/train-b: keeps what it had, by the rollout")
    status = await clusters.status("base")
    assert (status["updated"], status["inFlight"], status["failed"], status["matched"]) == (1, 0, 0, 3)


async def test_a_rollout_that_fails_stops_and_goes_back(clusters):
    await rolled_out(clusters)
    rollout = {"stages": [CANARY], "deadline": "2m", "rollBack": True}
    await clusters.profile("base", inline("2"), inline("1", "extra"), rollout=rollout)
    await become(clusters, dict.fromkeys(clusters.clusters, "2"))
    await asyncio.sleep(5)
    await clusters.profile("base", BROKEN, rollout=rollout)
    await says(clusters, "Stalled", "1 rolled back, 1 failed: acme/train-a: nfd:")
    await become(clusters, dict.fromkeys(clusters.clusters, "2"))
    await become(clusters, dict.fromkeys(clusters.clusters, "1"), "extra")
    assert await clusters.states("train-b", "base.nfd") == await clusters.states("train-c", "base.nfd")


async def test_a_profile_begins_when_another_is_done(clusters):
    await clusters.profile("staging", inline("1", "stage"), clusters={"matchLabels": {"tier": "canary"}})
    await clusters.profile("base", inline("1"), rollout={"after": ["staging"]})
    await become(clusters, dict.fromkeys(clusters.clusters, "1"))
    assert await sizes(clusters, "stage") == {"train-a": "1"}


async def test_a_profile_waits_for_one_that_is_not_done(clusters):
    await clusters.profile("staging", BROKEN, clusters={"matchLabels": {"tier": "canary"}})
    await clusters.profile("base", inline("1"), rollout={"after": ["staging"]})
    await says(clusters, "Reconciling", "waits for profile staging")
    assert await sizes(clusters) == {}


async def test_a_cluster_that_comes_during_a_rollout_gets_what_was_complete_before(clusters):
    await rolled_out(clusters)
    await clusters.profile("base", inline("2"), rollout={"stages": [CANARY, REST]})
    await become(clusters, {"train-a": "2", "train-b": "1", "train-c": "1"})
    await clusters.found("train-d", tier="gold")
    await become(clusters, {"train-a": "2", "train-b": "1", "train-c": "1", "train-d": "1"})


async def test_a_window_that_cannot_be_read_makes_the_profile_invalid(clusters):
    await clusters.profile("base", inline("1"), rollout={"windows": ["at night"]})
    await says(clusters, "Stalled", 'window "at night" must be five fields of cron and a duration')


async def test_a_restart_in_the_middle_writes_nothing(clusters):
    await rolled_out(clusters)
    await clusters.profile("base", inline("2"), rollout={"stages": [CANARY, REST]})
    await become(clusters, {"train-a": "2", "train-b": "1", "train-c": "1"})
    await says(clusters, "Reconciling", "stage prod waits")
    await asyncio.sleep(60)
    before = [await clusters.bus.read(stream, ">") for stream in ("EVENTS", "LEVELS")]
    items = await versions(clusters)
    await clusters.stop()
    await clusters.start()
    await asyncio.sleep(60)
    assert [await clusters.bus.read(stream, ">") for stream in ("EVENTS", "LEVELS")] == before
    assert await versions(clusters) == items


async def test_clusters_are_given_a_change_once_however_often_the_service_restarts(clusters):
    for name in "defg":
        await clusters.found(f"train-{name}", tier="gold")
    await clusters.profile("base", inline("1"))
    await become(clusters, dict.fromkeys(clusters.clusters, "1"))
    await clusters.profile("base", inline("2"), rollout={"maxInFlight": 2, "soak": "10s"})
    for _ in range(8):
        await asyncio.sleep(7)
        await clusters.stop()
        await clusters.start()
    await become(clusters, dict.fromkeys(clusters.clusters, "2"))
    for name in clusters.clusters:
        assert await clusters.states(name, "base.nfd") == ["applying", "applied"] * 2


async def test_a_revision_that_cannot_be_written_is_said(clusters, monkeypatch):
    async def refuse(*_, **__):
        raise Denied("controllerrevisions is forbidden", "Forbidden")

    monkeypatch.setattr(clusters.management, "create", refuse)
    await clusters.profile("base", inline("1"), rollout={})
    await says(clusters, "Stalled", "its revision cannot be written: controllerrevisions is forbidden")
    assert await sizes(clusters) == {}
    monkeypatch.undo()
    await become(clusters, dict.fromkeys(clusters.clusters, "1"))


async def test_a_profile_for_all_namespaces_keeps_its_revisions_with_the_platform(clusters):
    await clusters.management.create(NAMESPACES, {"metadata": {"name": "alate"}})
    await clusters.profile("base", inline("1"), namespace="", rollout={})
    await become(clusters, dict.fromkeys(clusters.clusters, "1"))
    (kept,) = (await clusters.management.list(CONTROLLERREVISIONS, "alate")).items
    assert kept["metadata"]["name"].startswith("all.base-")


async def versions(clusters) -> list[str]:
    listed = [await clusters.management.list(kind, TENANT) for kind in (ADDONPROFILES, CONTROLLERREVISIONS)]
    listed += [await kube.list(CONFIGMAPS, "default") for kube in clusters.clusters.values()]
    return [item["metadata"]["resourceVersion"] for each in listed for item in each.items]


async def test_old_revisions_are_deleted_with_their_profile(clusters):
    await rolled_out(clusters)
    (kept,) = (await clusters.management.list(CONTROLLERREVISIONS, TENANT)).items
    assert [each["name"] for each in kept["metadata"]["ownerReferences"]] == ["base"]
