"""What a Colony has of each accelerator is added up over its clusters."""

from collections.abc import Iterable

from schemas.crds import GpuStatus
from schemas.inventory import ClusterSeen


def gpu_inventory(clusters: Iterable[ClusterSeen]) -> list[GpuStatus]:
    """Accelerators by model, all clusters together; in whole accelerators, parts as fractions."""
    found: dict[str, GpuStatus] = {}
    for seen in clusters:
        for model, amount in seen.models.items():
            before = found.get(model) or GpuStatus(model=model, total=0.0, allocated=0.0, nodes=0)
            found[model] = GpuStatus(
                model=model,
                total=before.total + amount.allocatable / 1000,
                allocated=before.allocated + amount.allocated / 1000,
                nodes=before.nodes + amount.nodes,
            )
    return [found[model] for model in sorted(found)]
