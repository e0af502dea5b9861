"""How we take in what others made, scale it and hand it back is accepted by the real server under the real schemas."""

from dataclasses import replace

import msgspec
import pytest

from events.errors import NotFound
from events.kube.resources import CLUSTERDEPLOYMENTS, CLUSTERS
from schemas.placement import Attempt, Placement
from schemas.wish import Adopt, Need, Wish
from services.clouds import adoption
from services.clouds.k0rdent import K0rdent
from services.clouds.topology import resize_patch, topology
from services.kubernetes.labels import ATTEMPT, CLUSTER, UID
from tests.contracts.api.test_schemas import SHARED, _define, _read, strict
from tests.kube.places import home
from tests.samples import LOT, POOL, cluster_class

__all__ = ["strict"]

pytestmark = [pytest.mark.kube, pytest.mark.timeout(180)]
ME = "c1.1"
TEAM = {"example.com/team": "theirs"}
PLACE = Placement(cloud="aws", region="us-east-1", lots=(LOT,))
TAKEN = Attempt(number=1, placement=PLACE, adopts="theirs")
GROWN = msgspec.structs.replace(
    TAKEN, placement=msgspec.structs.replace(PLACE, lots=(msgspec.structs.replace(LOT, nodes=5),))
)


def asking(namespace):
    need = Need(pools=(POOL,), adopt=Adopt(name="theirs"))
    return Wish(tenant=namespace, colony="train", cluster="gpu", uid="c1", generation=1, need=need)


def stored_in(version, definition):
    """As a Cluster API of that time has it: nothing converts here, so what is stored is what is read."""
    if definition["spec"]["names"]["kind"] == "Cluster":
        for each in definition["spec"]["versions"]:
            each["storage"] = each["name"] == version
    return definition


def without_marks(there):
    meta = there["metadata"]
    return meta["labels"], meta.get("ownerReferences"), meta.get("finalizers"), there["spec"]


@pytest.mark.parametrize("version", ["v1beta2", "v1beta1"])
async def test_a_cluster_is_left_as_it_was_but_for_its_size(version, strict, real):
    kube, namespace = strict
    await _define(real, kube, [stored_in(version, each) for each in _read(home() / "crds")])
    clusters, wish = replace(CLUSTERS, version=version), asking(namespace)
    made = topology(cluster_class(), wish, TAKEN, version)
    await kube.create(clusters, made | {"metadata": {"name": "theirs", "namespace": namespace, "labels": TEAM}})
    before = await kube.get(clusters, "theirs", namespace)

    for _ in range(2):
        await adoption.adopt(kube, clusters, wish, TAKEN, ME)
    marked = (await kube.get(clusters, "theirs", namespace))["metadata"]["labels"]
    assert marked == TEAM | {CLUSTER: "train-gpu", UID: ME, ATTEMPT: "1"}
    for _ in range(2):
        await adoption.patch_adopted(
            kube, clusters, wish, GROWN, uid=ME, patch=lambda there: resize_patch(there, GROWN.placement.lots)
        )
    await adoption.release_adopted(kube, clusters, wish, GROWN)
    with pytest.raises(NotFound):
        await adoption.release_adopted(kube, clusters, wish, GROWN)

    after = await kube.get(clusters, "theirs", namespace)
    (pool,) = after["spec"]["topology"]["workers"]["machineDeployments"]
    assert (pool["replicas"], without_marks(before)[0]) == (5, TEAM)
    pool["replicas"] = LOT.nodes
    assert without_marks(after) == without_marks(before)


async def test_a_deployment_of_k0rdents_is_left_as_it_was_but_for_its_size(strict, real):
    kube, namespace = strict
    await _define(real, kube, _read(SHARED / "k0rdent"))
    spec = {"template": "aws-standalone-cp-1-0-20", "credential": "aws", "config": {"workersNumber": 2}}
    made = {"metadata": {"name": "theirs", "namespace": namespace, "labels": TEAM}, "spec": spec}
    backend, wish = K0rdent(kube), asking(namespace)
    await kube.create(CLUSTERDEPLOYMENTS, made)
    before = await kube.get(CLUSTERDEPLOYMENTS, "theirs", namespace)

    for _ in range(2):
        await backend.adopt(wish, TAKEN, ME)
    for _ in range(2):
        await backend.resize(wish, GROWN, ME)
    await backend.release(wish, GROWN)
    with pytest.raises(NotFound):
        await backend.release(wish, GROWN)

    after = await kube.get(CLUSTERDEPLOYMENTS, "theirs", namespace)
    assert after["spec"]["config"] == {"workersNumber": 5}
    after["spec"]["config"] = {"workersNumber": 2}
    assert without_marks(after) == without_marks(before)
    assert kube.transport.warnings == []
