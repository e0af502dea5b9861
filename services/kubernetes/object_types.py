"""The fields of Kubernetes objects that are read, as types, so that a malformed object is found where it comes in."""

from typing import Any

import msgspec

from events.kube.port import Object

OptionalText = str | None
LabelMap = dict[str, str] | None
Quantities = dict[str, Any] | None
"""Each is parsed by itself: an invalid one is reported for that resource alone."""
ManagedFields = dict[str, Any] | None
"""Only the entry of our own field manager is read."""


class KubeStruct(msgspec.Struct, rename="camel"):
    """Fields that are not named here are not read; an optional field may be null as well."""


class Reference(KubeStruct):
    uid: OptionalText = None
    kind: OptionalText = None
    name: OptionalText = None
    resource: OptionalText = None


class ManagedFieldsEntry(KubeStruct):
    manager: OptionalText = None
    fields_v1: ManagedFields = None


class Meta(KubeStruct):
    name: str
    namespace: str = ""
    uid: str = ""
    labels: LabelMap = None
    annotations: LabelMap = None
    owner_references: list[Reference] | None = None
    managed_fields: list[ManagedFieldsEntry] | None = None


class StatusCondition(KubeStruct):
    type: str
    status: str
    reason: OptionalText = None


class NodeTaint(KubeStruct):
    key: str
    effect: str
    value: OptionalText = None


class NodeSpec(KubeStruct):
    unschedulable: bool | None = None
    taints: list[NodeTaint] | None = None


class NodeStatus(KubeStruct):
    capacity: Quantities = None
    allocatable: Quantities = None
    conditions: list[StatusCondition] | None = None


class NodeObject(KubeStruct):
    metadata: Meta
    spec: NodeSpec | None = None
    status: NodeStatus | None = None


class ResourceRequirements(KubeStruct):
    limits: Quantities = None
    requests: Quantities = None


class Container(KubeStruct):
    name: str
    resources: ResourceRequirements | None = None
    restart_policy: OptionalText = None


class SelectorRequirement(KubeStruct):
    key: str
    operator: str
    values: list[str] | None = None


class SelectorTerm(KubeStruct):
    match_expressions: list[SelectorRequirement] | None = None
    match_fields: list[SelectorRequirement] | None = None


class Selector(KubeStruct):
    node_selector_terms: list[SelectorTerm] | None = None


class NodeAffinity(KubeStruct):
    required_during_scheduling_ignored_during_execution: Selector | None = None


class Affinity(KubeStruct):
    node_affinity: NodeAffinity | None = None


class Toleration(KubeStruct):
    key: OptionalText = None
    operator: OptionalText = None
    value: OptionalText = None
    effect: OptionalText = None


class PodSpec(KubeStruct):
    node_name: OptionalText = None
    node_selector: LabelMap = None
    affinity: Affinity | None = None
    tolerations: list[Toleration] | None = None
    containers: list[Container] | None = None
    init_containers: list[Container] | None = None
    resources: ResourceRequirements | None = None
    overhead: Quantities = None


class PodStatus(KubeStruct):
    phase: OptionalText = None
    conditions: list[StatusCondition] | None = None


class PodObject(KubeStruct):
    metadata: Meta
    spec: PodSpec
    status: PodStatus | None = None


ObjectPath = tuple[str, str]
"""Namespace and name."""


def identity(item: Object) -> str:
    """The UID of an object, or its path if the API gives it none.

    Cluster API's in-memory provider (v1.12.3) serves Nodes and Pods without a UID.
    """
    return str(item["metadata"].get("uid") or "/".join(object_path(item)))


def object_path(item: Object) -> ObjectPath:
    """Where an object is."""
    return item["metadata"].get("namespace", ""), item["metadata"]["name"]
