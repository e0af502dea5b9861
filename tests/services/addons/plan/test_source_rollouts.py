"""What a profile's sources hold is rolled out as its add-ons are: in stages, held back, and taken back."""

import asyncio

import pytest

from events.errors import TryLater
from events.kube.resources import ADDONPROFILES, CONFIGMAPS
from schemas.crds import AddonSpec
from services.addons.descriptions import Description
from services.addons.objects.faults import MissingPrerequisite
from services.addons.source_inputs import SourceInputs
from services.addons.sources.sources import Sources
from tests.services.addons.fleet import TENANT, config_map, fleet, now

CANARY = {"name": "canary", "clusters": {"matchLabels": {"tier": "canary"}}}
REST = {"name": "prod", "clusters": {}, "approval": True}
STAGES = {"stages": [CANARY, REST]}
ADDON = {"name": "nfd", "source": {"configMap": {"name": "manifests"}}}
A_WHILE = 0.7
"""Seconds, real ones: files are unpacked by threads."""


@pytest.fixture
async def clusters(tmp_path):
    async with fleet(tmp_path) as made:
        await made.found("train-a", tier="canary")
        await made.found("train-b", tier="gold")
        yield made


async def hold(clusters, text, name="manifests"):
    document = {"metadata": {"name": name, "namespace": TENANT}, "data": {"all.yaml": text}}
    await clusters.management.apply(CONFIGMAPS, document, manager="user")


def size(value):
    return config_map("nfd", size=value)


async def become(clusters, **expected):
    async def look():
        found = {name: await clusters.get(f"train-{name}", "nfd") for name in "ab"}
        return {name: item["data"]["size"] for name, item in found.items() if item} == expected

    await clusters.until(look, 20.0)


async def says(clusters, text):
    async def look():
        return any(text in each["message"] for each in (await clusters.status("base")).get("conditions", ()))

    await clusters.until(look, 20.0)


async def approve(clusters):
    revision = (await clusters.status("base"))["revision"]
    patch = {"metadata": {"annotations": {"alate.dev/approved": f"prod@{revision}"}}}
    await clusters.management.patch(ADDONPROFILES, "base", TENANT, patch)


async def rolled_out(clusters, **rollout):
    """The first size is everywhere, and the canary's stage has the second one."""
    await hold(clusters, size("1"))
    await clusters.profile("base", ADDON, rollout=rollout)
    await become(clusters, a="1", b="1")
    await says(clusters, "2 of 2 clusters done")
    await clusters.profile("base", ADDON, rollout=rollout | STAGES)
    await asyncio.sleep(A_WHILE)


async def test_a_changed_source_is_rolled_out_in_stages_and_the_others_are_kept_as_they_were(clusters):
    await rolled_out(clusters)
    await hold(clusters, size("2"))
    await become(clusters, a="2", b="1")
    await says(clusters, "stage prod waits for the annotation")
    await clusters.clusters["train-b"].delete(CONFIGMAPS, "nfd", "default")
    await become(clusters, a="2", b="1")
    await approve(clusters)
    await become(clusters, a="2", b="2")


async def test_a_restart_amid_the_rollout_of_a_source_writes_nothing_and_goes_on(clusters):
    await rolled_out(clusters)
    await hold(clusters, size("2"))
    await become(clusters, a="2", b="1")
    await says(clusters, "stage prod waits for the annotation")
    before = [await clusters.states(f"train-{name}", "base.nfd") for name in "ab"]
    await clusters.stop()
    await clusters.start()
    await asyncio.sleep(A_WHILE)
    assert [await clusters.states(f"train-{name}", "base.nfd") for name in "ab"] == before
    await become(clusters, a="2", b="1")
    await approve(clusters)
    await become(clusters, a="2", b="2")


async def test_a_broken_source_stops_its_rollout_and_goes_back(clusters):
    await rolled_out(clusters, rollBack=True)
    await hold(clusters, "{")
    await says(clusters, "1 rolled back, 1 failed: acme/train-a: nfd:")
    await clusters.clusters["train-a"].delete(CONFIGMAPS, "nfd", "default")
    await become(clusters, a="1", b="1")


async def test_a_rollout_waits_for_a_source_that_is_not_there_and_says_so(clusters):
    await clusters.profile("base", ADDON, rollout=STAGES)
    await says(clusters, "its sources cannot be read: there is no ConfigMap manifests in namespace acme")
    await hold(clusters, size("1"))
    await become(clusters, a="1")


async def test_values_count_as_much_as_manifests_and_what_never_changes_does_not(clusters, tmp_path):
    sources = Sources(clusters.management, tmp_path / "own", now)
    inputs, found = SourceInputs(clusters.management, sources), []
    values = {"valuesFrom": [{"kind": "ConfigMap", "name": "values", "key": "all.yaml"}]}
    spec = AddonSpec.model_validate(ADDON | values)
    await hold(clusters, size("1"))
    for text in ("a: 1", "a: 2", "a: 1"):
        await hold(clusters, text, "values")
        found.append(await inputs.digest(Description(spec, "d1", TENANT)))
    assert (found[0] == found[2], found[0] != found[1]) == (True, True)
    chart = {"repository": "https://charts.example.org", "name": "nfd", "version": "1.2.3"}
    exact = AddonSpec.model_validate({"name": "nfd", "source": {"chart": chart}})
    assert await inputs.digest(Description(exact, "d1", TENANT)) == ""
    await sources.close()


async def test_a_server_that_cannot_be_reached_is_told_at_once(clusters, tmp_path):
    sources = Sources(clusters.management, tmp_path / "own", now)
    chart = {"repository": "http://127.0.0.1:1/charts", "name": "nfd", "version": "1.2.3"}
    spec = AddonSpec.model_validate({"name": "nfd", "source": {"chart": chart}})
    with pytest.raises(MissingPrerequisite, match=r"127\.0\.0\.1:1/charts/index\.yaml cannot be reached"):
        await SourceInputs(clusters.management, sources).of(Description(spec, "d1", TENANT), spec.source)
    await sources.close()


async def test_a_cluster_waits_for_its_turn_where_nobody_knows_what_its_source_held(clusters, tmp_path):
    await hold(clusters, size("1"))
    sources = Sources(clusters.management, tmp_path / "own", now)
    spec = AddonSpec.model_validate(ADDON)
    inputs, about = SourceInputs(clusters.management, sources), Description(spec, "d1", TENANT, sources="another")
    with pytest.raises(TryLater, match="its sources hold something else by now"):
        await inputs.of(about, spec.source)
    await sources.close()
