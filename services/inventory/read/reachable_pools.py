"""Which pools a pending pod could use: every node stands for the nodes that its pool may get."""

from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

import msgspec

from events.kube.port import Object
from services.inventory.read.labels import MODEL, DeviceReport, label_text
from services.kubernetes.resources import GPU_MILLI, ResourceAmounts, is_accelerator
from services.kubernetes.scheduling import admits

OWN = "kubernetes.io/hostname"
"""The label that differs between the nodes of a pool."""
TEMPORARY_TAINTS = ("node.kubernetes.io/", "node.cloudprovider.kubernetes.io/", "node.cluster.x-k8s.io/")
"""Prefixes of taints that describe the present condition of a node."""


class PodNeeds(NamedTuple):
    """What a pending pod needs of a node; pods with equal needs are treated as one."""

    spec: str = ""
    """The scheduling fields of its spec, as JSON; empty if it has a node or needs no accelerator."""
    pieces: tuple[tuple[str, int], ...] = ()
    """Accelerators by resource, in thousandths."""


NO_NEEDS = PodNeeds()


class NodeTemplate(NamedTuple):
    """What a node has in common with the other nodes of its pool."""

    pool: str = ""
    """Empty if no label names it."""
    labels: Mapping[str, str] = {}
    taints: tuple[Object, ...] = ()
    pieces: Mapping[str, int] = {}
    """Accelerators by resource, in thousandths, broken ones included; empty while they are unknown."""


def pod_needs(pod: Object, amounts: ResourceAmounts) -> PodNeeds:
    """The needs of a pod; `amounts` is what it requests."""
    pieces = tuple(sorted((name, amount) for name, amount in amounts.items() if amount and is_accelerator(name)))
    spec = pod["spec"]
    if not pieces or spec.get("nodeName"):
        return NO_NEEDS
    held: dict[str, Any] = {field: spec.get(field) for field in ("nodeSelector", "affinity", "tolerations")}
    return PodNeeds(msgspec.json.encode(held, order="deterministic").decode(), pieces)


def node_template(node: Object, pool: str, told: DeviceReport, pieces: Mapping[str, int]) -> NodeTemplate:
    """The template of a node; `pieces` are whole accelerators by resource."""
    models = {label_text(device.model) for device in told.devices}
    ours = dict(zip((MODEL,), models, strict=True)) if len(models) == 1 else {}
    labels = {name: value for name, value in (node["metadata"].get("labels") or {}).items() if name != OWN}
    taints = (node.get("spec") or {}).get("taints") or ()
    lasting = tuple(taint for taint in taints if not taint["key"].startswith(TEMPORARY_TAINTS))
    whole = {name: (1_000_000 if name == GPU_MILLI else 1000) * number for name, number in pieces.items() if number}
    return NodeTemplate(pool, ours | labels, lasting, whole)


def reachable_pools(asked: PodNeeds, nodes: Iterable[NodeTemplate]) -> tuple[str, ...]:
    """The pools with a node on which the pod would fit if it were free, by name."""
    spec, found = msgspec.json.decode(asked.spec), set[str]()
    for node in nodes:
        if node.pool not in found and _offers(node, asked) and admits(spec, node.labels, node.taints):
            found.add(node.pool)
    return tuple(sorted(found))


def _offers(node: NodeTemplate, asked: PodNeeds) -> bool:
    """Also true for a node whose accelerators are unknown so far."""
    return not node.pieces or all(node.pieces.get(name, 0) >= amount for name, amount in asked.pieces)
