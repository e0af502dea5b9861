"""Clusters are watched as they come, the management cluster among them."""

import asyncio
from datetime import UTC, datetime

import msgspec
import pytest

from events.kube.resources import NODES
from schemas.inventory import ClusterSeen, NodeSeen, StorageSeen
from schemas.registry import declared
from services.clients.workload_clusters import WorkloadClusters
from services.inventory.watch.clusters import Clusters
from services.runtime.level_publisher import LevelPublisher
from tests.context import context

pytestmark = [pytest.mark.looptime]


def clock() -> datetime:
    return datetime(2026, 1, 1, tzinfo=UTC)


@pytest.fixture
async def running(stage):
    async def never(_: str):
        raise AssertionError("no cluster was founded")

    levels = LevelPublisher(context(stage.bus, clock), NodeSeen, StorageSeen, ClusterSeen)
    workloads = WorkloadClusters(stage.kube, never)
    clusters = Clusters(context(stage.bus, clock), workloads, levels, management=stage.kube)
    ready = asyncio.Event()
    stage.tasks.append(asyncio.create_task(clusters.run(ready)))
    await asyncio.wait_for(ready.wait(), 60)
    return stage


async def test_a_management_cluster_without_nodes_has_nothing_to_tell(running):
    await running.settled()
    assert await running.words() == 0


async def test_the_management_clusters_own_nodes_are_told_under_no_tenant(running, make):
    wanted = make.node("m1", gpus="2")
    await running.kube.create(NODES, {"metadata": {"name": "m1", "labels": wanted["metadata"]["labels"]}})
    await running.kube.patch(NODES, "m1", None, {"status": wanted["status"]}, subresource="status")
    await running.settled()
    stored = await running.bus.last("LEVELS", declared(NodeSeen).at("-", "management", "m1"))
    assert msgspec.json.decode(stored.data, type=NodeSeen).accelerators == 2
    whole = await running.bus.last("LEVELS", declared(ClusterSeen).at("-", "management"))
    assert msgspec.json.decode(whole.data, type=ClusterSeen).nodes == 1
