"""The size of each instance type, read from the offers."""

from collections.abc import Iterable
from dataclasses import dataclass

from schemas.accelerators import canonical
from schemas.inventory import Offer


@dataclass(frozen=True)
class MachineShape:
    """The size of one instance type."""

    cpu: float = 4.0
    memory_gib: float = 16.0
    accelerator: str = ""
    accelerators: int = 0

    @property
    def product(self) -> str:
        """What NVIDIA's feature discovery would write into the label ``nvidia.com/gpu.product``."""
        return PRODUCTS.get(canonical(self.accelerator) or "", f"NVIDIA-{self.accelerator}")


SMALL = MachineShape()
"""The shape of an instance type without an offer."""

PRODUCTS = {
    "A10": "NVIDIA-A10",
    "A10G": "NVIDIA-A10G",
    "A100": "NVIDIA-A100-SXM4-40GB",
    "A100-80GB": "NVIDIA-A100-SXM4-80GB",
    "B200": "NVIDIA-B200",
    "GH200": "NVIDIA-GH200-480GB",
    "H100": "NVIDIA-H100-80GB-HBM3",
    "H100-NVL": "NVIDIA-H100-NVL",
    "H200": "NVIDIA-H200",
    "L4": "NVIDIA-L4",
    "L40S": "NVIDIA-L40S",
    "RTX4090": "NVIDIA-GeForce-RTX-4090",
    "RTX5090": "NVIDIA-GeForce-RTX-5090",
    "T4": "Tesla-T4",
    "V100": "Tesla-V100-SXM2-16GB",
}


def shapes(offers: Iterable[Offer]) -> dict[str, MachineShape]:
    """Each instance type's shape."""
    return {
        offer.instance: MachineShape(
            offer.cpu or SMALL.cpu, offer.memory_gib or SMALL.memory_gib, offer.accelerator, offer.accelerators
        )
        for offer in offers
    }
