"""The cluster autoscaler is told of a pool by annotations: how large it may be, and what a node of it would have.

Source: its provider clusterapi, and Cluster API's defaulting: a MachineDeployment that is made with both bounds and
without replicas gets the fewest, and its replicas are the autoscaler's from then on.
"""

from collections.abc import Iterator

from events.kube.port import Object
from schemas.accelerators import resource
from schemas.placement import Lot
from schemas.wish import Pool
from services.clouds.node_config import labels, taints
from services.clouds.template_values import over

GROUP = "cluster.x-k8s.io/cluster-api-autoscaler-node-group"
CAPACITY = "capacity.cluster-autoscaler.kubernetes.io"


def annotations(lot: Lot, pool: Pool) -> dict[str, str]:
    """Of a pool's MachineDeployment; none where its size is ours to set."""
    return dict(_annotations(lot, pool)) if lot.group is not None else {}


def handed_over(deployment: Object, lot: Lot, pool: Pool) -> Object:
    """A pool's MachineDeployment, of which an autoscaler sets the replicas; as it is where they are ours to set."""
    if lot.group is None:
        return deployment
    spec = {field: value for field, value in deployment["spec"].items() if field != "replicas"}
    return over(deployment | {"spec": spec}, {"metadata": {"annotations": annotations(lot, pool)}})


def floor(deployment: Object) -> int | None:
    """The fewest replicas of a MachineDeployment that has fewer; None where it has enough, or they are ours to set.

    An autoscaler raises no group to its least (its flag enforce-node-group-min-size is off by default), and one that
    does not run never would.
    """
    least = deployment["metadata"].get("annotations", {}).get(f"{GROUP}-min-size", "")
    has = deployment["spec"].get("replicas")
    return int(least) if least.isdecimal() and has is not None and has < int(least) else None


def _annotations(lot: Lot, pool: Pool) -> Iterator[tuple[str, str]]:
    """What is not known of a node is left out."""
    if lot.group is None:
        return
    yield f"{GROUP}-min-size", str(lot.group.least)
    yield f"{GROUP}-max-size", str(lot.group.most)
    capacity = {
        "cpu": f"{lot.group.cpu:g}" if lot.group.cpu else "",
        "memory": f"{lot.group.memory_gib * 1024:.0f}Mi" if lot.group.memory_gib else "",
        "ephemeral-disk": f"{pool.disk_gib}Gi" if pool.disk_gib else "",
        "gpu-type": resource(lot.accelerator),
        "gpu-count": str(lot.accelerators_per_node),
        "labels": labels(pool),
        "taints": taints(pool),
    }
    yield from ((f"{CAPACITY}/{name}", value) for name, value in capacity.items() if value)
