"""What one tenant watches is bounded in watches, objects, messages, bytes and time, and a limit is a condition."""

import asyncio

import pytest

from events.kube.resources import TRIGGERS
from services.addons.observe import controller, judge, watcher
from services.addons.observe.results import LARGEST
from services.expressions.evaluation import EvaluationFailure, FailureReason
from services.expressions.evaluators import Evaluators
from tests.services.addons.fleet import TENANT
from tests.services.addons.trigger_stage import DEPLOY, LARGE, trigger_stage

pytestmark = pytest.mark.looptime


@pytest.fixture
async def stage():
    async with trigger_stage("train-a", "train-b") as made:
        yield made


async def test_a_namespace_has_a_limit_of_watches_and_says_how_many_are_beyond_it(stage, monkeypatch):
    monkeypatch.setattr(controller, "MOST_OF_TENANT", 3)
    await stage.trigger(LARGE, LARGE | {"name": "again"})
    told = await stage.is_not_ready("TooManyWatches")
    assert told == "1 of 4 watches are too many: a namespace has at most 3, and alate 2000."
    await stage.trigger(LARGE)
    await stage.is_ready()


async def test_watches_beyond_the_limit_begin_once_there_is_room(stage, monkeypatch):
    monkeypatch.setattr(controller, "MOST_OF_TENANT", 2)
    await stage.put("train-a", "one", size="L")
    await stage.trigger(LARGE, name="first", rules=[DEPLOY | {"when": "false"}])
    await stage.is_ready("first")
    await stage.trigger(LARGE)
    await stage.is_not_ready("TooManyWatches")
    await stage.fleet.management.delete(TRIGGERS, "first", TENANT)
    await stage.is_ready()
    await stage.until_profiles("train-a-one")


async def test_a_kind_with_too_many_objects_is_watched_no_longer_and_the_others_are(stage, monkeypatch):
    monkeypatch.setattr(watcher, "MOST_OBJECTS", 3)
    for number in range(4):
        await stage.put("train-a", f"n{number}", size="S")
    await stage.put("train-b", "one", size="L")
    await stage.trigger(LARGE)
    told = await stage.is_not_ready("TooManyObjects")
    assert told == "train-a: it has more than 3 of ConfigMap: name a namespace or labels."
    await stage.until_profiles("train-b-one")


async def test_objects_that_hold_are_limited_per_namespace(stage, monkeypatch):
    monkeypatch.setattr(judge, "MOST_HELD", 2)
    for number in range(4):
        await stage.put("train-a", f"n{number}", size="L")
    await stage.trigger(LARGE)
    await stage.is_not_ready("TooManyObjects")
    assert len(await stage.seen()) == 2


async def test_a_condition_that_costs_too_much_ends_every_watch_of_its_trigger_until_it_is_changed(stage, monkeypatch):
    asked = []

    async def evaluate(_, expressions, variables, tenant):
        asked.append(variables["object"]["metadata"]["name"])
        return (EvaluationFailure(FailureReason.TOO_COSTLY, f"{expressions[0].where}: it takes more than 0.5 s"),)

    with monkeypatch.context() as patched:
        patched.setattr(Evaluators, "evaluate", evaluate)
        await stage.put("train-a", "one", size="L")
        await stage.trigger(LARGE)
        assert "spec.objects[0].when: it takes more than 0.5 s" in await stage.is_not_ready("TooCostly")
        await stage.fleet.stop()
        await stage.fleet.start()
        await stage.put("train-a", "two", size="L")
        await asyncio.sleep(60)
    assert asked == ["one"]
    await stage.trigger(LARGE | {"when": "object.data.size  == 'L'"})
    await stage.until_profiles("train-a-one", "train-a-two")


async def test_a_tenant_has_a_share_of_time_and_of_an_object_only_its_newest_state_is_evaluated(stage, monkeypatch):
    asked, usual = [], Evaluators.evaluate

    async def evaluate(self, expressions, variables, tenant):
        asked.append((variables["object"]["metadata"]["name"], variables["object"]["data"]["size"]))
        return await usual(self, expressions, variables, tenant)

    monkeypatch.setattr(Evaluators, "evaluate", evaluate)
    monkeypatch.setattr(judge, "LEAST", 0.5)
    await stage.trigger(LARGE)
    await stage.is_ready()
    for number in range(100):
        await stage.put("train-a", "busy", size=str(number))
        await asyncio.sleep(0.1)
    assert len(asked) <= 17  # 10 at once, and one in 2 s
    await asyncio.sleep(10)
    assert asked[-1] == ("busy", "99")


async def test_an_object_that_is_too_large_is_heard_without_what_it_holds(stage):
    await stage.put("train-a", "one", size="L", text="x" * LARGEST)
    await stage.trigger(LARGE)
    await stage.until_profiles("train-a-one")
    (seen,) = await stage.seen()
    assert seen.truncated
    assert set(seen.object) == {"apiVersion", "kind", "metadata"}


async def test_what_field_managers_and_kubectl_wrote_is_not_published(stage):
    await stage.put("train-a", "one", size="L")
    await stage.trigger(LARGE)
    await stage.until_profiles("train-a-one")
    (seen,) = await stage.seen()
    assert seen.object["data"] == {"size": "L"}
    assert "managedFields" not in seen.object["metadata"]


async def test_a_message_about_the_end_of_an_object_is_kept_for_an_hour(stage):
    await stage.put("train-a", "one", size="L")
    await stage.trigger(LARGE)
    await stage.until_profiles("train-a-one")
    await stage.drop("train-a", "one")
    await stage.until_profiles()
    assert [each.gone for each in await stage.seen()] == [True]
    await asyncio.sleep(judge.ENDED_KEPT)
    assert await stage.seen() == []


async def test_a_trigger_without_objects_has_no_condition_of_them(stage):
    await stage.trigger(LARGE)
    await stage.is_ready()
    await stage.trigger(messages=[{"event": "cluster.ready"}])
    await asyncio.sleep(5)
    status = (await stage.fleet.management.get(TRIGGERS, "sizes", TENANT))["status"]
    assert {each["type"] for each in status["conditions"]} == {"Accepted", "Ready", "Stalled"}
    assert await stage.ready() == ("True", "Followed", "Its rules are followed.")
