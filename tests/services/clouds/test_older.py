"""A Cluster API that serves v1beta1 alone is spoken to in it: nothing is founded unseen, nothing is left uncounted."""

from collections.abc import AsyncIterator
from dataclasses import replace

import msgspec
import pytest

from events.kube.client import Kube
from events.kube.resources import CLUSTERCLASSES, CLUSTERS, CONFIGMAPS, CRDS, MACHINEHEALTHCHECKS
from schemas.placement import Attempt, Placement
from services.clouds.capi import Capi
from services.sandbox.seeds.kinds import KINDS, definition
from tests.samples import LOT, cluster_class

OLDER = replace(CLUSTERS, version="v1beta1")
ATTEMPT = Attempt(number=1, placement=Placement(cloud="aws", region="r", lots=(LOT,)))
UID = "u1.1"
TEMPLATE = """\
apiVersion: cluster.x-k8s.io/v1beta1
kind: Cluster
metadata: {name: "${CLUSTER_NAME}"}
spec: {}
---
apiVersion: cluster.x-k8s.io/v1beta1
kind: MachineDeployment
metadata: {name: "${CLUSTER_NAME}-${POOL}"}
spec: {clusterName: "${CLUSTER_NAME}", replicas: ${REPLICAS}}
"""


@pytest.fixture
async def older(server, wish) -> AsyncIterator[Kube]:
    """The same management cluster, as it was before v1beta2."""
    for resource, columns in KINDS.items():
        if resource.group == CLUSTERS.group:
            await server.delete(CRDS, f"{resource.plural}.{resource.group}")
            await server.create(CRDS, definition(replace(resource, version="v1beta1"), columns))
    server.discovered.clear()
    await server.patch(CONFIGMAPS, "alate-capi-aws", "default", {"data": {"cluster.yaml": TEMPLATE}})
    return server


async def test_manifests_of_that_version_are_founded_counted_and_released(older, wish):
    backend = Capi(older)
    assert "aws" in await backend.reach(wish)
    for _ in range(2):
        await backend.launch(wish, ATTEMPT, UID)
    made = await older.get(OLDER, "train-a-1", "default")
    assert made["metadata"]["labels"]["alate.dev/uid"] == UID
    (check,) = (await older.list(replace(MACHINEHEALTHCHECKS, version="v1beta1"), "default")).items
    assert check["spec"]["maxUnhealthy"] == "50%"
    left = {"clusters": 1, "machinedeployments": 1, "machines": 0, "secrets": 0}
    assert await backend.leftovers("default", wish.name) == left
    await backend.release(wish, ATTEMPT)
    assert set((await backend.leftovers("default", wish.name)).values()) == {0}


async def test_a_topology_is_written_in_that_version(older, wish):
    await older.create(replace(CLUSTERCLASSES, version="v1beta1"), cluster_class())
    backend = Capi(older)
    assert (await backend.reach(wish))["aws"] is True
    await backend.launch(wish, ATTEMPT, UID)
    assert (await older.get(OLDER, "train-a-1", "default"))["spec"]["topology"]["class"] == "gpus"
    more = msgspec.structs.replace(LOT, nodes=5)
    await backend.resize(wish, Attempt(number=1, placement=Placement(cloud="aws", region="r", lots=(more,))), UID)
    spec = (await older.get(OLDER, "train-a-1", "default"))["spec"]
    assert spec["topology"]["workers"]["machineDeployments"][0]["replicas"] == 5


@pytest.mark.parametrize(("probe", "reachable"), [("True", True), ("Unknown", False)])
def test_what_it_shows_is_read_from_the_conditions_of_today_that_lie_beside(probe, reachable):
    today = [
        {"type": "RemoteConnectionProbe", "status": probe, "observedGeneration": 1},
        {"type": "ControlPlaneInitialized", "status": "True", "observedGeneration": 1},
    ]
    status = {
        "observedGeneration": 1,
        "controlPlaneReady": True,
        "conditions": [{"type": "Ready", "status": "True"}],
        "v1beta2": {"conditions": today},
    }
    labels = {"alate.dev/cluster": "train-a", "alate.dev/uid": UID, "alate.dev/attempt": "1"}
    assert (
        Capi.read({"metadata": {"name": "train-a-1", "generation": 1, "labels": labels}, "status": status}).reachable
        is reachable
    )
