"""A machine whose node breaks is replaced by Cluster API itself, once it is told to in the words of its version."""

from copy import deepcopy

from events.kube.port import Object, Resource

BROKEN = 300
"""Seconds without Ready after which a node counts as broken."""
START_UP = 900
"""Seconds a machine may take to become a node: images with drivers are large, and an attempt is given up at 1200."""
AT_MOST = "50%"
"""So many may be broken for any to be replaced, rounded down: if more are, it is a black-out, and new ones would go
the same way. What such a cluster lacks is provisioning's matter: it is founded anew."""
NOT_READY = ("False", "Unknown")
SPELT: dict[str, Object] = {
    "v1beta2": {
        "checks": {
            "nodeStartupTimeoutSeconds": START_UP,
            "unhealthyNodeConditions": [
                {"type": "Ready", "status": status, "timeoutSeconds": BROKEN} for status in NOT_READY
            ],
        },
        "remediation": {"triggerIf": {"unhealthyLessThanOrEqualTo": AT_MOST}},
    },
    "v1beta1": {
        "nodeStartupTimeout": f"{START_UP}s",
        "unhealthyConditions": [{"type": "Ready", "status": status, "timeout": f"{BROKEN}s"} for status in NOT_READY],
        "maxUnhealthy": AT_MOST,
    },
}
"""By version of the API. Source: the MachineHealthCheck of Cluster API v1.14."""


def health_check(cluster: str, resource: Resource) -> Object:
    """One for all worker machines of a cluster, of whatever pool: those that a MachineDeployment would replace.

    It is the caller's own, down to its last field.
    """
    workers = {
        "matchLabels": {"cluster.x-k8s.io/cluster-name": cluster},
        "matchExpressions": [{"key": "cluster.x-k8s.io/deployment-name", "operator": "Exists"}],
    }
    return {
        "apiVersion": resource.api_version,
        "kind": resource.kind,
        "metadata": {"name": cluster},
        "spec": {"clusterName": cluster, "selector": workers, **deepcopy(SPELT[resource.version])},
    }


def declares(cluster_class: Object) -> bool:
    """Whether a ClusterClass has health checks of its own for worker machines, as either version has them."""
    workers = cluster_class["spec"].get("workers", {}).get("machineDeployments", ())
    return any(each.get("healthCheck") or each.get("machineHealthCheck") for each in workers)
