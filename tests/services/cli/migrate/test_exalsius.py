"""An exalsius Colony moves in: what founds the same clusters is carried over, everything else is told."""

import json
from copy import deepcopy

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from schemas.crds import InvalidResource, read_colony
from schemas.inventory import Offer
from services.cli.migrate.convert import show
from services.cli.migrate.exalsius import NO_WORD, WHY, converted, kinds
from services.cli.migrate.places import Accelerators
from services.errors import BadInput

MACHINES = {
    "aws": ("region", "instanceType", "p5.48xlarge", "rootVolumeSize"),
    "azure": ("location", "vmSize", "Standard_ND96isr_H100_v5", "rootVolumeSize"),
    "gcp": ("region", "instanceType", "a3-highgpu-8g", "rootDeviceSize"),
}
KNOWN = kinds(
    Offer(cloud=cloud, region="somewhere", instance=instance, accelerator="H100", accelerators=8, price=50.0)
    for cloud, (_, _, instance, _) in MACHINES.items()
)


def deployment(cloud="aws", **more):
    region, kind, instance, disk = MACHINES[cloud]
    config = {region: "us-east-1", "workersNumber": 4, "worker": {kind: instance, disk: 500}}
    fixed = {"dryRun": False, "propagateCredentials": True, "cleanupOnDeletion": True}
    return {"template": f"{cloud}-standalone-cp-1-0-43", "config": config | {"controlPlaneNumber": 1}, **fixed, **more}


def theirs(*specs, **of_cluster):
    clusters = [
        {"clusterName": f"c{place}", "clusterDeploymentSpec": spec, **of_cluster} for place, spec in enumerate(specs)
    ]
    meta = {"name": "research", "namespace": "acme", "labels": {"team": "vision"}, "uid": "1", "finalizers": ["theirs"]}
    return {
        "apiVersion": "infra.exalsius.ai/v1",
        "kind": "Colony",
        "metadata": meta,
        "spec": {"colonyClusters": clusters},
    }


@pytest.mark.parametrize("cloud", MACHINES)
def test_what_founds_the_same_cluster_is_carried_over(cloud):
    found = converted(theirs(deployment(cloud)), KNOWN)
    (cluster,) = read_colony(found.colony).spec.clusters
    (pool,) = cluster.pools
    assert (pool.accelerator, pool.accelerators_per_node, pool.nodes, pool.disk_gib) == ("H100", 8, 4, 500)
    assert (cluster.clouds, cluster.regions, cluster.backend) == ([cloud], ["us-east-1"], "k0rdent")
    assert cluster.template == f"{cloud}-standalone-cp-1-0-43"
    assert pool.spot == "never"  # none of k0rdent's own templates buys spot machines
    assert found.colony["metadata"] == {"name": "research", "namespace": "acme", "labels": {"team": "vision"}}
    assert (found.left, found.lost) == ((), ())


def test_its_addresses_are_carried_over_with_the_charts_own_beside_them():
    spec = deployment()
    spec["config"]["clusterNetwork"] = {"pods": {"cidrBlocks": ["10.8.0.0/14"]}}
    found = converted(theirs(spec), KNOWN)
    assert found.colony["spec"]["clusters"][0]["network"] == {"pods": ["10.8.0.0/14"], "services": ["10.96.0.0/12"]}
    assert found.left == ()


@pytest.mark.parametrize(
    ("more", "path", "why"),
    [
        ({"credential": "mine"}, "credential", WHY["clusterDeploymentSpec.credential"]),
        ({"cleanupOnDeletion": False}, "cleanupOnDeletion", WHY["clusterDeploymentSpec.cleanupOnDeletion"]),
        ({"dryRun": True}, "dryRun", WHY["clusterDeploymentSpec.dryRun"]),
        ({"serviceSpec": {"services": [{"name": "x"}]}}, "serviceSpec", WHY["clusterDeploymentSpec.serviceSpec"]),
        ({"ipamClaim": {"name": "x"}}, "ipamClaim.name", NO_WORD),
    ],
)
def test_what_cannot_be_carried_over_is_told_with_its_path(more, path, why):
    found = converted(theirs(deployment(**more)), KNOWN)
    assert [(each.path, each.why) for each in found.left] == [
        (f"spec.colonyClusters[0].clusterDeploymentSpec.{path}", why)
    ]
    assert found.colony is not None


def test_labels_of_a_cluster_are_told():
    (left,) = converted(theirs(deployment(), clusterLabels={"tier": "gold"}), KNOWN).left
    assert left.path == "spec.colonyClusters[0].clusterLabels"


