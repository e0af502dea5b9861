"""Each back end gives its objects another version in an order that no kubelet minds, or says why it cannot."""

import msgspec
import pytest

from events.errors import Denied, NotFound
from events.kube.resources import (
    CLUSTERCLASSES,
    CLUSTERDEPLOYMENTS,
    CLUSTERS,
    CLUSTERTEMPLATES,
    CONFIGMAPS,
    MACHINEDEPLOYMENTS,
    MACHINES,
)
from schemas.placement import Attempt, Placement
from services.clouds.capi import Capi
from services.clouds.k0rdent import K0rdent
from services.sandbox.clouds.model.annotations import CONTROLPLANES
from tests.samples import LOT, cluster_class

ATTEMPT = Attempt(number=1, placement=Placement(cloud="aws", region="us-east-1", lots=(LOT,)))
ADOPTED = msgspec.structs.replace(ATTEMPT, adopts="theirs")
UID, NAME, POOL = "u1.1", "train-a-1", "train-a-1-workers"
OLD, NEW = "v1.34.0", "v1.35.0"


def to(wish, version=NEW):
    return msgspec.structs.replace(wish, need=msgspec.structs.replace(wish.need, kubernetes_version=version))


async def launched(kind, server, wish):
    made = kind(server)
    await made.launch(to(wish, OLD), ATTEMPT, UID)
    return made


async def versions(server):
    """What the control plane and the workers are told to run."""
    head = await server.get(CONTROLPLANES, NAME, "default")
    pool = await server.get(MACHINEDEPLOYMENTS, POOL, "default")
    return head["spec"]["version"], pool["spec"]["template"]["spec"]["version"]


async def head_runs(server, version):
    await server.patch(CONTROLPLANES, NAME, "default", {"status": {"version": version}}, subresource="status")


async def machine(server, number, version):
    labels = {"cluster.x-k8s.io/cluster-name": NAME}
    spec = {"clusterName": NAME, "version": version, "bootstrap": {"dataSecretName": "x"}}
    spec["infrastructureRef"] = {"apiGroup": "infrastructure.cluster.x-k8s.io", "kind": "DevMachine", "name": "x"}
    meta = {"name": f"{NAME}-{number}", "namespace": "default", "labels": labels}
    await server.create(MACHINES, {"metadata": meta, "spec": spec})


async def template_with(server, old, new):
    text = (await server.get(CONFIGMAPS, "alate-capi-aws", "default"))["data"]["cluster.yaml"]
    await server.patch(CONFIGMAPS, "alate-capi-aws", "default", {"data": {"cluster.yaml": text.replace(old, new)}})


async def test_workers_of_a_template_are_told_once_all_of_the_control_plane_runs_it(server, wish):
    capi = await launched(Capi, server, wish)
    await head_runs(server, OLD)
    assert await capi.upgrade(to(wish), ATTEMPT, UID) == "the control plane gets v1.35.0, v1.34.0 runs"
    assert await versions(server) == (NEW, OLD)
    await head_runs(server, NEW)
    await machine(server, 1, OLD)
    await machine(server, 2, NEW)
    assert await capi.upgrade(to(wish), ATTEMPT, UID) == "1 of 2 machines run v1.35.0"
    assert await versions(server) == (NEW, NEW)
    await server.delete(MACHINES, f"{NAME}-1", "default")
    assert await capi.upgrade(to(wish), ATTEMPT, UID) == ""


async def test_saying_it_again_writes_nothing(server, wish):
    capi = await launched(Capi, server, wish)
    await head_runs(server, OLD)
    await capi.upgrade(to(wish), ATTEMPT, UID)
    server.transport.asked.clear()
    await capi.upgrade(to(wish), ATTEMPT, UID)
    assert not [each for each in server.transport.asked if not each.startswith("GET")]


async def test_a_topology_is_told_in_one_field_and_keeps_its_own_order(server, wish):
    await server.create(CLUSTERCLASSES, cluster_class())
    capi = await launched(Capi, server, wish)
    before = (await server.get(CLUSTERS, NAME, "default"))["spec"]
    await machine(server, 1, OLD)
    assert await capi.upgrade(to(wish), ATTEMPT, UID) == "0 of 1 machines run v1.35.0"
    after = (await server.get(CLUSTERS, NAME, "default"))["spec"]
    assert after == before | {"topology": before["topology"] | {"version": NEW}}


@pytest.mark.parametrize(("has", "way"), [("v1.36.1", "never goes down"), ("v1.33.0", "ask for a v1.34 first")])
async def test_an_adopted_topology_is_told_nothing_that_cannot_follow_what_it_has(server, wish, has, way):
    topology = {"classRef": {"name": "x"}, "version": has}
    meta = {"name": "theirs", "namespace": "default", "labels": {"alate.dev/uid": UID}}
    await server.create(CLUSTERS, {"metadata": meta, "spec": {"topology": topology}})
    with pytest.raises(Denied, match=way):
        await Capi(server).upgrade(to(wish), ADOPTED, UID)
    assert (await server.get(CLUSTERS, "theirs", "default"))["spec"]["topology"]["version"] == has


async def test_an_adopted_cluster_without_a_topology_says_where_its_version_is(server, wish):
    meta = {"name": "theirs", "namespace": "default", "labels": {"alate.dev/uid": UID}}
    await server.create(CLUSTERS, {"metadata": meta, "spec": {"paused": False}})
    with pytest.raises(Denied, match="set it there"):
        await Capi(server).upgrade(to(wish), ADOPTED, UID)


