"""A ClusterDeployment says what k0rdent says, from its first Unknown to its last finalizer."""

import asyncio
from itertools import pairwise

import pytest

from events.kube.client import Changed
from events.kube.resources import CLUSTERDEPLOYMENTS, CLUSTERS, CREDENTIALS, MACHINEDEPLOYMENTS, MACHINES, SECRETS
from services.clouds.cluster_object import failure_reason
from services.sandbox.clouds.model.billing import machines_ever

pytestmark = pytest.mark.looptime

CONFIG = {
    "region": "us-east-1",
    "controlPlaneNumber": 1,
    "workersNumber": 2,
    "controlPlane": {"instanceType": "m5.large"},
    "worker": {"instanceType": "p5.48xlarge", "spotMarketOptions": {}},
}
PARTS = ["CredentialReady", "HelmReleaseReady", "HelmChartReady", "TemplateReady"]


async def deploy(sandbox, name="cd", **spec):
    whole = {"template": "aws-standalone-cp-1-0-43", "credential": "aws-credential", "config": CONFIG} | spec
    labels = {"alate.dev/uid": f"uid-of-{name}"}
    meta = {"name": name, "namespace": "default", "labels": labels}
    wanted = {key: value for key, value in whole.items() if value is not None}
    await sandbox.kube.create(CLUSTERDEPLOYMENTS, {"metadata": meta, "spec": wanted})


def current_condition(of):
    return {one["type"]: (one["status"], one["reason"]) for one in of.get("status", {}).get("conditions", ())}


async def credential(sandbox, name, **status):
    """Made by hand, as somebody would who lends a machine or a cluster."""
    identity = {"apiVersion": "v1", "kind": "Secret", "name": "theirs", "namespace": "default"}
    meta = {"name": name, "namespace": "default"}
    await sandbox.kube.create(CREDENTIALS, {"metadata": meta, "spec": {"identityRef": identity}})
    if status:
        await sandbox.kube.patch(CREDENTIALS, name, "default", {"status": status}, subresource="status")


async def test_a_credential_is_ready_unless_somebody_said_that_it_is_not(sandbox):
    await credential(sandbox, "bad", ready=False)
    await credential(sandbox, "before")
    async with sandbox.running():
        await credential(sandbox, "after")
        await asyncio.sleep(60)
        ready = {one["metadata"]["name"]: one["status"]["ready"] for one in await sandbox.all(CREDENTIALS)}
    assert {name: ready[name] for name in ("bad", "before", "after")} == {"bad": False, "before": True, "after": True}


async def test_the_first_seconds_are_unknown_and_ready_is_true_only_at_the_end(sandbox):
    seen = []

    async def follow():
        nonlocal seen
        async for sight in sandbox.kube.watch(CLUSTERDEPLOYMENTS, "default"):
            seen += [current_condition(sight.object)] if isinstance(sight, Changed) else []

    watching = asyncio.create_task(follow())
    async with sandbox.running():
        await deploy(sandbox)
        await sandbox.until(CLUSTERDEPLOYMENTS, "cd", "Ready")
    watching.cancel()
    await asyncio.wait([watching])
    spoken = [each for each in seen if each]
    assert spoken[0] == dict.fromkeys([*PARTS, "Ready"], ("Unknown", "Progressing"))
    ready = [each["Ready"] for each in spoken]
    changes = [ready[0], *(after for before, after in pairwise(ready) if after != before)]
    assert changes == [("Unknown", "Progressing"), ("False", "Progressing"), ("True", "Succeeded")]
    assert spoken[-1] | {"HelmReleaseReady": ("True", "InstallSucceeded")} == {
        **dict.fromkeys([*PARTS, "Ready"], ("True", "Succeeded")),
        "HelmReleaseReady": ("True", "InstallSucceeded"),
        "CAPIClusterSummary": ("True", "InfoReported"),
    }


async def test_ready_answers_to_the_newest_generation(sandbox):
    async with sandbox.running():
        await deploy(sandbox)
        await sandbox.until(CLUSTERDEPLOYMENTS, "cd", "Ready")
        await asyncio.sleep(1)
        found = await sandbox.kube.get(CLUSTERDEPLOYMENTS, "cd", "default")
    generation = found["metadata"]["generation"]
    assert found["status"]["observedGeneration"] == generation
    assert {one["observedGeneration"] for one in found["status"]["conditions"]} == {generation}


