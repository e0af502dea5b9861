"""What a pool's nodes need, in the terms of the kubelet, the autoscaler and the cluster's network."""

from collections.abc import Iterator, Mapping

import msgspec

from events.kube.port import Object
from schemas.accelerators import resource
from schemas.placement import Lot
from schemas.wish import ClusterNetwork, Pool, Wish

NODE_GROUP = "cluster.x-k8s.io/cluster-api-autoscaler-node-group"
NODE_CAPACITY = "capacity.cluster-autoscaler.kubernetes.io"

NETWORK = "clusterNetwork"

DISK_GIB = 100
"""The size of a node's disk (GiB) if a template wants one and none is asked for: images for GPUs are large."""
POOL = "alate.dev/pool"
"""The label that names the pool of a node, if its kubelet is configured with it."""
MACHINE_POOL = "alate.node.cluster.x-k8s.io/pool"
"""The same label of a Machine: Cluster API copies labels of that domain to the node."""


ACCELERATOR = "cluster-api/accelerator"
"""The label by which the cluster autoscaler knows a node whose accelerators cannot be counted yet: without it, the node
counts as one without accelerators, and another one is added."""


def pool_of(wish: Wish, lot: Lot) -> Pool:
    """The pool of a lot, with the labels that an autoscaler needs on its nodes."""
    pool = next(pool for pool in wish.need.pools if pool.name == lot.pool)
    if lot.group is None:
        return pool
    return pool.but(labels=((ACCELERATOR, lot.accelerator), *pool.labels))


def pool_name(labels: Mapping[str, str]) -> str:
    """The name of a node's pool by its labels; empty if they do not name it."""
    return labels.get(POOL) or labels.get(MACHINE_POOL, "")


def disk(pool: Pool) -> int:
    """The size of each node's disk (GiB)."""
    return pool.disk_gib or DISK_GIB


def label_map(pool: Pool) -> dict[str, str]:
    """The labels of each node."""
    return {POOL: pool.name} | dict(pool.labels)


def labels(pool: Pool) -> str:
    """The labels, as ``--node-labels`` takes them."""
    return ",".join(f"{key}={value}" for key, value in label_map(pool).items())


def taints(pool: Pool) -> str:
    """The taints, as ``--register-with-taints`` takes them; empty: none."""
    return ",".join(f"{each.key}={each.value}:{each.effect}" for each in pool.taints)


def taint_maps(pool: Pool) -> list[dict[str, str]]:
    """The taints, as a node's ``spec.taints`` has them."""
    return [{"key": each.key, "value": each.value, "effect": each.effect} for each in pool.taints]


def taint_list(pool: Pool) -> str:
    """The taints in JSON, which is YAML as well."""
    return msgspec.json.encode(taint_maps(pool)).decode()


def worker_args(pool: Pool) -> tuple[str, ...]:
    """The arguments of ``k0s worker``; none if nothing is asked for."""
    return tuple(_worker_args(pool))


def _worker_args(pool: Pool) -> Iterator[str]:
    if pool.labels:
        yield f"--labels={labels(pool)}"
    if pool.taints:
        yield f"--taints={taints(pool)}"


def cluster_network(network: ClusterNetwork | None) -> dict[str, object]:
    """The network of a Cluster's spec or a chart's values; empty if the Colony leaves it to the template."""
    if network is None:
        return {}
    return {
        NETWORK: {"pods": {"cidrBlocks": list(network.pods)}, "services": {"cidrBlocks": list(network.services)}},
    }


def autoscaler_annotations(lot: Lot, pool: Pool) -> dict[str, str]:
    """The annotations of a pool's MachineDeployment; none if its size is ours to set."""
    return dict(_autoscaler_annotations(lot, pool)) if lot.group is not None else {}


def minimum_replicas(deployment: Object) -> int | None:
    """The minimum of a MachineDeployment that has fewer replicas; None if it has enough, or they are ours to set.

    An autoscaler raises no group to its minimum (its flag enforce-node-group-min-size is off by default), and one that
    does not run never would.
    """
    least = deployment["metadata"].get("annotations", {}).get(f"{NODE_GROUP}-min-size", "")
    has = deployment["spec"].get("replicas")
    return int(least) if least.isdecimal() and has is not None and has < int(least) else None


def _autoscaler_annotations(lot: Lot, pool: Pool) -> Iterator[tuple[str, str]]:
    """What is unknown of a node is left out."""
    if lot.group is None:
        return
    yield f"{NODE_GROUP}-min-size", str(lot.group.least)
    yield f"{NODE_GROUP}-max-size", str(lot.group.most)
    capacity = {
        "cpu": f"{lot.group.cpu:g}" if lot.group.cpu else "",
        "memory": f"{lot.group.memory_gib * 1024:.0f}Mi" if lot.group.memory_gib else "",
        "ephemeral-disk": f"{pool.disk_gib}Gi" if pool.disk_gib else "",
        "gpu-type": resource(lot.accelerator),
        "gpu-count": str(lot.accelerators_per_node),
        "labels": labels(pool),
        "taints": taints(pool),
    }
    yield from ((f"{NODE_CAPACITY}/{name}", value) for name, value in capacity.items() if value)
