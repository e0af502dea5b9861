"""Whoever buys a pool on the spot market gets spot machines, in the words of its provider; nobody else does."""

import msgspec
import pytest
import yaml

from events.kube.resources import CONFIGMAPS
from schemas.placement import Attempt, Placement
from services.clouds.capi import Capi
from services.clouds.cluster_templates import MACHINE_TEMPLATES, render, template_can_buy_spot, with_spot
from tests.samples import LOT

FIELDS = {
    "AWSMachineTemplate": {"spotMarketOptions": {}},
    "AzureMachineTemplate": {"spotVMOptions": {}},
    "GCPMachineTemplate": {"provisioningModel": "Spot"},
}
"""As the providers' own guides to spot machines have them."""
TEMPLATE = """\
apiVersion: cluster.x-k8s.io/v1beta2
kind: Cluster
metadata: {{name: "${{CLUSTER_NAME}}"}}
---
apiVersion: infrastructure.cluster.x-k8s.io/v1beta2
kind: {kind}
metadata: {{name: "${{CLUSTER_NAME}}-control-plane"}}
spec: {{template: {{spec: {{size: m}}}}}}
---
apiVersion: infrastructure.cluster.x-k8s.io/v1beta2
kind: {kind}
metadata: {{name: "${{CLUSTER_NAME}}-${{POOL}}"}}
spec: {{template: {{spec: {{size: xl}}}}}}
"""


def machines(kind, wish, **lot):
    """What the control plane's machines are made of, and a pool's."""
    lots = (msgspec.structs.replace(LOT, **lot),)
    attempt = Attempt(number=1, placement=Placement(cloud="aws", region="r", lots=lots))
    made = render(TEMPLATE.format(kind=kind), wish, attempt)
    return [each["spec"]["template"]["spec"] for each in made if each["kind"] == kind]


@pytest.mark.parametrize("kind", FIELDS)
def test_a_pool_on_spot_asks_for_it_and_the_control_plane_does_not(wish, kind):
    assert machines(kind, wish, spot=True) == [{"size": "m"}, {"size": "xl"} | FIELDS[kind]]
    assert machines(kind, wish, spot=False) == [{"size": "m"}, {"size": "xl"}]


def test_other_kinds_of_machines_are_left_as_they_are(wish):
    assert machines("DevMachineTemplate", wish, spot=True) == [{"size": "m"}, {"size": "xl"}]


def test_what_a_template_says_of_spot_machines_stays():
    spec = {"template": {"spec": {"spotMarketOptions": {"maxPrice": "9.5"}}}}
    assert with_spot({"kind": "AWSMachineTemplate", "spec": spec})["spec"] == spec


@pytest.mark.parametrize("kind", MACHINE_TEMPLATES)
def test_a_template_with_a_pools_machines_of_a_known_kind_sells_spot(kind):
    assert template_can_buy_spot(TEMPLATE.format(kind=kind))
    assert not template_can_buy_spot(TEMPLATE.format(kind=kind).replace("-${POOL}", "-workers"))


def test_one_that_only_refers_to_such_machines_sells_none():
    pool = {
        "kind": "MachineDeployment",
        "metadata": {"name": "${POOL}"},
        "spec": {"infra": {"kind": "AWSMachineTemplate"}},
    }
    assert not template_can_buy_spot(yaml.safe_dump(pool))
    assert template_can_buy_spot(yaml.safe_dump(pool | {"note": "${SPOT}"}))


async def test_a_namespace_with_such_a_template_template_can_buy_spot(server, wish):
    text = TEMPLATE.format(kind="AWSMachineTemplate")
    await server.patch(CONFIGMAPS, "alate-capi-aws", "default", {"data": {"cluster.yaml": text}})
    assert (await Capi(server).reach(wish))["aws"] is True
