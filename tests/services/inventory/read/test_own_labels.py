"""Labels name what a node has, in words that Kubernetes takes, and ours are told from everybody else's."""

import re

import pytest

from services.inventory.read.own_labels import MANAGER, PREFIX, borne, labels_of, no_labels

VALID = re.compile(r"[A-Za-z0-9]([A-Za-z0-9_.-]{0,61}[A-Za-z0-9])?")
MIXED = {"nvidia.com/mig.strategy": "mixed", "nvidia.com/mig-1g.10gb.count": "2"}


def seen(make, **node):
    return make.only(make.book([make.node("n1", **node)]))


def test_a_node_of_one_model_says_its_name_number_memory_and_who_told_of_it(make):
    assert labels_of(seen(make)) == {
        "alate.dev/accelerator": "H100",
        "alate.dev/accelerator-count": "8",
        "alate.dev/accelerator-memory-mib": "81559",
        "alate.dev/accelerator-source": "gfd",
        "alate.dev/accelerator.H100": "8",
    }


def test_a_node_of_several_models_says_how_many_of_each_and_no_single_name(make):
    node = seen(make, labels=make.H100 | MIXED, allocatable={"nvidia.com/mig-1g.10gb": "2"})
    assert labels_of(node) == {"alate.dev/accelerator.H100": "8", "alate.dev/accelerator.H100-1g.10gb": "2"}


def test_a_node_without_accelerators_bears_nothing(make):
    assert labels_of(seen(make, gpus=None, labels={})) == {}


def test_where_labelling_is_off_nothing_is_wanted(make):
    assert no_labels(seen(make)) == {}


@pytest.mark.parametrize("product", ["", "Some: odd+name (64GB)", "x" * 200, "é"])
def test_whatever_a_model_is_called_the_labels_are_ones_that_kubernetes_takes(make, product):
    for key, value in labels_of(seen(make, labels={f"{make.GPU}.product": product})).items():
        assert VALID.fullmatch(key.removeprefix(PREFIX))
        assert VALID.fullmatch(value)


def test_ours_are_those_our_field_manager_owns_whatever_prefix_others_use(make):
    node = make.node("n1", labels={"alate.dev/accelerator": "H100", "alate.dev/team": "vision", "zone": "a"})
    fields = {"f:metadata": {"f:labels": {".": {}, "f:alate.dev/accelerator": {}}}}
    theirs = {"f:metadata": {"f:labels": {"f:alate.dev/team": {}, "f:zone": {}}}}
    node["metadata"]["managedFields"] = [
        {"manager": MANAGER, "operation": "Apply", "fieldsV1": fields},
        {"manager": "kubectl", "operation": "Update", "fieldsV1": theirs},
    ]
    assert borne(node) == {"alate.dev/accelerator": "H100"}
