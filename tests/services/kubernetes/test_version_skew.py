"""Kubernetes goes up, one minor version at a time; a distribution's own words at the end of a version do not count."""

import pytest

from services.kubernetes.version_skew import plain, same_minor, upgrade_refusal


@pytest.mark.parametrize("version", ["v1.34.2", "v1.34.2+k0s.0", "v1.34.2-k0s.1", "v1.34.2+rke2r1", "1.34.2"])
def test_what_a_distribution_adds_is_left_out(version):
    assert plain(version) == "v1.34.2"
    assert plain("") == ""


@pytest.mark.parametrize(("version", "same"), [("v1.34.9+k0s.0", True), ("1.34.0", True), ("v1.3.2", False)])
def test_a_patch_makes_no_other_minor_version(version, same):
    assert same_minor("v1.34.2", version) is same


@pytest.mark.parametrize("version", ["v1.34.2", "v1.34.10", "v1.35.0", "v1.35.9"])
def test_a_later_patch_and_the_next_minor_version_can_follow(version):
    assert upgrade_refusal("v1.34.2+k0s.0", "v1.34.2", version) == ""


@pytest.mark.parametrize("version", ["v1.34.1", "v1.33.9", "v1.9.0"])
def test_nothing_goes_down(version):
    assert upgrade_refusal("v1.34.2", "v1.34.2", version).startswith(
        "kubernetesVersion never goes down, and v1.34.2 is there"
    )


@pytest.mark.parametrize("version", ["v1.36.0", "v1.134.0", "v2.0.0"])
def test_no_minor_version_is_passed_over(version):
    told = "kubernetesVersion goes up one minor version at a time, and v1.34.2 runs: ask for a v1.35 first"
    assert upgrade_refusal("v1.34.2", "v1.34.2", version) == told


def test_what_is_on_its_way_counts_for_down_and_what_still_runs_for_up():
    assert upgrade_refusal("v1.34.2", "v1.35.1", "v1.35.0").startswith(
        "kubernetesVersion never goes down, and v1.35.1 is there"
    )
    assert upgrade_refusal("v1.34.2", "v1.35.1", "v1.35.2") == ""
    assert upgrade_refusal("v1.34.2", "v1.35.1", "v1.36.0").endswith("ask for v1.36.0 once all of it runs v1.35.1")
