"""Machines and clusters that were there before exalsius are carried over, with what is to be done for them once."""

import json
import shlex
from copy import deepcopy

import msgspec
import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from schemas.crds import InvalidResource, read_colony
from services.cli.migrate.exalsius import converted
from services.cli.migrate.places import OR_SAID, UNTOLD, WHY, Accelerators, steps
from services.clouds.claims import machines_offered_as
from services.market.catalog_parser import parse
from tests.samples import LOT

MACHINES = [{"address": "10.0.0.7", "user": "ubuntu", "useSudo": True}, {"address": "10.0.0.8", "port": 2222}]
REMOTE = {
    "template": "remote-cluster-1-0-38",
    "credential": "rack",
    "propagateCredentials": False,
    "config": {"machines": MACHINES, "clusterNetwork": {"pods": {"cidrBlocks": ["10.8.0.0/14"]}}},
}
ADOPTED = {"template": "adopted-cluster-1-0-2", "credential": "basement", "config": {}}
EIGHT = Accelerators("H100", 8)


def theirs(*specs, **offerings):
    """A Colony of these clusters, and what was found on them."""
    return {
        "metadata": {"name": "research", "namespace": "acme"},
        "spec": {
            "colonyClusters": [
                {"clusterName": f"c{place}", "clusterDeploymentSpec": spec} for place, spec in enumerate(specs)
            ]
        },
        "status": {"gpuInventory": {f"research-{name}": {"offerings": each} for name, each in offerings.items()}},
    }


def gpus(model="NVIDIA-H100-80GB-HBM3", total=16, nodes=2):
    return {"model": model, "total": total, "nodes": nodes}


def test_machines_of_ones_own_are_a_place_that_is_called_as_their_credential():
    found = converted(theirs(REMOTE), {}, EIGHT)
    (cluster,) = read_colony(found.colony).spec.clusters
    (pool,) = cluster.pools
    assert (pool.accelerator, pool.accelerators_per_node, pool.nodes, pool.spot) == ("H100", 8, 2, "never")
    assert (cluster.clouds, cluster.backend, cluster.template) == (["rack"], "k0rdent", "remote-cluster-1-0-38")
    assert cluster.network.pods == ["10.8.0.0/14"]
    assert (found.left, found.lost) == ((), ())


def test_what_exalsius_found_on_them_goes_before_nothing_and_what_a_person_says_before_that():
    colony = theirs(REMOTE, c0=[gpus(total=8)])
    assert converted(colony, {}).colony["spec"]["clusters"][0]["pools"][0]["acceleratorsPerNode"] == 4
    assert converted(colony, {}, EIGHT).colony["spec"]["clusters"][0]["pools"][0]["acceleratorsPerNode"] == 8


def test_a_cluster_that_stands_already_is_lent_whole():
    found = converted(theirs(ADOPTED, c0=[gpus()]), {})
    (cluster,) = found.colony["spec"]["clusters"]
    assert (cluster["clouds"], cluster["pools"][0]["nodes"]) == (["basement"], 2)
    assert [place.config for place in found.places] == [{"pool": "research-c0"}]


@pytest.mark.parametrize(
    "offerings", [[], [gpus(), gpus("NVIDIA-L4")], [gpus("RADEON")], [gpus(total=15)], [gpus(total="?")]]
)
def test_where_nobody_tells_what_accelerators_there_are_it_says_who_could(offerings):
    for spec, way in ((REMOTE, OR_SAID), (ADOPTED, "")):
        (lost,) = converted(theirs(spec, c0=offerings), {}).lost
        assert lost.why == UNTOLD + way


@pytest.mark.parametrize(
    ("less", "path"),
    [
        ({"credential": None}, "credential"),
        ({"config": {}}, "config.machines"),
        ({"config": {"machines": [{"port": 22}]}}, "config.machines"),
    ],
)
def test_one_without_a_way_in_is_told(less, path):
    (lost,) = converted(theirs(REMOTE | less), {}, EIGHT).lost
    assert lost.path == f"spec.colonyClusters[0].clusterDeploymentSpec.{path}"


def test_what_is_lost_of_them_has_reasons_of_its_own():
    odd = deepcopy(REMOTE) | {"propagateCredentials": True, "cleanupOnDeletion": False}
    odd["config"]["controlPlaneNumber"] = 3
    assert {each.why for each in converted(theirs(odd), {}, EIGHT).left} == set(WHY.values())


def test_what_is_to_be_done_once_is_what_the_back_end_and_the_market_read():
    other = REMOTE | {"config": {"machines": [{"address": "10.0.0.9"}]}}
    found = converted(theirs(REMOTE, other), {}, EIGHT)
    catalog, label, annotate, known = steps(found.places)
    name, _, text = catalog.removeprefix("write a catalog ").partition(": ")
    assert name == "rack.yaml"
    offers = parse("rack", text.encode(), ".yaml").offers
    assert [(offer.instance, offer.limit, offer.price) for offer in offers] == [
        ("research-c0", 2, 0.0), ("research-c1", 1, 0.0),
    ]  # fmt: skip
    assert known == "add rack.yaml to what ALATE_CATALOG names for the inventory, and start that anew"
    assert label == "kubectl -n acme label credential rack alate.dev/cloud=rack"
    _, _, config = shlex.split(annotate)[-1].partition("=")
    (bought,) = (msgspec.structs.replace(LOT, instance=offer.instance) for offer in offers[:1])
    assert machines_offered_as(yaml.safe_load(config), bought) == [each | {"pool": "research-c0"} for each in MACHINES]


ANY = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
)
WHERE = (
    "metadata",
    "status",
    "spec/colonyClusters/0/clusterDeploymentSpec/credential",
    "status/gpuInventory/research-c0",
)
WITHIN = ("config", "config/machines", "config/clusterNetwork", "config/machines/0")


@given(
    at=st.sampled_from((*WHERE, *(f"spec/colonyClusters/0/clusterDeploymentSpec/{each}" for each in WITHIN))),
    nonsense=ANY,
)
def test_nonsense_is_told_or_refused_and_never_crashes(at, nonsense):
    colony = deepcopy(theirs(REMOTE, c0=[gpus()]))
    holder, names = colony, at.split("/")
    for name in names[:-1]:
        holder = holder[int(name) if isinstance(holder, list) else name]
    holder[int(names[-1]) if isinstance(holder, list) else names[-1]] = nonsense
    try:
        found = converted(colony, {})
    except InvalidResource:
        return
    assert found.lost or found.colony is not None
    json.dumps(list(steps(found.places)))