@pytest.mark.parametrize(
    ("spec", "path", "why"),
    [
        ({"template": "docker-hosted-cp-1-0-15"}, "template", "is for none of aws, azure, gcp, machines of one's own"),
        ({}, "template", "it is missing"),
        ({"template": "aws-eks-1"}, "config.worker.instanceType", "nothing of aws is in no catalog"),
    ],
)
def test_a_cluster_that_cannot_be_carried_over_leaves_the_others_alone(spec, path, why):
    found = converted(theirs(spec, deployment()), KNOWN)
    (lost,) = found.lost
    assert lost.path == f"spec.colonyClusters[0].clusterDeploymentSpec.{path}"
    assert why in lost.why
    assert [each["name"] for each in found.colony["spec"]["clusters"]] == ["c1"]


def test_a_colony_without_clusters_is_told():
    (lost,) = converted(theirs(), KNOWN).lost
    assert (lost.path, lost.why) == ("spec.colonyClusters", "there are none")


def test_a_name_of_ours_is_too_short_for_theirs():
    colony = theirs(deployment())
    colony["metadata"]["name"] = "r" * 60
    with pytest.raises(InvalidResource, match="must have at most 50"):
        converted(colony, KNOWN)


ANY = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
)


@given(at=st.sampled_from(["metadata", "spec", "clusters", "cluster", "deployment", "config", "worker"]), nonsense=ANY)
def test_nonsense_is_told_or_refused_and_never_crashes(at, nonsense):
    colony = deepcopy(theirs(deployment()))
    cluster = colony["spec"]["colonyClusters"][0]
    spec = cluster["clusterDeploymentSpec"]
    places = {
        "metadata": (colony, "metadata"),
        "spec": (colony, "spec"),
        "clusters": (colony["spec"], "colonyClusters"),
        "cluster": (colony["spec"]["colonyClusters"], 0),
        "deployment": (cluster, "clusterDeploymentSpec"),
        "config": (spec, "config"),
        "worker": (spec["config"], "worker"),
    }
    holder, name = places[at]
    holder[name] = nonsense
    try:
        found = converted(colony, KNOWN)
    except InvalidResource:
        return
    assert found.lost or found.left or found.colony is not None


async def shown(tmp_path, colony, **how):
    (tmp_path / "theirs.yaml").write_text(yaml.safe_dump(colony))
    out, err = [], []
    whole = await show(tmp_path / "theirs.yaml", (), write=out.append, tell=err.append, **how)
    return whole, "".join(out), "".join(err)


async def test_ours_goes_to_standard_output_and_the_rest_beside_it(tmp_path):
    whole, out, err = await shown(tmp_path, theirs(deployment(credential="mine")), as_json=False)
    assert whole
    assert yaml.safe_load(out)["kind"] == "Colony"
    assert err == (
        "Colony research: left out: spec.colonyClusters[0].clusterDeploymentSpec.credential: "
        "a ready Credential of the same cloud is taken, whichever it is\n"
    )


async def test_one_without_a_name_is_told_by_its_place(tmp_path):
    _, _, err = await shown(tmp_path, theirs() | {"metadata": {}}, as_json=False)
    assert err == "Colony 1: cluster not carried over: spec.colonyClusters: there are none\n"


async def test_what_is_to_be_done_once_is_told_beside_it(tmp_path):
    machines = {"config": {"machines": [{"address": "10.0.0.7"}]}}
    remote = theirs({"template": "remote-cluster-1", "credential": "rack", **machines})
    whole, _, err = await shown(tmp_path, remote, given=Accelerators("H100", 8), as_json=False)
    assert whole
    assert [line.partition(" rack")[0] for line in err.splitlines()] == [
        "to do: write a catalog",
        "to do: kubectl -n acme label credential",
        "to do: kubectl -n acme annotate credential",
        "to do: add",
    ]


async def test_for_programs_all_is_one_document(tmp_path):
    whole, out, err = await shown(tmp_path, theirs({"template": "remote-cluster-1"}, deployment()), as_json=True)
    (colony,) = json.loads(out)["colonies"]
    assert (whole, err, len(colony["lost"]), colony["left"]) == (False, "", 1, [])


async def test_one_of_ours_is_not_taken_for_theirs(tmp_path):
    with pytest.raises(BadInput, match=r"alate\.dev/v1alpha1: must be of infra\.exalsius\.ai/v1"):
        await shown(tmp_path, theirs(deployment()) | {"apiVersion": "alate.dev/v1alpha1"}, as_json=False)
