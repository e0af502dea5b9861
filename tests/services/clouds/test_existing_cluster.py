"""What a cluster of others is made of is read off its object as it was written, and nothing is made up."""

import pytest

from events.errors import Denied, NotFound
from events.kube.resources import CLUSTERCLASSES, CLUSTERDEPLOYMENTS, CLUSTERS, CLUSTERTEMPLATES
from services.clouds.capi import Capi
from services.clouds.existing_cluster import ExistingCluster, ExistingPool, read_cluster, read_deployment
from services.clouds.k0rdent import K0rdent
from services.kubernetes.labels import CLUSTER
from services.sandbox.clouds.model.annotations import CONTROLPLANES
from tests.samples import cluster_class


@pytest.mark.parametrize(
    ("cloud", "config", "expected"),
    [
        (
            "aws",
            {"region": "r", "workersNumber": 3, "worker": {"instanceType": "x8", "spotMarketOptions": {}}},
            ExistingCluster("aws", "r", (ExistingPool("", 3, "x8", spot=True),)),
        ),
        (
            "azure",
            {"location": "r", "worker": {"vmSize": "x8", "zone": "2"}},
            ExistingCluster("azure", "r", (ExistingPool("", 2, "x8", "2"),)),
        ),
        (
            "gcp",
            {"region": "r", "worker": {"instanceType": "x8", "provisioningModel": "Standard"}},
            ExistingCluster("gcp", "r", (ExistingPool("", 2, "x8"),)),
        ),
        (
            "rack",
            {"machines": [{"address": "a"}, {"address": "b"}], "clusterAnnotations": {"alate.dev/instance": "dgx"}},
            ExistingCluster("rack", "", (ExistingPool("", 2, "dgx"),)),
        ),
        ("", {}, ExistingCluster()),
    ],
)
def test_a_deployment_tells_it_in_the_values_of_its_template(cloud, config, expected):
    assert read_deployment(config, cloud) == expected


def test_a_topology_tells_it_by_pool_in_its_variables():
    pools = [
        {"name": "a", "replicas": 3, "failureDomain": "z1", "variables": {"overrides": [variable("spot", value=True)]}},
        {"name": "b", "variables": {"overrides": [variable("instanceType", value="y4")]}},
    ]
    variables = [variable("region", value="r"), variable("instanceType", value="x8"), variable("spot", value="false")]
    topology = {"version": "v1.33.1+k3s1", "variables": variables, "workers": {"machineDeployments": pools}}
    told = ExistingCluster(
        "aws", "r", (ExistingPool("a", 3, "x8", "z1", spot=True), ExistingPool("b", 1, "y4")), version="v1.33.1"
    )
    assert read_cluster({"spec": {"topology": topology}}, "aws") == told


def variable(name, *, value):
    return {"name": name, "value": value}


def test_a_cluster_without_a_topology_tells_how_many_workers_it_wants_at_most():
    assert read_cluster({"spec": {}}, "dev") == ExistingCluster("dev")
    assert read_cluster({"spec": {}, "status": {"workers": {"desiredReplicas": 4}}}, "dev") == ExistingCluster(
        "dev", nodes=4
    )


def named(spec):
    return {"metadata": {"name": "theirs", "namespace": "default"}, "spec": spec}


@pytest.mark.parametrize(
    ("template", "credential", "cloud"),
    [("aws-standalone-cp-1-0-43", "none", "aws"), ("none", "gcp-credential", "gcp"), ("none", "none", "")],
)
async def test_the_cloud_of_a_deployment_is_that_of_its_template_or_credential(server, template, credential, cloud):
    spec = {"template": template, "credential": credential, "config": {"region": "r"}}
    await server.create(CLUSTERDEPLOYMENTS, named(spec))
    assert (await K0rdent(server).read_existing("default", "theirs")).cloud == cloud


@pytest.mark.parametrize(
    ("template", "config", "version"),
    [
        ("aws-standalone-cp-1-0-44", {}, "v1.35.0"),
        ("aws-standalone-cp-1-0-44", {"k0s": {"version": "v1.33.5+k0s.0"}}, "v1.33.5"),
        ("shipped", {}, "v1.32.8"),
        ("none", {}, ""),
    ],
    ids=["its template's", "its config's", "that of its template's values", "nobody's"],
)
async def test_the_version_of_a_deployment_is_what_its_config_or_template_names(server, template, config, version):
    await server.create(CLUSTERTEMPLATES, {"metadata": {"name": "shipped", "namespace": "default"}})
    values = {"status": {"config": {"k0s": {"version": "1.32.8+k0s.0"}}}}
    await server.patch(CLUSTERTEMPLATES, "shipped", "default", values, subresource="status")
    await server.create(CLUSTERDEPLOYMENTS, named({"template": template, "config": config}))
    assert (await K0rdent(server).read_existing("default", "theirs")).version == version


async def test_the_version_of_a_cluster_without_a_topology_is_its_control_planes(server):
    kind = {"apiGroup": "controlplane.cluster.x-k8s.io", "kind": "KubeadmControlPlane", "name": "theirs"}
    await server.create(CLUSTERS, named({"controlPlaneRef": kind}))
    assert (await Capi(server).read_existing("default", "theirs")).version == ""
    await server.create(CONTROLPLANES, named({}))
    runs = {"status": {"version": "v1.33.1+k0s.0"}}
    await server.patch(CONTROLPLANES, "theirs", "default", runs, subresource="status")
    assert (await Capi(server).read_existing("default", "theirs")).version == "v1.33.1"


async def test_a_dry_run_is_no_cluster(server):
    await server.create(CLUSTERDEPLOYMENTS, named({"template": "any", "dryRun": True}))
    with pytest.raises(Denied, match="ClusterDeployment theirs is a dry run: there is no cluster to adopt"):
        await K0rdent(server).read_existing("default", "theirs")


async def test_the_cloud_of_a_cluster_is_that_of_its_class_or_infrastructure(server):
    await server.create(CLUSTERCLASSES, cluster_class())
    await server.create(CLUSTERS, named({"topology": {"classRef": {"name": "gpus"}, "version": "v1.34.0"}}))
    assert (await Capi(server).read_existing("default", "theirs")).cloud == "aws"
    await server.delete(CLUSTERS, "theirs", "default")
    kind = {"apiGroup": "infrastructure.cluster.x-k8s.io", "kind": "AWSManagedCluster", "name": "theirs"}
    await server.create(CLUSTERS, named({"infrastructureRef": kind}))
    assert (await Capi(server).read_existing("default", "theirs")).cloud == "aws"


@pytest.mark.parametrize("backend", [Capi, K0rdent])
async def test_what_is_being_deleted_does_not_stand_any_more(server, backend):
    going = named({"template": "any"} if backend is K0rdent else {})
    going["metadata"]["finalizers"] = ["a.b/c"]
    await server.create(backend.watched, going)
    await server.delete(backend.watched, "theirs", "default")
    with pytest.raises(NotFound, match=f"{backend.watched.kind} theirs is being deleted"):
        await backend(server).read_existing("default", "theirs")


@pytest.mark.parametrize("backend", [Capi, K0rdent])
async def test_whose_it_is_already_is_told_by_its_mark(server, backend):
    theirs = named({"template": "any"} if backend is K0rdent else {})
    await server.create(backend.watched, theirs)
    assert (await backend(server).read_existing("default", "theirs")).adopted_as == ""
    await server.patch(backend.watched, "theirs", "default", {"metadata": {"labels": {CLUSTER: "other-gpu"}}})
    assert (await backend(server).read_existing("default", "theirs")).adopted_as == "other-gpu"
