"""However a template says how many nodes there are, that alone is what another size changes of it."""

import pytest

from schemas.placement import Attempt, Placement
from services.clouds.manifest_patches import size_patches
from tests.samples import LOT

ATTEMPT = Attempt(number=1, placement=Placement(cloud="aws", region="r", lots=(LOT,)))


def deployment(nodes):
    return {"kind": "MachineDeployment", "spec": {"replicas": nodes, "template": {"spec": {"version": "v1"}}}}


def topology(nodes):
    return {"kind": "Cluster", "spec": {"topology": {"workers": {"machineDeployments": [{"replicas": nodes}]}}}}


def annotated(nodes):
    return {"kind": "MachinePool", "metadata": {"annotations": {"max": str(nodes), "min": "0"}}, "spec": {}}


def control_plane(_):
    return {"kind": "KubeadmControlPlane", "spec": {"replicas": 1}}


@pytest.mark.parametrize(
    ("shape", "patch"),
    [
        (deployment, {"spec": {"replicas": 2}}),
        (topology, {"spec": {"topology": {"workers": {"machineDeployments": [{"replicas": 2}]}}}}),
        (annotated, {"metadata": {"annotations": {"max": "2"}}}),
    ],
)
def test_the_patch_says_the_number_of_nodes_and_nothing_else(shape, patch):
    def render(attempt):
        nodes = attempt.placement.lots[0].nodes
        return [control_plane(nodes), shape(nodes)]

    assert size_patches(render, ATTEMPT) == [(shape(2), patch)]


def test_a_template_that_does_not_say_it_has_nothing_to_patch():
    assert size_patches(lambda _: [control_plane(2)], ATTEMPT) == []
