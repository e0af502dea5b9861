"""Holds the case of a dry run: what it reports, that it changes nothing, and that the apply does what it reported."""

import asyncio

import pytest

from events.kube.resources import CONFIGMAPS
from tests.services.addons.fleet import fleet, of_maps

pytestmark = pytest.mark.looptime


@pytest.fixture
async def clusters():
    async with fleet() as made:
        await made.found("train-a")
        yield made


async def contents(clusters):
    items = (await clusters.clusters["train-a"].list(CONFIGMAPS)).items
    return {each["metadata"]["name"]: each["metadata"]["resourceVersion"] for each in items}


async def test_a_dry_run_reports_creation_change_and_deletion_and_the_apply_does_them(clusters):
    await clusters.profile("base", of_maps("web", {"changed": "1", "gone": "1"}))
    await clusters.has("train-a", "changed", "gone")
    await clusters.is_now("train-a", "base.web", "applied")
    before, wanted = await contents(clusters), {"changed": "2", "new": "1"}
    await clusters.profile("base", of_maps("web", wanted, mode="DryRun"))
    told = "dry run: 1 created, 1 changed, 1 deleted would be written; ConfigMap changed: /data/size is 1"
    await clusters.says("train-a", "base.web", told)
    await asyncio.sleep(300)
    assert await contents(clusters) == before
    await clusters.profile("base", of_maps("web", wanted, mode="Continuous"))
    await clusters.has("train-a", "changed", "new")
    assert (await clusters.get("train-a", "changed"))["data"] == {"size": "2"}


async def test_a_dry_run_reports_what_a_cluster_that_is_selected_no_longer_would_lose(clusters):
    here, elsewhere = {"names": ["train-a"]}, {"names": ["train-b"]}
    await clusters.profile("base", of_maps("web", {"one": "1", "two": "1"}), clusters=here)
    await clusters.is_now("train-a", "base.web", "applied")
    before = await contents(clusters)
    await clusters.profile("base", of_maps("web", {"one": "1", "two": "1"}, mode="DryRun"), clusters=elsewhere)
    await clusters.says("train-a", "base.web", "selects the cluster no longer: 2 objects would be withdrawn")
    await asyncio.sleep(300)
    assert await contents(clusters) == before
    await clusters.profile("base", of_maps("web", {"one": "1", "two": "1"}, mode="Continuous"), clusters=elsewhere)
    await clusters.is_now("train-a", "base.web", "withdrawn")
    await clusters.has("train-a")


async def test_a_dry_run_reports_a_conflict_and_takes_nothing_from_the_owner(clusters):
    await clusters.profile("one", of_maps("web", {"web": "1"}))
    await clusters.is_now("train-a", "one.web", "applied")
    before = await contents(clusters)
    await clusters.profile("two", of_maps("web", {"web": "2"}, mode="DryRun"))
    told = "ConfigMap web belongs to the add-on one.web"
    await clusters.says("train-a", "two.web", f"dry run: conflict: {told}")
    await asyncio.sleep(300)
    assert await contents(clusters) == before
    await clusters.profile("two", of_maps("web", {"web": "2"}, mode="Continuous"))
    await clusters.says("train-a", "two.web", told)
    assert (await clusters.get("train-a", "web"))["data"] == {"size": "1"}
