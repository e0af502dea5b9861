"""What a pool's nodes shall be is told in the words of the kubelet: labels, taints, the size of the disk."""

from collections.abc import Iterator, Mapping

import msgspec

from events.kube.port import Object
from schemas.accelerators import resource
from schemas.placement import Lot
from schemas.wish import ClusterNetwork, Pool, Wish

GROUP = "cluster.x-k8s.io/cluster-api-autoscaler-node-group"
CAPACITY = "capacity.cluster-autoscaler.kubernetes.io"

NETWORK = "clusterNetwork"

DISK_GIB = 100
"""The size of a node's disk (GiB) where a template wants one and none is asked for: images for GPUs are large."""
POOL = "alate.dev/pool"
"""The label by which a node tells the name of its pool, where its kubelet is told so."""
SYNCED = "alate.node.cluster.x-k8s.io/pool"
"""The same of a Machine: Cluster API sees to it that a node bears its Machine's labels of that domain."""


ACCELERATOR = "cluster-api/accelerator"
"""The label by which the cluster autoscaler knows a node whose accelerators cannot be counted yet: without it, it
takes the node for one that has none, and adds another."""


def pool_of(wish: Wish, lot: Lot) -> Pool:
    """What was asked of the machines that were bought, and what else their nodes must tell."""
    pool = next(pool for pool in wish.need.pools if pool.name == lot.pool)
    if lot.group is None:
        return pool
    return pool.but(labels=((ACCELERATOR, lot.accelerator), *pool.labels))


def pool_told(labels: Mapping[str, str]) -> str:
    """The name of a node's pool by its labels; empty if they do not tell."""
    return labels.get(POOL) or labels.get(SYNCED, "")


def disk(pool: Pool) -> int:
    """The size of each node's disk (GiB)."""
    return pool.disk_gib or DISK_GIB


def label_map(pool: Pool) -> dict[str, str]:
    """What each node bears."""
    return {POOL: pool.name} | dict(pool.labels)


def labels(pool: Pool) -> str:
    """As ``--node-labels`` takes them."""
    return ",".join(f"{key}={value}" for key, value in label_map(pool).items())


def taints(pool: Pool) -> str:
    """As ``--register-with-taints`` takes them; empty: none."""
    return ",".join(f"{each.key}={each.value}:{each.effect}" for each in pool.taints)


def taint_maps(pool: Pool) -> list[dict[str, str]]:
    """As a node's ``spec.taints`` has them."""
    return [{"key": each.key, "value": each.value, "effect": each.effect} for each in pool.taints]


def taint_list(pool: Pool) -> str:
    """The same in JSON, which is YAML as well."""
    return msgspec.json.encode(taint_maps(pool)).decode()


def worker_args(pool: Pool) -> tuple[str, ...]:
    """As ``k0s worker`` takes them; none where nothing is asked for."""
    return tuple(_worker_args(pool))


def _worker_args(pool: Pool) -> Iterator[str]:
    if pool.labels:
        yield f"--labels={labels(pool)}"
    if pool.taints:
        yield f"--taints={taints(pool)}"


def cluster_network(network: ClusterNetwork | None) -> dict[str, object]:
    """What a Cluster's spec and a chart's values call it; nothing where the Colony leaves it to the template."""
    if network is None:
        return {}
    return {
        NETWORK: {"pods": {"cidrBlocks": list(network.pods)}, "services": {"cidrBlocks": list(network.services)}},
    }


def annotations(lot: Lot, pool: Pool) -> dict[str, str]:
    """Of a pool's MachineDeployment; none where its size is ours to set."""
    return dict(_annotations(lot, pool)) if lot.group is not None else {}


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
