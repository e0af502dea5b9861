"""Labels of discovery tools become accelerators, and nodes get labels of ours."""

import re

import pytest

from schemas.accelerators import ACCELERATORS
from services.inventory.read.labels import MANAGER, OWN_PREFIX, PCI_MODELS, labels_of, no_labels, own_labels_of

GPU = "nvidia.com/gpu"
NFD = "feature.node.kubernetes.io/pci-"


def seen(make, labels, **offered):
    return make.only(make.book([make.node(gpus=None, labels=labels, allocatable=offered)], []))


def test_whole_gpus_are_told_with_model_memory_driver_and_source(make):
    devices = make.only(make.book([make.node()], [])).devices
    assert len(devices) == 8
    one = devices[0]
    assert (one.model, one.memory_mib, one.driver, one.source) == ("H100", 81559, "570.86.15", "gfd")
    assert (one.health, one.shares, one.mig) == ("healthy", 1, "")


def test_sharing_doubles_what_can_be_had_and_not_the_devices(make):
    labels = make.H100 | {
        f"{GPU}.product": "NVIDIA-H100-80GB-HBM3-SHARED",
        f"{GPU}.replicas": "2",
        f"{GPU}.sharing-strategy": "time-slicing",
    }
    node = seen(make, labels, **{GPU: "16"})
    assert (node.accelerators, len(node.devices), node.degraded) == (8, 8, ())
    assert node.models["H100"].allocatable == 16_000
    assert {(each.model, each.shares, each.sharing) for each in node.devices} == {("H100", 2, "time-slicing")}
    assert {each.health for each in node.devices} == {"healthy"}


def test_mig_as_if_whole_is_told_by_its_profile(make):
    labels = {
        f"{GPU}.product": "NVIDIA-A100-SXM4-40GB-MIG-1g.5gb",
        f"{GPU}.count": "7",
        f"{GPU}.memory": "4864",
        "nvidia.com/mig.strategy": "single",
    }
    node = seen(make, labels, **{GPU: "7"})
    assert node.models.keys() == {"A100 1g.5gb"}
    assert {(each.model, each.mig, each.memory_mib) for each in node.devices} == {("A100", "1g.5gb", 4864)}


def test_mixed_mig_is_told_profile_by_profile_beside_whole_gpus(make):
    labels = make.H100 | {
        f"{GPU}.count": "6",
        "nvidia.com/mig.strategy": "mixed",
        "nvidia.com/mig-1g.10gb.count": "7",
        "nvidia.com/mig-1g.10gb.memory": "9728",
        "nvidia.com/mig-3g.40gb.count": "2",
    }
    offered = {GPU: "6", "nvidia.com/mig-1g.10gb": "7", "nvidia.com/mig-3g.40gb": "2"}
    node = seen(make, labels, **offered)
    assert {model: each.allocatable for model, each in node.models.items()} == {
        "H100": 6000,
        "H100 1g.10gb": 7000,
        "H100 3g.40gb": 2000,
    }
    assert len(node.devices) == 15
    assert node.degraded == ()


def test_mixed_mig_enabled_and_disabled_is_one_clear_condition(make):
    labels = {
        f"{GPU}.product": "NVIDIA-H100-80GB-HBM3-MIG-INVALID",
        f"{GPU}.count": "0",
        f"{GPU}.replicas": "0",
        f"{GPU}.memory": "0",
        "nvidia.com/mig.strategy": "single",
    }
    node = seen(make, labels, cpu="64")
    assert make.reasons(node) == ["MigInvalid"]
    assert node.resources["cpu"].allocatable == 64000


def test_amd_labels_with_one_value_speak_of_every_device(make):
    labels = {
        "amd.com/gpu.product-name": "AMD_Instinct_MI300X_OAM",
        "amd.com/gpu.device-id": "74a1",
        "amd.com/gpu.vram": "192G",
        "amd.com/gpu.driver-version": "6.10.5",
        "amd.com/gpu.compute-memory-partition": "spx_nps1",
    }
    node = seen(make, labels, **{"amd.com/gpu": "8"})
    assert len(node.devices) == 8
    one = node.devices[0]
    assert (one.source, one.memory_mib, one.driver, one.partition) == ("amd", 192 * 1024, "6.10.5", "spx_nps1")
    assert one.product == "AMD_Instinct_MI300X_OAM"


def test_amd_labels_with_several_values_count_each(make):
    labels = {"amd.com/gpu.product-name.MI300X": "6", "amd.com/gpu.product-name.MI210": "2"}
    node = seen(make, labels, **{"amd.com/gpu": "8"})
    assert sorted(each.product for each in node.devices) == ["MI210"] * 2 + ["MI300X"] * 6
    assert len(next(iter(node.models)).split(" + ")) == 2


def test_every_model_known_by_its_pci_id_has_a_canonical_name():
    assert set(PCI_MODELS.values()) <= set(ACCELERATORS)


