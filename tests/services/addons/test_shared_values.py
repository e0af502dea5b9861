"""Holds the case of drift: add-ons that share values, a field that others may change, an object that is deleted."""

import asyncio

import pytest

from events.kube.client import Resource
from events.kube.resources import CONFIGMAPS
from services.addons import service
from tests.services.addons.fleet import TENANT, fleet
from tests.services.expressions.here import EvaluatorsHere

pytestmark = pytest.mark.looptime

CRONJOBS = Resource("batch", "v1", "cronjobs", "CronJob")
WORKLOAD = """
apiVersion: batch/v1
kind: CronJob
metadata: {name: %s, namespace: default}
spec:
  schedule: "0 0 * * *"
  suspend: false
  jobTemplate:
    spec:
      template:
        spec: {restartPolicy: Never, containers: [{name: main, image: "{{ objects.shared.data.image }}"}]}
"""
SHARED = {"variable": "shared", "apiVersion": "v1", "kind": "ConfigMap", "name": "shared"}
IMAGE = "/spec/jobTemplate/spec/template/spec/containers/0/image"


def workload(name: str, path: str):
    ignore = [{"kind": "CronJob", "paths": [path]}]
    return {"name": name, "manifests": WORKLOAD % name, "templated": True, "objects": [SHARED], "ignore": ignore}


@pytest.fixture
async def clusters(monkeypatch):
    monkeypatch.setattr(service, "Evaluators", EvaluatorsHere)  # a process would be waited for on virtual time
    async with fleet() as made:
        await made.found("train-a")
        shared = {"metadata": {"name": "shared", "namespace": TENANT}, "data": {"image": "web:1"}}
        await made.management.create(CONFIGMAPS, shared)
        await made.profile("base", workload("strict", "/spec/suspend"), workload("lax", IMAGE))
        for addon in ("base.strict", "base.lax"):
            await made.is_now("train-a", addon, "applied")
        yield made


async def images(clusters):
    found = {}
    for name in ("strict", "lax"):
        spec = (await clusters.get("train-a", name, CRONJOBS))["spec"]
        found[name] = spec["jobTemplate"]["spec"]["template"]["spec"]["containers"][0]["image"], spec["suspend"]
    return found


async def test_of_two_that_share_values_the_one_that_ignores_a_field_leaves_it_and_the_other_corrects_it(clusters):
    for name in ("strict", "lax"):
        await asyncio.sleep(2)
        pod = {"restartPolicy": "Never", "containers": [{"name": "main", "image": "web:9"}]}
        change = {"spec": {"jobTemplate": {"spec": {"template": {"spec": pod}}}}}
        await clusters.clusters["train-a"].patch(CRONJOBS, name, "default", change, manager="somebody")
    await asyncio.sleep(120)
    assert await images(clusters) == {"strict": ("web:1", False), "lax": ("web:9", False)}
    assert await clusters.states("train-a", "base.lax") == ["applying", "applied"]


async def test_a_change_of_an_excluded_field_is_no_drift(clusters):
    await asyncio.sleep(2)
    before = await clusters.states("train-a", "base.strict")
    change = {"spec": {"suspend": True}}
    await clusters.clusters["train-a"].patch(CRONJOBS, "strict", "default", change, manager="somebody")
    await asyncio.sleep(120)
    assert (await images(clusters))["strict"] == ("web:1", True)
    assert await clusters.states("train-a", "base.strict") == before


async def test_a_tracked_object_that_is_deleted_is_created_again(clusters):
    await asyncio.sleep(2)
    before = await clusters.get("train-a", "strict", CRONJOBS)
    await clusters.clusters["train-a"].delete(CRONJOBS, "strict", "default")

    async def again():
        seen = await clusters.get("train-a", "strict", CRONJOBS)
        return seen is not None and seen["metadata"]["uid"] != before["metadata"]["uid"]

    await clusters.until(again)
    await clusters.is_now("train-a", "base.strict", "applied")