async def test_a_template_that_says_no_version_is_told_in_one_sentence(server, wish):
    capi = await launched(Capi, server, wish)
    await template_with(server, "${KUBERNETES_VERSION}", OLD)
    with pytest.raises(Denied, match=r"does not mention \$\{KUBERNETES_VERSION\}"):
        await capi.upgrade(to(wish), ATTEMPT, UID)


async def test_what_machines_are_made_from_is_never_changed(server, wish):
    capi = await launched(Capi, server, wish)
    await template_with(
        server, "{backend: {inMemory: {}}}", '{metadata: {annotations: {image: "${KUBERNETES_VERSION}"}}}'
    )
    with pytest.raises(Denied, match="in a DevMachineTemplate, which cannot change once it is there: leave it out"):
        await capi.upgrade(to(wish), ATTEMPT, UID)
    assert await versions(server) == (OLD, OLD)


@pytest.mark.parametrize("kind", [Capi, K0rdent])
async def test_what_is_not_there_or_another_incarnations_is_not_touched(server, wish, kind):
    made = await launched(kind, server, wish)
    with pytest.raises(NotFound):
        await made.upgrade(to(msgspec.structs.replace(wish, cluster="b")), ATTEMPT, UID)
    with pytest.raises(Denied, match="not ours"):
        await made.upgrade(to(wish), ATTEMPT, "u9.9")


async def able(server, *templates):
    await server.patch(
        CLUSTERDEPLOYMENTS, NAME, "default", {"status": {"availableUpgrades": list(templates)}}, subresource="status"
    )


async def template_of(server):
    return (await server.get(CLUSTERDEPLOYMENTS, NAME, "default"))["spec"]["template"]


async def test_k0rdent_gets_a_template_that_it_says_may_follow(server, wish):
    k0rdent = await launched(K0rdent, server, wish)
    await able(server, "aws-standalone-cp-1-0-44", "gone-1-0-0")
    with pytest.raises(NotFound):  # its Cluster: nothing makes one here
        await k0rdent.upgrade(to(wish), ATTEMPT, UID)
    assert await template_of(server) == "aws-standalone-cp-1-0-44"


@pytest.mark.parametrize("fault", ["not named", "not valid", "another version"])
async def test_k0rdent_gets_no_other_template(server, wish, fault):
    k0rdent = await launched(K0rdent, server, wish)
    status = {"not valid": {"valid": False}, "another version": {"k8sVersion": "v1.35.1"}}
    if fault in status:
        await able(server, "aws-standalone-cp-1-0-44")
        await server.patch(
            CLUSTERTEMPLATES, "aws-standalone-cp-1-0-44", "default", {"status": status[fault]}, subresource="status"
        )
    with pytest.raises(
        Denied, match=r"no valid ClusterTemplate with Kubernetes v1\.35\.0 may follow aws-standalone-cp"
    ):
        await k0rdent.upgrade(to(wish), ATTEMPT, UID)
    assert await template_of(server) == "aws-standalone-cp-1-0-43"


async def test_a_version_that_a_config_names_is_set_there_and_no_template_changes_it(server, wish):
    k0rdent = await launched(K0rdent, server, wish)
    await able(server, "aws-standalone-cp-1-0-44")
    await config_names(server, OLD + "+k0s.0")
    told = r"names v1\.34\.0 as k0s\.version: set that to v1\.35\.0 there, or take it out"
    with pytest.raises(Denied, match=told):
        await k0rdent.upgrade(to(wish), ATTEMPT, UID)
    await config_names(server, NEW + "+k0s.0")
    with pytest.raises(NotFound):  # its Cluster: nothing makes one here
        await k0rdent.upgrade(to(wish), ATTEMPT, UID)
    assert await template_of(server) == "aws-standalone-cp-1-0-43"


async def config_names(server, version):
    config = {"spec": {"config": {"k0s": {"version": version}}}}
    await server.patch(CLUSTERDEPLOYMENTS, NAME, "default", config)


async def test_k0rdent_founds_in_the_version_that_is_asked_for_where_a_template_has_it(server, wish):
    await K0rdent(server).launch(to(wish), ATTEMPT, UID)
    assert await template_of(server) == "aws-standalone-cp-1-0-44"


@pytest.mark.parametrize(("version", "founds"), [("v1.34.7", True), ("v1.33.0", False), ("v1.99.0", False)])
async def test_k0rdent_founds_in_the_minor_version_asked_for_or_says_what_there_is(server, wish, version, founds):
    if founds:
        assert "aws" in await K0rdent(server).reach(to(wish, version))
        return
    there = rf"no ClusterTemplate with Kubernetes {version}, only with v1\.34\.0, v1\.35\.0: ask for one of these"
    with pytest.raises(Denied, match=there):
        await K0rdent(server).reach(to(wish, version))


async def test_a_template_that_is_named_brings_its_version(server, wish):
    need = msgspec.structs.replace(wish.need, kubernetes_version="v1.33.0", template="aws-standalone-cp-1-0-43")
    assert await K0rdent(server).reach(msgspec.structs.replace(wish, need=need)) == {"aws": True}


async def test_machines_and_control_planes_of_v1beta1_are_read_as_well(server, wish):
    capi = await launched(Capi, server, wish)
    await head_runs(server, NEW + "+k0s.0")
    ref = {"apiVersion": "controlplane.cluster.x-k8s.io/v1beta1", "kind": "KubeadmControlPlane", "name": NAME}
    await server.patch(CLUSTERS, NAME, "default", {"spec": {"controlPlaneRef": ref | {"apiGroup": None}}})
    await machine(server, 1, NEW + "+k0s.0")
    assert await capi.upgrade(to(wish), ATTEMPT, UID) == ""
