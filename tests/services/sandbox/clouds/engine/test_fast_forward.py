"""Where nothing takes time the same end is reached in fewer writes."""

import asyncio
from collections import deque
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

import pytest

from events.kube.resources import CLUSTERS
from services.sandbox.clouds.engine.controllers import step
from services.sandbox.clouds.model.actions import PatchStatus, WaitUntil
from services.sandbox.clouds.model.conditions import current_condition
from services.sandbox.clouds.model.pace import Pace
from services.sandbox.clouds.model.snapshot import ClusterSnapshot, SimulationRules

pytestmark = pytest.mark.looptime

TIMES = ("lastTransitionTime",)


async def founded(sandbox, name, cloud_pace):
    """What a founded cluster shows in the end, and how many shapes of it anybody saw on the way."""
    sandbox.laws, sandbox.seen = replace(sandbox.laws, pace=cloud_pace), []
    async with sandbox.watched(), sandbox.running():
        await sandbox.apply(name)
        await sandbox.until(CLUSTERS, name, "Available")
        await asyncio.sleep(20)
        status = (await sandbox.kube.get(CLUSTERS, name, "default"))["status"]
    shown = [{key: value for key, value in one.items() if key not in TIMES} for one in status["conditions"]]
    return {**status, "conditions": shown}, len(sandbox.seen)


async def test_at_no_pace_a_cluster_ends_as_at_any_other(sandbox):
    slow, many = await founded(sandbox, "slow", Pace())
    fast, few = await founded(sandbox, "fast", Pace().times(0))
    assert fast == slow
    assert few < many * 0.5, (few, many)


async def test_at_no_pace_a_cluster_is_heard_before_it_is_available(sandbox):
    await founded(sandbox, "fast", Pace().times(0))
    said = [current_condition(each, "Available") for each in sandbox.seen if each["kind"] == "Cluster"]
    assert next(one.status for one in said if one) == "False"


async def test_at_no_pace_what_is_said_right_after_an_edit_is_of_that_edit(sandbox):
    await founded(sandbox, "fast", Pace().times(0))
    lives: dict[Any, Any] = {}
    for each in sandbox.seen:
        lives.setdefault(each["metadata"]["uid"], []).append(each)
    edited = [
        after
        for life in lives.values()
        for before, edit, after in zip(life, life[1:], life[2:], strict=False)
        if before["metadata"]["generation"] < edit["metadata"]["generation"] and "status" in after
    ]
    assert {each["kind"] for each in edited} >= {"Machine"}
    for each in edited:
        said = {one["observedGeneration"] for one in each["status"]["conditions"]}
        assert said == {each["metadata"]["generation"]}, each


def test_a_pace_is_instant_only_without_any_delay():
    assert Pace().times(0).instant
    assert not Pace(0, 0, 0, 0, 0.1).instant


def test_who_spoke_is_asked_first_when_asked_again():
    turns = deque([silent, speaking, nobody])
    assert step(ClusterSnapshot("default", "c"), NOW, SimulationRules(), turns) == SAID
    assert turns == deque([speaking, nobody, silent])


def test_where_nobody_speaks_all_were_asked_and_all_their_waits_are_told():
    turns = deque([silent, silent])
    assert step(ClusterSnapshot("default", "c"), NOW, SimulationRules(), turns) == (WaitUntil(NOW), WaitUntil(NOW))
    assert turns == deque([silent, silent])


NOW = datetime(2030, 1, 1, tzinfo=UTC)
SAID = (PatchStatus(CLUSTERS, {}, {"phase": "Pending"}),)


def silent(*_):
    yield WaitUntil(NOW)


def speaking(*_):
    yield from (WaitUntil(NOW), *SAID)


def nobody(*_):
    raise AssertionError("somebody before has spoken")