async def test_without_a_config_it_is_a_dry_run_that_is_ready_of_nothing(sandbox):
    async with sandbox.running():
        await deploy(sandbox, config=None)
        await sandbox.until(CLUSTERDEPLOYMENTS, "cd", "Ready")
        found = await sandbox.kube.get(CLUSTERDEPLOYMENTS, "cd", "default")
        assert found["spec"]["dryRun"] is True
        assert "CAPIClusterSummary" not in current_condition(found)
        assert not await sandbox.all(CLUSTERS)
        await sandbox.kube.delete(CLUSTERDEPLOYMENTS, "cd", "default")
        await sandbox.gone(CLUSTERDEPLOYMENTS)


async def test_what_the_config_asks_for_is_bought(sandbox):
    async with sandbox.running():
        await deploy(sandbox)
        await sandbox.until(CLUSTERDEPLOYMENTS, "cd", "Ready")
    bill = [one for one in await machines_ever(sandbox.kube) if one.instance]
    assert [(one.instance, one.spot, one.uid) for one in bill] == [("p5.48xlarge", True, "uid-of-cd")] * 2
    assert [one["metadata"]["name"] for one in await sandbox.all(SECRETS)] == ["cd-kubeconfig"]


async def test_the_number_of_workers_follows_the_config(sandbox):
    async with sandbox.running():
        await deploy(sandbox)
        await sandbox.until(CLUSTERDEPLOYMENTS, "cd", "Ready")
        patch = {"spec": {"config": {"workersNumber": 1}}}
        await sandbox.kube.patch(CLUSTERDEPLOYMENTS, "cd", "default", patch)
        await asyncio.sleep(10)
        pool = (await sandbox.all(MACHINEDEPLOYMENTS))[0]
    assert (pool["spec"]["replicas"], pool["status"]["readyReplicas"]) == (1, 1)


async def test_a_delete_takes_everything_and_says_what_it_waits_for(sandbox):
    async with sandbox.running():
        await deploy(sandbox, cleanupOnDeletion=True)
        await sandbox.until(CLUSTERDEPLOYMENTS, "cd", "Ready")
        await sandbox.faults("stuck: [default/cd]")
        await sandbox.kube.delete(CLUSTERDEPLOYMENTS, "cd", "default")
        await asyncio.sleep(60)
        found = await sandbox.kube.get(CLUSTERDEPLOYMENTS, "cd", "default")
        assert current_condition(found)["Ready"] == ("False", "Deleting")
        assert current_condition(found)["CloudResourcesDeletedCondition"] == ("True", "Succeeded")
        assert "waiting for Cluster default/cd" in (await sandbox.condition(CLUSTERDEPLOYMENTS, "cd", "Deleting"))[2]
        await sandbox.faults("")
        await sandbox.gone(CLUSTERDEPLOYMENTS)
        assert not (*await sandbox.all(CLUSTERS), *await sandbox.all(MACHINES))
        await asyncio.sleep(1)
        assert not await sandbox.all(SECRETS)


async def test_a_stockout_shows_in_the_summary(sandbox):
    await sandbox.faults("stockouts: [{cloud: aws}]")
    async with sandbox.running():
        await deploy(sandbox)
        await asyncio.sleep(30)
        status, reason, message = await sandbox.condition(CLUSTERDEPLOYMENTS, "cd", "CAPIClusterSummary")
        assert (status, reason) == ("False", "IssuesReported")
        assert failure_reason(message) == "NoCapacity"
        assert current_condition(await sandbox.kube.get(CLUSTERDEPLOYMENTS, "cd", "default"))["Ready"] == (
            "False",
            "Progressing",
        )
        await asyncio.sleep(1800)
        assert current_condition(await sandbox.kube.get(CLUSTERDEPLOYMENTS, "cd", "default"))["Ready"] == (
            "False",
            "Failed",
        )


@pytest.mark.parametrize(
    ("spec", "type_"), [({"template": "none-1-0-0"}, "TemplateReady"), ({"credential": "nobody"}, "CredentialReady")]
)
async def test_a_missing_part_is_named_and_nothing_is_founded(sandbox, spec, type_):
    async with sandbox.running():
        await deploy(sandbox, **spec)
        await asyncio.sleep(5)
        status, reason, message = await sandbox.condition(CLUSTERDEPLOYMENTS, "cd", type_)
        assert (status, reason) == ("False", "Failed")
        assert next(iter(spec.values())) in message
        assert not await sandbox.all(CLUSTERS)
