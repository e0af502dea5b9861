"""Holds the case of checks before a deployment."""

import asyncio

import pytest

from events.kube.resources import CONFIGMAPS
from tests.services.addons.fleet import fleet, of_maps

pytestmark = pytest.mark.looptime
GO = {"apiVersion": "v1", "kind": "ConfigMap", "namespace": "default", "name": "go"}


@pytest.fixture
async def clusters():
    async with fleet() as made:
        await made.found("train-a")
        yield made


async def write(clusters, **data):
    document = {"metadata": {"name": "go", "namespace": "default"}, "data": data}
    await clusters.clusters["train-a"].apply(CONFIGMAPS, document, manager="somebody")


async def test_a_check_before_deployment_blocks_until_the_object_appears(clusters):
    await clusters.profile("base", of_maps("web", {"web": "1"}, preDeployChecks=[GO]))
    await clusters.says("train-a", "base.web", "base.web.preDeployChecks[0]: there is no ConfigMap go in default")
    await asyncio.sleep(1200)
    assert set(await clusters.states("train-a", "base.web")) == {"applying"}
    assert len(await clusters.states("train-a", "base.web")) <= 5, "reported once, and its time begins anew"
    assert await clusters.get("train-a", "web") is None
    await write(clusters)
    await clusters.has("train-a", "web")


async def test_a_check_before_deployment_may_ask_for_a_condition_of_the_object(clusters):
    rule = "objects.all(o, o.data.open == 'yes') && size(objects) == 1"
    await write(clusters, open="no")
    await clusters.profile("base", of_maps("web", {"web": "1"}, preDeployChecks=[GO | {"condition": rule}]))
    await clusters.says("train-a", "base.web", "is not true yet")
    await write(clusters, open="yes")
    await clusters.has("train-a", "web")
