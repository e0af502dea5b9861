"""An accelerator has one name, whoever speaks of it."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from schemas.accelerators import ACCELERATORS, canonical, nearest, resource


@pytest.mark.parametrize(
    ("said", "name"),
    [
        ("H100", "H100"),
        ("h100", "H100"),
        ("nvidia-h100", "H100"),
        ("H100-MEGA", "H100"),
        ("H100-SXM", "H100"),
        ("NVIDIA-H100-80GB-HBM3", "H100"),
        ("H100-NVL", "H100-NVL"),
        ("A100-80GB", "A100-80GB"),
        ("NVIDIA A100-SXM4-40GB", "A100"),
        ("Tesla-V100-SXM2-16GB", "V100"),
        ("NVIDIA GeForce RTX 4090", "RTX4090"),
        ("Tesla-P100-PCIE-16GB", "P100"),
        ("AMD Instinct MI300X OAM", "MI300X"),
    ],
)
def test_clouds_labels_and_people_mean_the_same(said, name):
    assert canonical(said) == name


@pytest.mark.parametrize("said", ["", "H1000", "nvidia", "TPU-v5", "A100-800GB"])
def test_what_is_not_in_the_table_is_unknown(said):
    assert canonical(said) is None


def test_no_name_is_claimed_twice():
    names = [name for canonical_name, others in ACCELERATORS.items() for name in (canonical_name, *others)]
    assert len(names) == len(set(names))
    for canonical_name, others in ACCELERATORS.items():
        assert {canonical(name) for name in (canonical_name, *others)} == {canonical_name}


def test_an_accelerator_is_counted_under_its_makers_name():
    assert [resource(name) for name in ("H100", "MI300X")] == ["nvidia.com/gpu", "amd.com/gpu"]


def test_the_nearest_names_come_best_first():
    assert nearest("rtx 409")[0] == "RTX4090"
    assert nearest("H300")[:2] == ("H200", "H100")


def test_names_of_the_same_make_go_before_others_that_are_as_much_alike():
    assert nearest("H1000") == ("H100", "H200", "H100-NVL")
    assert nearest("A100-800GB")[:2] == ("A100-80GB", "A100")
    assert nearest("B100")[0] == "B200"


def test_a_name_like_none_is_answered_with_all():
    assert nearest("zzz") == tuple(ACCELERATORS)


@given(st.text())
def test_any_text_is_either_known_or_has_something_near(said):
    assert canonical(said) in {*ACCELERATORS, None}
    assert set(nearest(said)) <= set(ACCELERATORS)
    assert nearest(said)
