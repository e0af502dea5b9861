"""Replicas are read and set in one shape."""

import pytest

DEPLOYMENTS = "/apis/apps/v1/namespaces/default/deployments"
WIDGETS = "/apis/demo.io/v1/namespaces/default/widgets"


@pytest.fixture
async def web(client):
    labels = {"app": "web"}
    template = {"metadata": {"labels": labels}, "spec": {"containers": [{"name": "c", "image": "i"}]}}
    spec = {"replicas": 2, "selector": {"matchLabels": labels}, "template": template}
    return await client.create(DEPLOYMENTS, {"metadata": {"name": "web"}, "spec": spec})


async def test_a_deployment_shows_its_scale(client, web):
    scale = await client.get(f"{DEPLOYMENTS}/web/scale")
    assert (scale["kind"], scale["apiVersion"], scale["spec"]) == ("Scale", "autoscaling/v1", {"replicas": 2})
    assert scale["status"] == {"replicas": 0, "selector": "app=web"}


async def test_setting_the_scale_sets_the_replicas(client, web):
    assert (await client.patch(f"{DEPLOYMENTS}/web/scale", {"spec": {"replicas": 5}}))["spec"] == {"replicas": 5}
    found = await client.get(f"{DEPLOYMENTS}/web")
    assert (found["spec"]["replicas"], found["metadata"]["generation"]) == (5, 2)


async def test_an_old_scale_is_a_conflict(client, web):
    old = (await client.get(f"{DEPLOYMENTS}/web/scale")).body
    assert (await client.put(f"{DEPLOYMENTS}/web/scale", {**old, "spec": {"replicas": 3}})).status == 200
    assert (await client.put(f"{DEPLOYMENTS}/web/scale", {**old, "spec": {"replicas": 4}})).status == 409


async def test_a_custom_resource_scales_where_its_definition_says(client):
    await client.create(WIDGETS, {"metadata": {"name": "a"}})
    assert (await client.patch(f"{WIDGETS}/a/scale", {"spec": {"replicas": 4}})).status == 200
    assert (await client.get(f"{WIDGETS}/a"))["spec"]["replicas"] == 4


@pytest.mark.parametrize("replicas", [-1, "many"])
async def test_a_scale_that_is_no_number_is_refused(client, web, replicas):
    assert (await client.patch(f"{DEPLOYMENTS}/web/scale", {"spec": {"replicas": replicas}})).status == 400
