"""The chart is installed on a real API server under Pod Security `restricted`, upgraded, and uninstalled."""

import json
from pathlib import Path

import pytest

from events.kube.client import Kube, Resource
from events.kube.resources import COLONIES, CRDS, NAMESPACES
from services.compose import SERVICES
from tests.story.kube.helm_stage import HelmStage, running, with_node

pytestmark = [pytest.mark.kube, pytest.mark.timeout(300)]
CHART = Path(__file__).parents[3] / "deploy/chart"
SPACE = "alate"
DEPLOYMENTS = Resource("apps", "v1", "deployments", "Deployment")
PODS = Resource("", "v1", "pods", "Pod")
POOL = {"name": "p", "accelerator": "H100", "acceleratorsPerNode": 8, "nodes": 1}
RESTRICTED = {f"pod-security.kubernetes.io/{mode}": "restricted" for mode in ("enforce", "warn")}
URL = "nats.url=nats://nats.example.org:4222"


@pytest.fixture
async def stage(tmp_path):
    with running(tmp_path / "plane") as plane:
        kube = Kube(plane.transport(), random=lambda: 0.5)
        await with_node(kube)
        await kube.create(NAMESPACES, {"metadata": {"name": SPACE, "labels": RESTRICTED}})
        yield HelmStage(plane, kube, SPACE)
        await kube.close()


async def available(stage, number):
    async def look():
        found = (await stage.kube.list(DEPLOYMENTS, SPACE)).items
        counts = [each.get("status", {}).get("availableReplicas", 0) for each in found]
        return len(counts) == len(SERVICES) and counts == [number] * len(counts)

    await stage.until(look, 90)


async def test_the_chart_is_installed_upgraded_and_uninstalled_but_for_its_kinds(stage):
    told = await stage.run("helm", "install", "alate", str(CHART), "--set", URL, "--timeout", "60s")
    assert "STATUS: deployed" in told
    assert "There is no price catalog: nothing is bought." in told
    await available(stage, 2)

    pods = (await stage.kube.list(PODS, SPACE)).items
    accounts = {each["spec"]["serviceAccountName"] for each in pods if each["metadata"]["name"] != "alate-setup"}
    assert accounts >= set(SERVICES)
    await stage.run("helm", "upgrade", "alate", str(CHART), "--set", URL, "--set", "replicas=3", "--timeout", "60s")
    await available(stage, 3)

    colony = {"metadata": {"name": "one", "namespace": SPACE}, "spec": {"clusters": [{"name": "gpu", "pools": [POOL]}]}}
    await stage.kube.apply(COLONIES, colony, manager="person")
    await stage.run("helm", "uninstall", "alate", "--wait", "--timeout", "60s")
    left = json.loads(await stage.run("kubectl", "get", "all,roles,rolebindings,networkpolicies,pdb", "-o", "json"))
    assert [each["metadata"]["name"] for each in left["items"]] == []
    rights = json.loads(await stage.run("kubectl", "get", "clusterroles,clusterrolebindings", "-o", "json"))
    assert [each for each in rights["items"] if each["metadata"]["name"].startswith("alate")] == []
    kinds = [each["metadata"]["name"] for each in (await stage.kube.list(CRDS)).items]
    assert sorted(name for name in kinds if name.endswith(".alate.dev")) == [
        f"{plural}.alate.dev"
        for plural in ("addonprofiles", "clusteraddonprofiles", "clusterclassifiers", "colonies", "triggers")
    ]
    assert (await stage.kube.get(COLONIES, "one", SPACE))["metadata"]["name"] == "one"
