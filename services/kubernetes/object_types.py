"""What is read of a cluster's objects has these types, so that an odd one is found where it comes in, and named."""

from typing import Any

import msgspec

from events.kube.port import Object

Text = str | None
Labels = dict[str, str] | None
Quantities = dict[str, Any] | None
"""Each is read by itself: one that makes no sense is told of that resource alone."""
Fields = dict[str, Any] | None
"""Of these only what bears our own field manager's name is read."""


class Shape(msgspec.Struct, rename="camel"):
    """Fields that are not named here are not read; one that may be left out may be null as well."""


class Reference(Shape):
    uid: Text = None
    kind: Text = None
    name: Text = None
    resource: Text = None


class Managed(Shape):
    manager: Text = None
    fields_v1: Fields = None


class Meta(Shape):
    name: str
    namespace: str = ""
    uid: str = ""
    labels: Labels = None
    annotations: Labels = None
    owner_references: list[Reference] | None = None
    managed_fields: list[Managed] | None = None


class Condition(Shape):
    type: str
    status: str
    reason: Text = None


class Taint(Shape):
    key: str
    effect: str
    value: Text = None


class NodeSpec(Shape):
    unschedulable: bool | None = None
    taints: list[Taint] | None = None


class NodeStatus(Shape):
    capacity: Quantities = None
    allocatable: Quantities = None
    conditions: list[Condition] | None = None


class Node(Shape):
    metadata: Meta
    spec: NodeSpec | None = None
    status: NodeStatus | None = None


class Asks(Shape):
    limits: Quantities = None
    requests: Quantities = None


class Container(Shape):
    name: str
    resources: Asks | None = None
    restart_policy: Text = None


class Expression(Shape):
    key: str
    operator: str
    values: list[str] | None = None


class Term(Shape):
    match_expressions: list[Expression] | None = None
    match_fields: list[Expression] | None = None


class Selector(Shape):
    node_selector_terms: list[Term] | None = None


class NodeAffinity(Shape):
    required_during_scheduling_ignored_during_execution: Selector | None = None


class Affinity(Shape):
    node_affinity: NodeAffinity | None = None


class Toleration(Shape):
    key: Text = None
    operator: Text = None
    value: Text = None
    effect: Text = None


class PodSpec(Shape):
    node_name: Text = None
    node_selector: Labels = None
    affinity: Affinity | None = None
    tolerations: list[Toleration] | None = None
    containers: list[Container] | None = None
    init_containers: list[Container] | None = None
    resources: Asks | None = None
    overhead: Quantities = None


class PodStatus(Shape):
    phase: Text = None
    conditions: list[Condition] | None = None


class Pod(Shape):
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
