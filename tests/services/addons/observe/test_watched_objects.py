"""Objects of clusters that Triggers watch deploy and withdraw add-ons, each result once."""

import asyncio

import pytest

from events.kube.client import Kube
from events.kube.resources import NAMESPACES, TRIGGERS
from tests.services.addons.fleet import TENANT, Away
from tests.services.addons.trigger_stage import DEPLOY, LARGE, WITHDRAW, trigger_stage

pytestmark = pytest.mark.looptime


@pytest.fixture
async def stage():
    async with trigger_stage("train-a", "train-b") as made:
        yield made


async def probed(stage, cluster, of):
    async def look():
        return await stage.probe(cluster) == of

    await stage.fleet.until(look)


async def test_an_object_that_meets_a_condition_deploys_on_its_cluster_and_its_end_withdraws(stage):
    await stage.put("train-a", "one", size="L")
    await stage.trigger(LARGE)
    await stage.is_ready()
    await probed(stage, "train-a", "one")
    await stage.put("train-b", "two", size="S")
    await asyncio.sleep(5)
    assert await stage.profiles() == {"train-a-one"}
    await stage.put("train-b", "two", size="L")
    await probed(stage, "train-b", "two")
    await stage.put("train-b", "two", size="S")
    await stage.drop("train-a", "one")
    await probed(stage, "train-a", "")
    await probed(stage, "train-b", "")
    assert await stage.profiles() == set()


async def test_a_restart_and_a_relist_act_on_nothing_again(stage):
    await stage.put("train-a", "one", size="L")
    await stage.trigger(LARGE)
    await stage.until_profiles("train-a-one")
    before = await stage.requests()
    await stage.fleet.stop()
    await stage.leave()
    await stage.fleet.start()
    stage.follow()
    await stage.put("train-a", "one", size="L", other="x")
    await asyncio.sleep(900)
    assert await stage.requests() == before


async def test_what_ended_while_nobody_watched_is_withdrawn_after_a_restart(stage):
    await stage.put("train-a", "one", size="L")
    await stage.trigger(LARGE)
    await stage.until_profiles("train-a-one")
    await stage.fleet.stop()
    await stage.drop("train-a", "one")
    await stage.fleet.start()
    await stage.until_profiles()


async def test_a_condition_over_the_object_before_acts_on_each_change_and_on_no_first_sight(stage):
    changed = LARGE | {"when": "old.data.size != object.data.size"}
    await stage.put("train-a", "one", size="S")
    await stage.trigger(changed, rules=[WITHDRAW | {"when": "data.holds"}])
    await stage.is_ready()
    for size in ("M", "L", "L", "S"):
        await stage.put("train-a", "one", size=size)
        await asyncio.sleep(2)
    assert await stage.requests() == [f"profile.withdraw.{TENANT}.train-a-one"] * 3


async def test_a_cluster_out_of_reach_is_a_condition_and_the_others_are_watched(stage):
    stage.fleet.real["away"] = Kube(Away(), random=lambda: 0.5)
    await stage.fleet.adopt("train-c", "away")
    await stage.put("train-a", "one", size="L")
    await stage.trigger(LARGE)
    await stage.until_profiles("train-a-one")
    assert await stage.is_not_ready("Unreachable") == "train-c: the connection was refused."
    await stage.fleet.release("train-c")
    await stage.is_ready()


async def test_a_kind_that_no_cluster_serves_is_a_condition_until_it_is_served(stage):
    await stage.trigger(LARGE | {"apiVersion": "example.com/v1", "kind": "Widget"})
    told = await stage.is_not_ready("UnknownKind")
    assert told.startswith("train-a, and 1 more of 2 clusters: the API server does not serve example.com/v1")
    await stage.trigger(LARGE)
    await stage.is_ready()


async def test_only_selected_clusters_are_watched_and_one_that_leaves_withdraws(stage):
    await stage.fleet.found("train-c", tier="gold")
    for cluster in ("train-a", "train-c"):
        await stage.put(cluster, "one", size="L")
    await stage.trigger(LARGE | {"clusters": {"matchLabels": {"tier": "gold"}}})
    await stage.until_profiles("train-c-one")
    await stage.fleet.release("train-c")
    await stage.until_profiles()


async def test_a_trigger_sees_no_cluster_of_another_namespace(stage):
    await stage.put("train-a", "one", size="L")
    document = {"metadata": {"name": "spy", "namespace": "other"},
                "spec": {"name": "x", "objects": [LARGE], "rules": [DEPLOY]}}  # fmt: skip
    await stage.fleet.management.create(NAMESPACES, {"metadata": {"name": "other"}})
    await stage.fleet.management.apply(TRIGGERS, document, manager="user")
    await asyncio.sleep(30)
    assert await stage.seen() == []


async def test_a_deleted_trigger_ends_its_watches_and_leaves_no_profile_and_no_message(stage):
    await stage.put("train-a", "one", size="L")
    await stage.trigger(LARGE)
    await probed(stage, "train-a", "one")
    await stage.fleet.management.delete(TRIGGERS, "sizes", TENANT)
    await stage.until_profiles()
    await probed(stage, "train-a", "")
    assert await stage.seen() == []


async def test_a_changed_condition_is_evaluated_anew_and_says_only_what_is_new(stage):
    await stage.put("train-a", "one", size="L")
    await stage.put("train-b", "two", size="M")
    await stage.trigger(LARGE)
    await stage.until_profiles("train-a-one")
    await stage.trigger(LARGE | {"when": "object.data.size in ['M', 'L']"})
    await stage.until_profiles("train-a-one", "train-b-two")
    assert await stage.requests() == [f"profile.requested.{TENANT}"] * 2
