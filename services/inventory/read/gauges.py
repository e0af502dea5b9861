"""What a cluster has is told to whoever scrapes, by model, health and freshness: never by node."""

from collections.abc import Iterable, Mapping

from schemas.inventory import ClusterSeen, NodeSeen

AMOUNTS = ("allocatable", "allocated", "available")
DEVICES = "alate.inventory.devices"
"""How many devices there are, by health."""
Labels = tuple[tuple[str, str], ...]


def gauges(cluster: str, whole: ClusterSeen, nodes: Iterable[NodeSeen]) -> Mapping[str, dict[Labels, float]]:
    """The series of one cluster (``tenant/name``), by gauge; in whole accelerators."""
    fresh = "known" if whole.known else "stale"
    found: dict[str, dict[Labels, float]] = {f"alate.inventory.{amount}": {} for amount in AMOUNTS}
    for model, amounts in whole.models.items():
        labels = (("cluster", cluster), ("model", model), ("freshness", fresh))
        for amount in AMOUNTS:
            found[f"alate.inventory.{amount}"][labels] = getattr(amounts, amount) / 1000
    devices: dict[Labels, float] = {}
    for node in nodes:
        for device in node.devices:
            each: Labels = (
                ("cluster", cluster),
                ("model", device.model),
                ("health", device.health),
                ("freshness", fresh),
            )
            devices[each] = devices.get(each, 0) + 1
    return found | {DEVICES: devices}
