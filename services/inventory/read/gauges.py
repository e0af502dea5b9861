"""Gauges of a cluster's accelerators by model, health and freshness."""

from collections.abc import Iterable, Mapping

from schemas.inventory import ClusterSeen, NodeSeen

ALLOCATABLE = "alate.inventory.allocatable"
"""Accelerators that pods can be given, by cluster, model and freshness."""
ALLOCATED = "alate.inventory.allocated"
"""Those of them that pods have."""
AVAILABLE = "alate.inventory.available"
"""Those of them that a pod could have now."""
AMOUNTS = {ALLOCATABLE: "allocatable", ALLOCATED: "allocated", AVAILABLE: "available"}
DEVICES = "alate.inventory.devices"
"""How many devices there are, by health."""
InventoryLabels = tuple[tuple[str, str], ...]


def gauges(cluster: str, whole: ClusterSeen, nodes: Iterable[NodeSeen]) -> Mapping[str, dict[InventoryLabels, float]]:
    """The series of one cluster (``tenant/name``), by gauge; in whole accelerators."""
    fresh = "known" if whole.known else "stale"
    found: dict[str, dict[InventoryLabels, float]] = {gauge: {} for gauge in AMOUNTS}
    for model, amounts in whole.models.items():
        labels = (("cluster", cluster), ("model", model), ("freshness", fresh))
        for gauge, amount in AMOUNTS.items():
            found[gauge][labels] = getattr(amounts, amount) / 1000
    devices: dict[InventoryLabels, float] = {}
    for node in nodes:
        for device in node.devices:
            each: InventoryLabels = (
                ("cluster", cluster),
                ("model", device.model),
                ("health", device.health),
                ("freshness", fresh),
            )
            devices[each] = devices.get(each, 0) + 1
    return found | {DEVICES: devices}
