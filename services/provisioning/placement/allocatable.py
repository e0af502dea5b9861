"""What a machine leaves to pods is estimated here, for it is known for sure only once the machine has been paid for."""

from schemas.inventory import Offer

RESERVED_CPU, RESERVED_CPU_SHARE = 0.08, 0.01
RESERVED_GIB, RESERVED_SHARE, EVICTION_GIB = 330 / 1024, 0.05, 100 / 1024
"""Kept for the system and the kubelet. Source: Google Distributed Cloud, "Resources available for your workloads"."""
DAEMONS_CPU, DAEMONS_GIB = 0.5, 1.0
"""What the daemons of a GPU node ask for together: network, proxy, storage, device plugin, metrics. An allowance."""


def cpu_for_pods(offer: Offer) -> float:
    """Cores that pods can ask for on a node; 0 where the machine's cores are not known."""
    return max(0.0, offer.cpu * (1 - RESERVED_CPU_SHARE) - RESERVED_CPU - DAEMONS_CPU)


def gib_for_pods(offer: Offer) -> float:
    """Memory that pods can ask for on a node (GiB); 0 where the machine's is not known."""
    return max(0.0, offer.memory_gib * (1 - RESERVED_SHARE) - RESERVED_GIB - EVICTION_GIB - DAEMONS_GIB)
