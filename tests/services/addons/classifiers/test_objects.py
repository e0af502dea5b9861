"""Classifiers label clusters by the objects that they have; the service runs as it is composed."""

import asyncio

import pytest

from events.kube.client import Kube
from events.kube.resources import CLUSTERCLASSIFIERS, DEPLOYMENTS, NAMESPACES
from events.kube.resources import CRDS as DEFINITIONS
from schemas.crds import CLASSIFIER, COLONY
from services.addons.classifiers import cluster_objects
from tests.services.addons.classifiers.stage import DRIVER, classify, conditions, levels, told
from tests.services.addons.fleet import Away, fleet

pytestmark = pytest.mark.looptime

CRD = {"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition", "name": COLONY.name}
AGENT = {"apiVersion": "apps/v1", "kind": "Deployment", "name": "agent"}
HAS_CRD = {"when": "has(objects.crd)", "labels": {"colonies": "true"}}
NEW_AGENT = {
    "when": "has(objects.agent) && objects.agent.spec.template.spec.containers[0].image.startsWith('agent:2')",
    "labels": {"agent": "new"},
}
LAB = {"metadata": {"name": "lab"}, "spec": {"rules": [NEW_AGENT]}}
CRD_CLUSTERS = {"matchLabels": {"colonies": "true"}}


def agent(image, name="agent"):
    pod = {"metadata": {"labels": {"app": "agent"}}, "spec": {"containers": [{"name": "main", "image": image}]}}
    spec = {"selector": {"matchLabels": {"app": "agent"}}, "template": pod}
    return {"metadata": {"name": name, "namespace": "tools"}, "spec": spec}


@pytest.fixture
async def clusters():
    async with fleet() as made:
        for name in ("train-a", "train-b"):
            await made.found(name)
        yield made


async def label_by_definition(clusters):
    """One cluster has a definition, and is labelled for it."""
    await clusters.clusters["train-a"].create(DEFINITIONS, COLONY.manifest())
    await clusters.profile("base", DRIVER, clusters=CRD_CLUSTERS)
    await classify(clusters, "crds", HAS_CRD, objects=[CRD | {"variable": "crd"}])
    await clusters.has("train-a", "driver")
    await told(clusters, "crds", "Ready", "True")


async def test_a_definition_that_is_there_labels_the_cluster_as_long_as_it_is(clusters):
    await label_by_definition(clusters)
    assert await clusters.get("train-b", "driver") is None
    await clusters.clusters["train-b"].create(DEFINITIONS, COLONY.manifest())
    await clusters.has("train-b", "driver")
    await clusters.clusters["train-a"].delete(DEFINITIONS, COLONY.name)
    await clusters.has("train-a")


async def test_the_image_of_a_deployment_labels_the_cluster(clusters):
    kube = clusters.clusters["train-a"]
    await kube.create(NAMESPACES, {"metadata": {"name": "tools"}})
    await kube.create(DEPLOYMENTS, agent("agent:1.9"))
    await kube.create(DEPLOYMENTS, agent("agent:2.0", name="other"))
    await clusters.profile("base", DRIVER, clusters={"matchLabels": {"agent": "new"}})
    await classify(clusters, "agents", NEW_AGENT, objects=[AGENT | {"variable": "agent", "namespace": "tools"}])
    assert (await told(clusters, "agents", "Ready", "True"))[1] == "0 clusters have labels of it."
    await kube.apply(DEPLOYMENTS, agent("agent:2.0"), manager="test")
    await clusters.has("train-a", "driver")


async def test_an_object_of_a_kind_that_is_not_served_is_not_there_until_it_is(clusters):
    await clusters.profile("base", DRIVER, clusters={"matchLabels": {"lab": "true"}})
    lab = {"variable": "lab", "apiVersion": "alate.dev/v1alpha1", "kind": "ClusterClassifier", "name": "lab"}
    rules = (
        {"when": f"{said}has(objects.lab)", "labels": {"lab": label}} for said, label in (("", "true"), ("!", "no"))
    )
    await classify(clusters, "labs", *rules, objects=[lab])
    await clusters.until(lambda: counts(clusters, "labs", 2))
    kube = clusters.clusters["train-a"]
    await kube.create(DEFINITIONS, CLASSIFIER.manifest())
    await kube.create(CLUSTERCLASSIFIERS, LAB)
    await clusters.has("train-a", "driver")


async def counts(clusters, name, number):
    return (await clusters.management.get(CLUSTERCLASSIFIERS, name)).get("status", {}).get("matched") == number


async def test_a_cluster_that_is_founded_anew_under_the_same_name_is_watched_anew(clusters):
    await label_by_definition(clusters)
    await clusters.found("train-a", uid="u2")
    await clusters.until(lambda: counts(clusters, "crds", 0))
    await clusters.clusters["train-a"].create(DEFINITIONS, COLONY.manifest())
    await clusters.has("train-a", "driver")


async def test_a_cluster_out_of_reach_keeps_its_labels_and_that_is_said(clusters):
    await label_by_definition(clusters)
    before = await levels(clusters)
    await clusters.stop()
    clusters.real["train-a-u1"] = Kube(Away(), random=lambda: 0.5)
    await clusters.start()
    why = "acme/train-a: its objects cannot be watched: the connection was refused."
    assert await told(clusters, "crds", "Ready", "False") == ("Unreachable", why)
    assert (await conditions(clusters, "crds"))["Stalled"]["status"] == "False"
    await asyncio.sleep(60)
    assert await levels(clusters) == before
    await clusters.stop()
    clusters.real.clear()
    await clusters.start()
    await told(clusters, "crds", "Ready", "True")


async def test_a_restart_writes_nothing(clusters):
    await label_by_definition(clusters)
    await asyncio.sleep(60)
    before = clusters.writes, await levels(clusters)
    await clusters.stop()
    await clusters.start()
    await asyncio.sleep(300)
    assert (clusters.writes, await levels(clusters)) == before


async def test_what_is_beyond_the_limit_of_watches_is_said_and_watched_once_there_is_room(clusters, monkeypatch):
    await label_by_definition(clusters)
    monkeypatch.setattr(cluster_objects, "MOST", 2)
    await classify(clusters, "agents", NEW_AGENT, objects=[AGENT | {"variable": "agent"}])
    assert (await told(clusters, "agents", "Ready", "False"))[0] == "TooManyWatches"
    await clusters.management.delete(CLUSTERCLASSIFIERS, "crds")
    await told(clusters, "agents", "Ready", "True")
    await clusters.has("train-a")
    await clusters.found("train-c")
    assert (await told(clusters, "agents", "Ready", "False"))[0] == "TooManyWatches"
    await clusters.release("train-b")
    await told(clusters, "agents", "Ready", "True")


@pytest.mark.parametrize("kind", ["Secret", "ConfigMap"])
async def test_secrets_are_not_watched(clusters, kind):
    named = {"variable": "it", "apiVersion": "v1", "kind": kind, "name": "x"}
    await classify(clusters, "one", {"when": "has(objects.it)", "labels": {"x": "y"}}, objects=[named])
    reason, _ = await told(clusters, "one", "Ready", "False" if kind == "Secret" else "True")
    assert reason == ("Invalid" if kind == "Secret" else "Ready")
