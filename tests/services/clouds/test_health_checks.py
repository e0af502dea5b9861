"""Each cluster has one health check for its workers, unless its template or its ClusterClass brings its own."""

from dataclasses import replace

import msgspec
import pytest

from events.kube.resources import CLUSTERCLASSES, CONFIGMAPS, CRDS, MACHINEHEALTHCHECKS
from schemas.placement import Attempt, Placement
from services.clouds.capi import Capi
from services.clouds.cluster_templates import (
    HEALTH_CHECK_SPECS,
    NOT_READY_TIMEOUT,
    STARTUP_TIMEOUT,
    declares_health_check,
    health_check,
)
from services.provisioning.lifecycle.launch import JOIN_LIMIT
from tests.samples import LOT, cluster_class

ATTEMPT = Attempt(number=1, placement=Placement(cloud="aws", region="r", lots=(LOT,)))
UID = "u1.1"
OWN = """
---
apiVersion: cluster.x-k8s.io/v1beta2
kind: MachineHealthCheck
metadata: {name: "${CLUSTER_NAME}-theirs"}
spec: {clusterName: "${CLUSTER_NAME}", selector: {matchLabels: {a: b}}}
"""


async def checks(server):
    return (await server.list(MACHINEHEALTHCHECKS, "default")).items


def with_check(name):
    made = cluster_class()
    made["spec"]["workers"]["machineDeployments"][1][name] = {"any": "thing"}
    return made


@pytest.mark.parametrize("of_a_class", [False, True], ids=["template", "class"])
async def test_it_is_made_with_the_cluster_bears_its_marks_and_goes_with_it(server, wish, of_a_class):
    if of_a_class:
        await server.create(CLUSTERCLASSES, cluster_class())
    for _ in range(2):
        await Capi(server).launch(wish, ATTEMPT, UID)
    (made,) = await checks(server)
    assert made["metadata"]["name"] == made["spec"]["clusterName"] == "train-a-1"
    assert made["metadata"]["labels"]["alate.dev/uid"] == UID
    assert [each["kind"] for each in made["metadata"]["ownerReferences"]] == ["Cluster"]
    assert made["spec"]["selector"]["matchLabels"] == {"cluster.x-k8s.io/cluster-name": "train-a-1"}


async def test_a_template_keeps_its_own(server, wish):
    text = (await server.get(CONFIGMAPS, "alate-capi-aws", "default"))["data"]["cluster.yaml"]
    await server.patch(CONFIGMAPS, "alate-capi-aws", "default", {"data": {"cluster.yaml": text + OWN}})
    await Capi(server).launch(wish, ATTEMPT, UID)
    assert [each["metadata"]["name"] for each in await checks(server)] == ["train-a-1-theirs"]


@pytest.mark.parametrize("name", ["healthCheck", "machineHealthCheck"])
async def test_a_class_keeps_its_own(server, wish, name):
    await server.create(CLUSTERCLASSES, with_check(name))
    await Capi(server).launch(wish, ATTEMPT, UID)
    assert await checks(server) == ()
    assert not declares_health_check(cluster_class())


async def test_where_the_kind_is_not_served_the_cluster_is_founded_without(server, wish):
    await server.delete(CRDS, "machinehealthchecks.cluster.x-k8s.io")
    server.discovered.clear()
    await Capi(server).launch(wish, ATTEMPT, UID)
    assert (await Capi(server).leftovers("default", wish.name))["clusters"] == 1


@pytest.mark.parametrize("of_a_class", [False, True], ids=["template", "class"])
async def test_one_that_is_not_there_is_made_with_the_next_size(server, wish, of_a_class):
    if of_a_class:
        await server.create(CLUSTERCLASSES, cluster_class())
    await Capi(server).launch(wish, ATTEMPT, UID)
    await server.delete(MACHINEHEALTHCHECKS, "train-a-1", "default")
    for _ in range(2):
        await Capi(server).resize(wish, ATTEMPT, UID)
    (made,) = await checks(server)
    assert made["metadata"]["labels"]["alate.dev/uid"] == UID
    assert [each["kind"] for each in made["metadata"]["ownerReferences"]] == ["Cluster"]


async def test_another_size_leaves_it_alone(server, wish):
    await Capi(server).launch(wish, ATTEMPT, UID)
    (before,) = await checks(server)
    more = (msgspec.structs.replace(LOT, nodes=9),)
    await Capi(server).resize(wish, Attempt(number=1, placement=Placement(cloud="aws", region="r", lots=more)), UID)
    assert await checks(server) == (before,)


def test_a_machine_that_breaks_or_never_starts_is_replaced_before_its_cluster_is_given_up():
    assert NOT_READY_TIMEOUT < STARTUP_TIMEOUT < JOIN_LIMIT.total_seconds()


def test_what_is_done_to_one_befalls_no_other():
    one, other = (health_check("c", MACHINEHEALTHCHECKS) for _ in range(2))
    one["spec"]["checks"]["unhealthyNodeConditions"].clear()
    assert other["spec"]["checks"]["unhealthyNodeConditions"]


def test_both_versions_say_the_same():
    now, before = (health_check("c", replace(MACHINEHEALTHCHECKS, version=each))["spec"] for each in HEALTH_CHECK_SPECS)
    assert now.pop("remediation") == {"triggerIf": {"unhealthyLessThanOrEqualTo": before.pop("maxUnhealthy")}}
    checks = now.pop("checks")
    assert before.pop("nodeStartupTimeout") == f"{checks['nodeStartupTimeoutSeconds']}s"
    pairs = zip(before.pop("unhealthyConditions"), checks["unhealthyNodeConditions"], strict=True)
    assert all(one.pop("timeout") == f"{other.pop('timeoutSeconds')}s" and one == other for one, other in pairs)
    assert now == before
