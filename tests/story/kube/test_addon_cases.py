"""The cases of drift, take-over, order and dry run of add-ons on a real API server with a chart of our own."""

import asyncio

import pytest

from events.kube.client import Changed, Listed
from events.kube.discovery import find
from events.kube.resources import CONFIGMAPS
from tests.services.addons.fleet import of_maps
from tests.story.kube.helm_stage import chart
from tests.story.kube.test_profiles import CLUSTER, cluster_plane, stage

__all__ = ["cluster_plane", "stage"]
pytestmark = [pytest.mark.kube, pytest.mark.alone, pytest.mark.timeout(300)]
LEFT = {"ignore": [{"kind": "ConfigMap", "paths": ["/data/size"]}]}
CONFIG = """
apiVersion: v1
kind: ConfigMap
metadata:
  name: {{ .Release.Name }}
data:
  size: {{ .Values.size | quote }}
  note: {{ .Values.note | quote }}
"""
NIGHTLY = {
    "metadata": {"name": "nightly", "namespace": "default"},
    "spec": {
        "schedule": "0 0 1 1 *",
        "suspend": True,
        "jobTemplate": {
            "spec": {"template": {"spec": {"restartPolicy": "Never", "containers": [{"name": "main", "image": "i"}]}}}
        },
    },
}
NOWHERE = {"matchLabels": {"team": "nobody"}}


@pytest.fixture
def web(stage, tmp_path):
    """A chart of one ConfigMap by the name of its release."""
    return stage.serve(chart(tmp_path / "web", name="web", values="size: 1\nnote: a\n", one=CONFIG))


async def data(stage, name):
    seen = await stage.get("ConfigMap", name)
    return seen["data"] if seen else {}


async def reaches(stage, addon, state):
    await stage.until(addon, state, 60)


async def becomes(stage, name, **wanted):
    async def look():
        return wanted.items() <= (await data(stage, name)).items()

    await stage.fleet.until(look, 90)


async def identity(stage, name):
    meta = (await stage.get("ConfigMap", name))["metadata"]
    return meta["uid"], meta["creationTimestamp"]


async def emptied(stage, *addons):
    for profile in {each.partition(".")[0] for each in addons}:
        await stage.fleet.drop(profile)
    for each in addons:
        await reaches(stage, each, "withdrawn")
    assert stage.releases() == {}


class Absences:
    """How often an object is deleted while a test goes on."""

    def __init__(self, stage, name):
        self.stage, self.name, self.seen = stage, name, 0
        self.begun = asyncio.Event()

    async def __aenter__(self):
        self.task = asyncio.create_task(self.follow())
        await self.begun.wait()
        return self

    async def __aexit__(self, *_):
        assert (self.seen, self.task.done()) == (0, False)
        self.task.cancel()

    async def follow(self):
        async for sight in self.stage.kube.watch(CONFIGMAPS, "default"):
            if isinstance(sight, Listed):
                self.begun.set()
            if isinstance(sight, Changed) and sight.gone:
                self.seen += sight.object["metadata"]["name"] == self.name


async def test_of_two_releases_that_share_values_only_the_one_that_ignores_a_field_keeps_a_change_of_it(stage, web):
    shared = {"source": web, "values": {"size": "7"}}
    await stage.fleet.profile("base", {"name": "strict", **shared}, {"name": "lax", **shared, **LEFT})
    for name in ("strict", "lax"):
        await reaches(stage, f"base.{name}", "applied")
        await stage.kube.patch(CONFIGMAPS, name, "default", {"data": {"size": "9", "note": "b"}}, manager="somebody")
    await becomes(stage, "strict", size="7", note="a")
    await becomes(stage, "lax", size="9", note="a")
    await stage.kube.delete(CONFIGMAPS, "strict", "default")
    await becomes(stage, "strict", size="7")
    assert stage.releases() == {"strict": ("1", "deployed"), "lax": ("1", "deployed")}
    await emptied(stage, "base.strict", "base.lax")


async def test_a_release_goes_to_the_second_profile_when_the_first_is_deleted_and_is_never_absent(stage, web):
    def of(size):
        return {"name": "c", "source": web, "release": "shared", "values": {"size": size}}

    await stage.fleet.profile("one", of("1"))
    await reaches(stage, "one.c", "applied")
    await stage.fleet.profile("two", of("2"))

    async def told():
        status = await stage.fleet.status("two")
        return any("one.c" in each.get("message", "") for each in status.get("clusters", ()))

    await stage.fleet.until(told, 60)
    before = await identity(stage, "shared")
    async with Absences(stage, "shared"):
        await stage.fleet.drop("one")
        await becomes(stage, "shared", size="2")
        await reaches(stage, "one.c", "withdrawn")
    assert await identity(stage, "shared") == before
    await emptied(stage, "two.c")


async def test_a_cluster_whose_label_changes_keeps_its_release_with_a_new_revision(stage, web):
    for tier, size in (("gold", "1"), ("iron", "2")):
        addon = {"name": "c", "source": web, "release": "shared", "values": {"size": size}}
        await stage.fleet.profile(tier, addon, clusters={"matchLabels": {"tier": tier}})
    await reaches(stage, "gold.c", "applied")
    before = await identity(stage, "shared")
    config = stage.plane.kubeconfig_for(stage.plane.token)
    async with Absences(stage, "shared"):
        await stage.fleet.adopt(CLUSTER, config, tier="iron")
        await reaches(stage, "iron.c", "applied")
        await reaches(stage, "gold.c", "withdrawn")
    assert await identity(stage, "shared") == before
    assert await data(stage, "shared") == {"size": "2", "note": "a"}
    assert stage.releases() == {"shared": ("2", "deployed")}
    await stage.fleet.drop("gold")
    await emptied(stage, "iron.c")


