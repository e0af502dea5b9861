"""The addresses that a Colony asks for are told to Cluster API and to k0rdent's charts, which use the same words."""

from schemas.wish import Network

NETWORK = "clusterNetwork"


def cluster_network(network: Network | None) -> dict[str, object]:
    """What a Cluster's spec and a chart's values call it; nothing where the Colony leaves it to the template."""
    if network is None:
        return {}
    return {
        NETWORK: {"pods": {"cidrBlocks": list(network.pods)}, "services": {"cidrBlocks": list(network.services)}},
    }
