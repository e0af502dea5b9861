"""Minimal CRDs of Cluster API and k0rdent: known names, a status subresource, no schema within."""

from typing import NamedTuple

from events.kube.client import Object, Resource
from events.kube.resources import (
    CLUSTERCLASSES,
    CLUSTERDEPLOYMENTS,
    CLUSTERS,
    CLUSTERTEMPLATES,
    CREDENTIALS,
    MACHINEDEPLOYMENTS,
    MACHINEHEALTHCHECKS,
    MACHINES,
    MACHINESETS,
)
from services.sandbox.clouds.model.annotations import CONTROLPLANES, DEVCLUSTERS

INFRA, BOOTSTRAP, CONTROL = (f"{part}.cluster.x-k8s.io" for part in ("infrastructure", "bootstrap", "controlplane"))
OPEN: Object = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
SCALED = (MACHINEDEPLOYMENTS, MACHINESETS, CONTROLPLANES)


class SeedColumn(NamedTuple):
    """One more column of ``kubectl get``."""

    name: str
    path: str
    type: str = "string"


AVAILABLE = SeedColumn("Available", '.status.conditions[?(@.type=="Available")].status')
READY = SeedColumn("Ready", '.status.conditions[?(@.type=="Ready")].status')
PHASE = SeedColumn("Phase", ".status.phase")
REPLICAS = SeedColumn("Replicas", ".status.replicas", "integer")

KINDS: dict[Resource, tuple[SeedColumn, ...]] = {
    CLUSTERS: (AVAILABLE, PHASE),
    CLUSTERCLASSES: (),
    MACHINEDEPLOYMENTS: (SeedColumn("Cluster", ".spec.clusterName"), AVAILABLE, REPLICAS, PHASE),
    MACHINESETS: (SeedColumn("Cluster", ".spec.clusterName"), REPLICAS),
    MACHINES: (SeedColumn("Cluster", ".spec.clusterName"), READY, PHASE),
    MACHINEHEALTHCHECKS: (SeedColumn("Cluster", ".spec.clusterName"),),
    CONTROLPLANES: (AVAILABLE, REPLICAS),
    DEVCLUSTERS: (),
    Resource(CONTROL, "v1beta2", "kubeadmcontrolplanetemplates", "KubeadmControlPlaneTemplate"): (),
    Resource(INFRA, "v1beta2", "devmachinetemplates", "DevMachineTemplate"): (),
    Resource(INFRA, "v1beta2", "awsclusters", "AWSCluster"): (),
    Resource(INFRA, "v1beta2", "awsmachinetemplates", "AWSMachineTemplate"): (),
    Resource(BOOTSTRAP, "v1beta2", "kubeadmconfigtemplates", "KubeadmConfigTemplate"): (),
    CLUSTERDEPLOYMENTS: (
        READY,
        SeedColumn("Template", ".spec.template"),
        SeedColumn("DryRun", ".spec.dryRun", "boolean"),
    ),
    CLUSTERTEMPLATES: (SeedColumn("Valid", ".status.valid", "boolean"),),
    CREDENTIALS: (SeedColumn("Ready", ".status.ready", "boolean"),),
}
"""The kinds that are served, with their ``kubectl get`` columns."""


def definition(resource: Resource, columns: tuple[SeedColumn, ...]) -> Object:
    """The CustomResourceDefinition of one kind."""
    singular = resource.kind.lower()
    return {
        "metadata": {"name": f"{resource.plural}.{resource.group}"},
        "spec": {
            "group": resource.group,
            "names": {
                "kind": resource.kind,
                "listKind": f"{resource.kind}List",
                "plural": resource.plural,
                "singular": singular,
            },
            "scope": "Namespaced",
            "versions": [_version(resource, columns)],
        },
    }


def _version(resource: Resource, columns: tuple[SeedColumn, ...]) -> Object:
    age = SeedColumn("Age", ".metadata.creationTimestamp", "date")
    shown = [{"name": each.name, "jsonPath": each.path, "type": each.type} for each in (*columns, age)]
    subresources: Object = {"status": {}}
    if resource in SCALED:
        paths = {"specReplicasPath": ".spec.replicas", "statusReplicasPath": ".status.replicas"}
        subresources["scale"] = paths | {"labelSelectorPath": ".status.selector"}
    return {
        "name": resource.version,
        "served": True,
        "storage": True,
        "schema": {"openAPIV3Schema": {"type": "object", "properties": {"spec": OPEN, "status": OPEN}}},
        "subresources": subresources,
        "additionalPrinterColumns": shown,
    }


def definitions() -> list[Object]:
    """All definitions."""
    return [definition(resource, columns) for resource, columns in KINDS.items()]
