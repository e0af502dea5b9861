"""A cluster's ranges of addresses are taken as they are written, and refused with what would be right."""

import pytest

from schemas.crds import InvalidResource, read_colony

PODS, SERVICES = "10.244.0.0/16", "10.96.0.0/12"
AT = "spec.clusters[0].network"


def refusal(written):
    with pytest.raises(InvalidResource) as refused:
        read_colony(written)
    return str(refused.value)


@pytest.fixture
def network(written, cluster):
    cluster["network"] = {"pods": [PODS], "services": [SERVICES]}
    return cluster["network"]


@pytest.mark.parametrize("pods", [[PODS], [PODS, "fd01::/64"], ["fd01::/64", PODS]])
def test_a_range_or_one_of_each_family_is_taken(written, network, pods):
    network["pods"] = pods
    assert read_colony(written).spec.clusters[0].network.pods == pods


@pytest.mark.parametrize(
    ("pods", "sentence"),
    [
        ([], ".pods: must not be empty"),
        (["everything"], '.pods[0] is "everything": must be a range of addresses such as 10.244.0.0/16'),
        (["10.0.0.0"], '.pods[0] is "10.0.0.0": must be a range of addresses such as 10.244.0.0/16'),
        (
            ["10.0.0.0/255.0.0.0"],
            '.pods[0] is "10.0.0.0/255.0.0.0": must be a range of addresses such as 10.244.0.0/16',
        ),
        (["10.0.0.0/33"], '.pods[0] is "10.0.0.0/33": must be a range of addresses such as 10.244.0.0/16'),
        (["10.244.1.0/16"], '.pods[0] is "10.244.1.0/16": must begin where its range does: 10.244.0.0/16'),
        (["10.0.0.0/16", "10.1.0.0/16"], ".pods: must hold one range, or one of IPv4 with one of IPv6"),
        (["10.0.0.0/8"], ": pods 10.0.0.0/8 and services 10.96.0.0/12 share addresses: must be apart"),
    ],
)
def test_what_no_cluster_could_have_is_refused_with_what_would_be_right(written, network, pods, sentence):
    network["pods"] = pods
    assert refusal(written) == f"{AT}{sentence}"


def test_one_without_the_other_is_refused(written, network):
    del network["services"]
    assert refusal(written) == f"{AT}.services is missing: must be given"


def test_an_adopted_cluster_has_its_network_already(written, cluster, network):
    assert network
    cluster["adopt"] = {"name": "theirs"}
    assert refusal(written) == "spec.clusters[0]: network is what the adopted cluster has already: must be left out"
