"""Many clusters at once through the real Cluster API controllers, while people put their hands on some of them."""

import asyncio
from itertools import product

import pytest

from events.kube.resources import CLUSTERS, COLONIES, MACHINEDEPLOYMENTS
from schemas.cluster import Provisioned
from schemas.subjects import Key
from services.cli.demo.play import entities
from services.cli.demo.story import event_of
from tests.story.kube.factory import factory

__all__ = ["factory"]

pytestmark = [pytest.mark.kube, pytest.mark.faults, pytest.mark.timeout(1200)]
COLONY_NAMES = tuple(f"fleet{number}" for number in range(5))
CLUSTER_NAMES = ("a", "b", "c", "d")
NAMES = tuple("-".join(each) for each in product(COLONY_NAMES, CLUSTER_NAMES))
EDITED, DELETED = "fleet3-a", "fleet4-a"
WITHIN = 420.0


def colony(name, nodes=1):
    pool = {"name": "md", "accelerator": "H100", "acceleratorsPerNode": 8, "nodes": nodes}
    clusters = [{"name": each, "clouds": ["dev"], "pools": [pool]} for each in CLUSTER_NAMES]
    return {"metadata": {"name": name, "namespace": "default"}, "spec": {"clusters": clusters}}


def state(factory, name):
    return factory.play.story.now(Key("cluster", "default", name))


async def test_twenty_clusters_in_five_colonies_are_founded_scaled_touched_by_hand_and_gone(factory):
    kube, wanted = factory.kube, frozenset().union(*(entities(colony(name)) for name in COLONY_NAMES))
    for name in COLONY_NAMES:
        await kube.apply(COLONIES, colony(name), manager="somebody")
    await factory.has_workers(20, within=WITHIN)
    assert {type(state(factory, name)) for name in NAMES} == {Provisioned}

    await kube.apply(COLONIES, colony("fleet0", nodes=2), manager="somebody")
    await kube.patch(MACHINEDEPLOYMENTS, f"{EDITED}-1-md", "default", {"spec": {"replicas": 2}}, manager="somebody")
    await kube.delete(CLUSTERS, f"{DELETED}-1", "default")
    for name in (*(each for each in NAMES if each.startswith("fleet0")), EDITED):
        await factory.has_workers(2, name, WITHIN)

    async def founded_anew():
        now = state(factory, DELETED)
        return isinstance(now, Provisioned) and now.attempt.number == 2 and factory.workers(DELETED) == [True]

    await factory.services.until(founded_anew, WITHIN)
    assert [each.reason for each in state(factory, DELETED).failed_attempts] == ["Lost"]
    assert len(factory.workers()) == 25

    await asyncio.gather(*(factory.gone(name, WITHIN) for name in COLONY_NAMES))
    await factory.clean(wanted)
    ways = {
        name: [event_of(each) for each in factory.play.story.states[Key("cluster", "default", name)]] for name in NAMES
    }
    assert {name for name, way in ways.items() if way.count("released") != 1} == set()
    assert {state(factory, name).attempts for name in NAMES if name != DELETED} == {1}