async def test_a_release_goes_to_the_lower_priority_number_and_comes_back(stage, web):
    def of(size):
        return {"name": "c", "source": web, "release": "shared", "values": {"size": size}}

    await stage.fleet.profile("one", of("1"), priority=80)
    await reaches(stage, "one.c", "applied")
    before = await identity(stage, "shared")
    async with Absences(stage, "shared"):
        for priority, size in ((100, "1"), (50, "2"), (100, "1")):
            await stage.fleet.profile("two", of("2"), priority=priority)
            await becomes(stage, "shared", size=size)
    assert await identity(stage, "shared") == before
    await reaches(stage, "one.c", "applied")
    await stage.fleet.drop("two")
    await emptied(stage, "one.c")


async def test_an_update_that_the_server_refuses_leaves_the_old_objects(stage):
    await stage.fleet.profile("base", of_maps("web", {"old": "1", "kept": "1"}))
    await reaches(stage, "base.web", "applied")
    bad = of_maps("web", {"kept": "2"})
    bad["manifests"] += "\n---\n" + of_maps("web", {"Not_A_Name": "1"})["manifests"]
    await stage.fleet.profile("base", bad)
    await reaches(stage, "base.web", "degraded")
    assert await data(stage, "old") == {"size": "1"}
    await stage.fleet.profile("base", of_maps("web", {"kept": "3"}))
    await reaches(stage, "base.web", "applied")
    assert (await data(stage, "kept"), await data(stage, "old")) == ({"size": "3"}, {})
    await emptied(stage, "base.web")


async def test_a_prerequisite_comes_with_its_dependent_and_waits_for_it_when_it_is_deleted_first(stage, web):
    await stage.fleet.profile("base", {"name": "driver", "source": web}, clusters=NOWHERE)
    for name in ("one", "two"):
        needs = {"dependsOn": [{"name": "driver", "profile": "base"}]}
        await stage.fleet.profile(name, of_maps("web", {name: "1"}, **needs))
        await reaches(stage, f"{name}.web", "applied")
    await stage.fleet.drop("one")
    await reaches(stage, "one.web", "withdrawn")
    assert stage.releases() == {"driver": ("1", "deployed")}
    await stage.fleet.drop("base")
    await stage.fleet.says(CLUSTER, "base.driver", "waits until two.web is withdrawn")
    assert stage.releases() == {"driver": ("1", "deployed")}
    await stage.fleet.drop("two")
    await reaches(stage, "base.driver", "withdrawn")
    assert stage.releases() == {}


async def test_a_dry_run_of_a_release_reports_and_the_release_then_matches_it(stage, web):
    addon = {"name": "c", "source": web}
    await stage.fleet.profile("base", {**addon, "mode": "DryRun"})
    await stage.fleet.says(CLUSTER, "base.c", "dry run: 1 created would be written")
    assert stage.releases() == {}
    await stage.fleet.profile("base", {**addon, "mode": "Continuous"})
    await reaches(stage, "base.c", "applied")
    await stage.fleet.profile("base", {**addon, "values": {"size": "2"}, "mode": "DryRun"})
    await stage.fleet.says(CLUSTER, "base.c", "dry run: 1 changed would be written; ConfigMap c: /data/size is 1")
    await stage.fleet.profile("other", {**addon, "mode": "DryRun"})
    await stage.fleet.says(CLUSTER, "other.c", "dry run: conflict: the release default/c is that of base.c")
    assert (stage.releases(), await data(stage, "c")) == ({"c": ("1", "deployed")}, {"size": "1", "note": "a"})
    await stage.fleet.profile("base", {**addon, "values": {"size": "2"}, "mode": "Continuous"})
    await becomes(stage, "c", size="2")
    assert stage.releases() == {"c": ("2", "deployed")}
    await stage.fleet.drop("other")
    await emptied(stage, "base.c")


async def test_a_release_stays_while_an_object_exists_that_it_looks_after_and_is_applied_once(stage, web):
    addon = {"name": "web", "source": web, "mode": "Once", "keepWhile": [{"apiVersion": "batch/v1", "kind": "CronJob"}]}
    await stage.fleet.profile("base", addon)
    await reaches(stage, "base.web", "applied")
    await stage.fleet.profile("base", addon | {"values": {"size": 2}})
    await asyncio.sleep(2)
    assert (await data(stage, "web"))["size"] == "1"
    await stage.kube.create(await find(stage.kube, "batch/v1", "CronJob"), NIGHTLY)
    await stage.fleet.drop("base")

    async def waits():
        return await stage.fleet.message(CLUSTER, "base.web") == "waits until CronJob default/nightly is gone"

    await stage.fleet.until(waits, 60)
    assert "web" in stage.releases()
    await stage.kube.delete(await find(stage.kube, "batch/v1", "CronJob"), "nightly", "default")
    await reaches(stage, "base.web", "withdrawn")
    assert stage.releases() == {}
