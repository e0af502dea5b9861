"""A user's own Cluster API manifests are filled in with what was bought."""

import re
from collections.abc import Iterable, Sequence
from copy import deepcopy
from string import Template

from events.errors import Denied
from events.kube.port import Object, Resource
from schemas.documents import documents
from schemas.placement import Attempt, Lot
from schemas.wish import Pool, Wish
from services.clouds import node_config
from services.clouds.node_config import annotations
from services.clouds.template_values import CHARTS, over

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


KINDS = {"AWSMachineTemplate": "aws", "AzureMachineTemplate": "azure", "GCPMachineTemplate": "gcp"}
"""The cloud of each provider's machine template; its field is the one that k0rdent's charts hand on."""
_MADE = re.compile(rf"^kind: ({'|'.join(KINDS)})\s*$", re.MULTILINE)

MACHINE_DEPLOYMENT = "MachineDeployment"
POOL = "${POOL}"
"""A document of a template that mentions it is made once for each pool."""


def render(text: str, wish: Wish, attempt: Attempt) -> list[Object]:
    """The template's documents, filled in; those that mention ``${POOL}`` once per pool. Raises Denied."""
    return [document for document, _ in filled(text, wish, attempt)]


def filled(text: str, wish: Wish, attempt: Attempt) -> list[tuple[Object, bool]]:
    """The same, each with whether it is one pool's."""
    lots = attempt.placement.lots
    _whole(text, [node_config.pool_of(wish, lot) for lot in lots])
    try:
        texts = [
            (Template(part).substitute(_values(wish, attempt, lot)), lot, POOL in part)
            for part in text.split("\n---")
            for lot in (lots if POOL in part else lots[:1])
        ]
        found = ((each, lot, pooled) for part, lot, pooled in texts for each in documents(part) if each)
        made = ((_marked(each, lot, node_config.pool_of(wish, lot)), lot, pooled) for each, lot, pooled in found)
        whole = [(on_spot(each) if pooled and lot.spot else each, pooled) for each, lot, pooled in made]
    except (KeyError, ValueError) as wrong:
        raise Denied(f"the Cluster API template cannot be filled in: {wrong}", "BadTemplate") from wrong
    _scalable(lots, [document for document, _ in whole])
    return whole


def _whole(text: str, pools: Sequence[Pool]) -> None:
    """A template that cannot say what is asked of pools and nodes would make others. Raises Denied."""
    if POOL not in text and len(pools) > 1:
        raise Denied(f"the Cluster API template does not mention {POOL}: it makes one pool a cluster", "BadTemplate")
    asked = {"${NODE_LABELS}": "labels", "${NODE_TAINTS}": "taints"}
    lost = [mark for mark, field in asked.items() if mark not in text and any(getattr(p, field) for p in pools)]
    if lost:
        raise Denied(
            f"the Cluster API template does not mention {' and '.join(lost)}, which a pool needs", "BadTemplate"
        )


def _scalable(lots: Iterable[Lot], made: Iterable[Object]) -> None:
    """An autoscaler must have something whose replicas it can set. Raises Denied."""
    pools = sum(lot.group is not None for lot in lots)
    if pools > sum(document.get("kind") == MACHINE_DEPLOYMENT for document in made):
        told = (
            "the Cluster API template makes no MachineDeployment for each pool, which scaledBy ClusterAutoscaler needs"
        )
        raise Denied(told, "BadTemplate")


def _marked(document: Object, lot: Lot, pool: Pool) -> Object:
    """A pool's document; where it makes machines, their nodes will tell which pool they are of."""
    if document.get("kind") != MACHINE_DEPLOYMENT:
        return document
    own = handed_over(document, lot, pool)
    return over(own, {"spec": {"template": {"metadata": {"labels": {node_config.SYNCED: lot.pool}}}}})


def _values(wish: Wish, attempt: Attempt, lot: Lot) -> dict[str, str]:
    pool = node_config.pool_of(wish, lot)
    return {
        "CLUSTER_NAME": attempt.object_name(wish.name),
        "NAMESPACE": wish.tenant,
        "KUBERNETES_VERSION": wish.need.kubernetes_version,
        "REGION": attempt.placement.region,
        "ZONE": lot.zone,
        "POOL": lot.pool,
        "REPLICAS": str(lot.least),
        "INSTANCE_TYPE": lot.instance,
        "SPOT": str(lot.spot).lower(),
        "DISK_GIB": str(node_config.disk(pool)),
        "NODE_LABELS": node_config.labels(pool),
        "NODE_TAINTS": node_config.taint_list(pool),
    }


def on_spot(document: Object) -> Object:
    """A pool's document, which asks for spot machines if it is a machine template; what else it says stays."""
    cloud = KINDS.get(document.get("kind", ""))
    return over(document, {"spec": {"template": {"spec": CHARTS[cloud].spot}}}) if cloud else document


def sells_spot(template: str) -> bool:
    """Whether a template can be told to ask for spot machines: by ``${SPOT}``, or because it is known where."""
    return "${SPOT}" in template or any("${POOL}" in part and _MADE.search(part) for part in template.split("\n---"))


def handed_over(deployment: Object, lot: Lot, pool: Pool) -> Object:
    """A pool's MachineDeployment, of which an autoscaler sets the replicas; as it is where they are ours to set."""
    if lot.group is None:
        return deployment
    spec = {field: value for field, value in deployment["spec"].items() if field != "replicas"}
    return over(deployment | {"spec": spec}, {"metadata": {"annotations": annotations(lot, pool)}})


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
