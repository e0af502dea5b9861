"""Holds the cases of a bad update that prunes nothing, and of prerequisites that go after what depends on them."""

import asyncio

import pytest

from tests.services.addons.fleet import fleet, of_maps

pytestmark = pytest.mark.looptime
NOWHERE = {"matchLabels": {"team": "nobody"}}
BROKEN = '{"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "bad"}, "data": {"size": {"is": "no text"}}}'


def after(name, prerequisite, **more):
    profile, _, addon = prerequisite.rpartition(".")
    return of_maps(name, {name: "1"}, dependsOn=[{"name": addon, "profile": profile}], **more)


@pytest.fixture
async def clusters():
    async with fleet() as made:
        await made.found("train-a")
        yield made


async def test_a_bad_update_leaves_the_old_objects_and_only_one_that_succeeds_prunes_them(clusters):
    await clusters.profile("base", of_maps("web", {"old": "1", "kept": "1"}))
    await clusters.has("train-a", "kept", "old")
    bad = of_maps("web", {"kept": "2"})
    bad["manifests"] += f"\n---\n{BROKEN}"
    await clusters.profile("base", bad)
    await clusters.is_now("train-a", "base.web", "degraded")
    await asyncio.sleep(900)
    await clusters.has("train-a", "kept", "old")
    await clusters.profile("base", of_maps("web", {"kept": "3"}))
    await clusters.has("train-a", "kept")


async def test_a_prerequisite_that_is_deleted_first_waits_and_says_for_whom(clusters):
    await clusters.profile("base", of_maps("driver", {"driver": "1"}))
    await clusters.profile("app", after("web", "base.driver"))
    await clusters.has("train-a", "driver", "web")
    await clusters.drop("base")
    await clusters.says("train-a", "base.driver", "waits until app.web is withdrawn")
    await asyncio.sleep(300)
    await clusters.has("train-a", "driver", "web")
    await clusters.drop("app")
    await clusters.has("train-a")
    await clusters.is_now("train-a", "base.driver", "withdrawn")


async def test_a_prerequisite_comes_with_its_first_dependent_and_leaves_with_its_last(clusters):
    await clusters.profile("kernel", of_maps("module", {"module": "1"}), clusters=NOWHERE)
    driver = after("driver", "kernel.module")
    await clusters.profile("base", driver, of_maps("unasked", {"unasked": "1"}), clusters=NOWHERE)
    await asyncio.sleep(60)
    await clusters.has("train-a")
    for name in ("web", "jobs"):
        await clusters.profile(name, after(name, "base.driver"))
    await clusters.has("train-a", "driver", "jobs", "module", "web")
    await clusters.drop("web")
    await clusters.has("train-a", "driver", "jobs", "module")
    await asyncio.sleep(60)
    await clusters.has("train-a", "driver", "jobs", "module")
    await clusters.drop("jobs")
    await clusters.has("train-a")


async def test_a_profile_of_a_namespace_brings_nothing_that_the_platform_gives_to_other_clusters(clusters):
    await clusters.profile("base", of_maps("driver", {"driver": "1"}), namespace="", clusters=NOWHERE)
    await clusters.profile("app", after("web", "all/base.driver"))
    await clusters.says("train-a", "app.web", "waits for all.base.driver (which is not there)")
    await clusters.has("train-a")
