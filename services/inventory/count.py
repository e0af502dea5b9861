"""What a cluster has and uses is counted from scratch each time, from all its nodes and pods."""

from collections.abc import Iterable
from datetime import datetime

import msgspec

from events.kube_port import Object
from schemas.accelerators import canonical
from schemas.inventory import ClusterSeen, NodeSeen
from services.pods import RESOURCES, bound, finished, held

PRODUCT = "nvidia.com/gpu.product"
"""Written by NVIDIA's GPU feature discovery."""
CONTROL_PLANE = "node-role.kubernetes.io/control-plane"


def node_seen(uid: str, node: Object) -> NodeSeen:
    """One node: whether it is ready, and what can be allocated on it."""
    status, labels = node.get("status", {}), node["metadata"].get("labels", {})
    product = labels.get(PRODUCT, "")
    allocatable = status.get("allocatable", {})
    return NodeSeen(
        uid=uid,
        node=node["metadata"]["name"],
        ready=any(c["type"] == "Ready" and c["status"] == "True" for c in status.get("conditions", ())),
        accelerator=canonical(product) or product,
        accelerators=sum(int(allocatable.get(name, 0)) for name in RESOURCES),
        control_plane=CONTROL_PLANE in labels,
    )


def cluster_seen(
    blank: ClusterSeen, nodes: Iterable[NodeSeen], pods: Iterable[Object], before: ClusterSeen | None, now: datetime
) -> ClusterSeen:
    """All of it together, of the cluster that `blank` names.

    `before` is what was said last: idle since then, if it was idle then, and the same attempt's.
    """
    ready = [node for node in nodes if node.ready]
    takers = [pod for pod in pods if held(pod)]
    live = [pod for pod in takers if not finished(pod)]
    same = before is not None and (before.uid, before.attempt) == (blank.uid, blank.attempt)
    was_idle = before.idle_since if before is not None and same else None
    return msgspec.structs.replace(
        blank,
        nodes=sum(not node.control_plane for node in ready),
        accelerators=sum(node.accelerators for node in ready),
        allocated=sum(held(pod) for pod in live if bound(pod)),
        pods=len(live),
        finished=len(takers) - len(live),
        idle_since=None if live else was_idle or now,
    )