@pytest.mark.parametrize(
    ("label", "model"),
    [
        ("0302_10de_2330", "H100"),
        ("0302_10de_20b2", "A100-80GB"),
        ("0302_10de_ffff", "10de:ffff"),
        ("0302_10de", "10de:unknown"),
        ("1200_1002_74a1", "MI300X"),
        ("1200_1002_74b9", "1002:74b9"),
    ],
)
def test_a_device_known_by_its_pci_id_alone_is_never_dropped(make, label, model):
    name = "amd.com/gpu" if "1002" in label else GPU
    node = seen(make, {f"{NFD}{label}.present": "true"}, **{name: "2"})
    assert [(each.model, each.source) for each in node.devices] == [(model, "pci")] * 2


def test_a_device_that_no_plugin_offers_is_a_readable_reason(make):
    node = seen(make, {f"{NFD}0302_10de.present": "true"}, cpu="4")
    assert make.reasons(node) == ["NoDevicePlugin"]
    assert (len(node.devices), node.accelerators) == (1, 0)


def test_what_nothing_tells_of_is_still_counted(make):
    node = seen(make, {}, **{GPU: "4", "nvidia.com/mig-1g.10gb": "2"})
    assert {model: each.allocatable for model, each in node.models.items()} == {
        "nvidia:unknown": 4000,
        "nvidia:unknown 1g.10gb": 2000,
    }
    assert {each.source for each in node.devices} == {"allocatable"}


def test_an_unknown_product_keeps_its_name(make):
    node = seen(make, {f"{GPU}.product": "NVIDIA-Z900", f"{GPU}.count": "1"}, **{GPU: "1"})
    assert node.accelerator == "nvidia:NVIDIA-Z900"


def test_what_kubelets_know_of_a_device_names_it_and_its_holder(make):
    pod = make.pod("train", gpu=1)
    known = [{"name": GPU, "resources": [{"resourceID": "GPU-77", "health": "Unhealthy"}]}]
    pod["status"]["containerStatuses"] = [{"name": "c", "allocatedResourcesStatus": known}]
    node = make.only(make.book([make.node()], [pod]))
    assert [(each.id, each.health, each.allocated_to) for each in node.devices[:2]] == [
        ("GPU-77", "unhealthy", ("default/train",)),
        ("1", "healthy", ()),
    ]


VALID = re.compile(r"[A-Za-z0-9]([A-Za-z0-9_.-]{0,61}[A-Za-z0-9])?")
MIXED = {"nvidia.com/mig.strategy": "mixed", "nvidia.com/mig-1g.10gb.count": "2"}


def labelled(make, **node):
    return make.only(make.book([make.node("n1", **node)]))


def test_a_node_of_one_model_says_its_name_number_memory_and_who_told_of_it(make):
    assert labels_of(labelled(make)) == {
        "alate.dev/accelerator": "H100",
        "alate.dev/accelerator-count": "8",
        "alate.dev/accelerator-memory-mib": "81559",
        "alate.dev/accelerator-source": "gfd",
        "alate.dev/accelerator.H100": "8",
    }


def test_a_node_of_several_models_says_how_many_of_each_and_no_single_name(make):
    node = labelled(make, labels=make.H100 | MIXED, allocatable={"nvidia.com/mig-1g.10gb": "2"})
    assert labels_of(node) == {"alate.dev/accelerator.H100": "8", "alate.dev/accelerator.H100-1g.10gb": "2"}


def test_a_node_without_accelerators_bears_nothing(make):
    assert labels_of(labelled(make, gpus=None, labels={})) == {}


def test_where_labelling_is_off_nothing_is_wanted(make):
    assert no_labels(labelled(make)) == {}


@pytest.mark.parametrize("product", ["", "Some: odd+name (64GB)", "x" * 200, "é"])
def test_whatever_a_model_is_called_the_labels_are_ones_that_kubernetes_takes(make, product):
    for key, value in labels_of(labelled(make, labels={f"{make.GPU}.product": product})).items():
        assert VALID.fullmatch(key.removeprefix(OWN_PREFIX))
        assert VALID.fullmatch(value)


def test_ours_are_those_our_field_manager_owns_whatever_prefix_others_use(make):
    node = make.node("n1", labels={"alate.dev/accelerator": "H100", "alate.dev/team": "vision", "zone": "a"})
    fields = {"f:metadata": {"f:labels": {".": {}, "f:alate.dev/accelerator": {}}}}
    theirs = {"f:metadata": {"f:labels": {"f:alate.dev/team": {}, "f:zone": {}}}}
    node["metadata"]["managedFields"] = [
        {"manager": MANAGER, "operation": "Apply", "fieldsV1": fields},
        {"manager": "kubectl", "operation": "Update", "fieldsV1": theirs},
    ]
    assert own_labels_of(node) == {"alate.dev/accelerator": "H100"}
