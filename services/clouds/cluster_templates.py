"""The sources of Cluster API clusters, ClusterClasses and templates in ConfigMaps, and how a template is filled in."""

import re
from collections.abc import Iterable, Sequence
from copy import deepcopy
from string import Template

from events.errors import Denied, NotFound
from events.kube.client import Kube
from events.kube.port import Object, Resource
from events.kube.resources import CLUSTERCLASSES, CONFIGMAPS
from schemas.cluster import NOT_INSTALLED
from schemas.documents import documents
from schemas.placement import Attempt, Lot
from schemas.wish import Pool, Wish
from services.clouds import node_config
from services.clouds.cluster_object import ObjectCache, merged, newest_served
from services.clouds.node_config import autoscaler_annotations
from services.clouds.template_values import CHARTS
from services.clouds.topology import can_buy_spot
from services.kubernetes.labels import GROUP

NOT_READY_TIMEOUT = 300
"""Seconds without Ready after which a node counts as broken."""
STARTUP_TIMEOUT = 900
"""Seconds in which a machine has to become a node: images with drivers are large; an attempt fails after 1200."""
MAX_UNHEALTHY = "50%"
"""The share that may be broken for any to be replaced, rounded down: beyond it, replacements would break, too. What
such a cluster lacks is provisioning's matter: it is launched again."""
NOT_READY = ("False", "Unknown")
HEALTH_CHECK_SPECS: dict[str, Object] = {
    "v1beta2": {
        "checks": {
            "nodeStartupTimeoutSeconds": STARTUP_TIMEOUT,
            "unhealthyNodeConditions": [
                {"type": "Ready", "status": status, "timeoutSeconds": NOT_READY_TIMEOUT} for status in NOT_READY
            ],
        },
        "remediation": {"triggerIf": {"unhealthyLessThanOrEqualTo": MAX_UNHEALTHY}},
    },
    "v1beta1": {
        "nodeStartupTimeout": f"{STARTUP_TIMEOUT}s",
        "unhealthyConditions": [
            {"type": "Ready", "status": status, "timeout": f"{NOT_READY_TIMEOUT}s"} for status in NOT_READY
        ],
        "maxUnhealthy": MAX_UNHEALTHY,
    },
}
"""By version of the API. Source: the MachineHealthCheck of Cluster API v1.14."""


MACHINE_TEMPLATES = {"AWSMachineTemplate": "aws", "AzureMachineTemplate": "azure", "GCPMachineTemplate": "gcp"}
"""The cloud of each provider's machine template; its spot field is the one that k0rdent's charts use."""
_MACHINE_TEMPLATE = re.compile(rf"^kind: ({'|'.join(MACHINE_TEMPLATES)})\s*$", re.MULTILINE)

MACHINE_DEPLOYMENT = "MachineDeployment"
POOL = "${POOL}"
"""A document of a template that mentions this is rendered once for each pool."""


def render(text: str, wish: Wish, attempt: Attempt) -> list[Object]:
    """The template's documents, filled in; those that mention ``${POOL}`` once per pool. Raises Denied."""
    return [document for document, _ in render_with_pools(text, wish, attempt)]


def render_with_pools(text: str, wish: Wish, attempt: Attempt) -> list[tuple[Object, bool]]:
    """The rendered documents, each with whether it belongs to one pool."""
    lots = attempt.placement.lots
    _check_placeholders(text, [node_config.pool_of(wish, lot) for lot in lots])
    try:
        texts = [
            (Template(part).substitute(_values(wish, attempt, lot)), lot, POOL in part)
            for part in text.split("\n---")
            for lot in (lots if POOL in part else lots[:1])
        ]
        found = ((each, lot, pooled) for part, lot, pooled in texts for each in documents(part) if each)
        made = (
            (_with_pool_label(each, lot, node_config.pool_of(wish, lot)), lot, pooled) for each, lot, pooled in found
        )
        whole = [(with_spot(each) if pooled and lot.spot else each, pooled) for each, lot, pooled in made]
    except (KeyError, ValueError) as wrong:
        raise Denied(f"the Cluster API template cannot be filled in: {wrong}", "BadTemplate") from wrong
    _check_autoscalable(lots, [document for document, _ in whole])
    return whole


def _check_placeholders(text: str, pools: Sequence[Pool]) -> None:
    """Raises Denied if the template has no placeholder for the settings of pools and nodes."""
    if POOL not in text and len(pools) > 1:
        raise Denied(f"the Cluster API template does not mention {POOL}: it makes one pool a cluster", "BadTemplate")
    asked = {"${NODE_LABELS}": "labels", "${NODE_TAINTS}": "taints"}
    lost = [mark for mark, field in asked.items() if mark not in text and any(getattr(p, field) for p in pools)]
    if lost:
        raise Denied(
            f"the Cluster API template does not mention {' and '.join(lost)}, which a pool needs", "BadTemplate"
        )


def _check_autoscalable(lots: Iterable[Lot], made: Iterable[Object]) -> None:
    """Raises Denied if an autoscaled pool has no MachineDeployment whose replicas can be set."""
    pools = sum(lot.group is not None for lot in lots)
    if pools > sum(document.get("kind") == MACHINE_DEPLOYMENT for document in made):
        told = (
            "the Cluster API template makes no MachineDeployment for each pool, which scaledBy ClusterAutoscaler needs"
        )
        raise Denied(told, "BadTemplate")


def _with_pool_label(document: Object, lot: Lot, pool: Pool) -> Object:
    """A pool's document; nodes of its machines get the pool's label."""
    if document.get("kind") != MACHINE_DEPLOYMENT:
        return document
    own = for_autoscaler(document, lot, pool)
    return merged(own, {"spec": {"template": {"metadata": {"labels": {node_config.MACHINE_POOL: lot.pool}}}}})


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


def with_spot(document: Object) -> Object:
    """A pool's document; a machine template asks for spot machines."""
    cloud = MACHINE_TEMPLATES.get(document.get("kind", ""))
    return merged(document, {"spec": {"template": {"spec": CHARTS[cloud].spot}}}) if cloud else document


def template_can_buy_spot(template: str) -> bool:
    """Whether a template can ask for spot machines: by ``${SPOT}``, or in a machine template that is known."""
    return "${SPOT}" in template or any(
        "${POOL}" in part and _MACHINE_TEMPLATE.search(part) for part in template.split("\n---")
    )


def for_autoscaler(deployment: Object, lot: Lot, pool: Pool) -> Object:
    """A pool's MachineDeployment without replicas if an autoscaler sets them, unchanged otherwise."""
    if lot.group is None:
        return deployment
    spec = {field: value for field, value in deployment["spec"].items() if field != "replicas"}
    return merged(deployment | {"spec": spec}, {"metadata": {"annotations": autoscaler_annotations(lot, pool)}})


def health_check(cluster: str, resource: Resource) -> Object:
    """A health check for all worker machines of a cluster that a MachineDeployment would replace.

    The caller may change any field of it.
    """
    workers = {
        "matchLabels": {"cluster.x-k8s.io/cluster-name": cluster},
        "matchExpressions": [{"key": "cluster.x-k8s.io/deployment-name", "operator": "Exists"}],
    }
    return {
        "apiVersion": resource.api_version,
        "kind": resource.kind,
        "metadata": {"name": cluster},
        "spec": {"clusterName": cluster, "selector": workers, **deepcopy(HEALTH_CHECK_SPECS[resource.version])},
    }


def declares_health_check(cluster_class: Object) -> bool:
    """Whether a ClusterClass has health checks for worker machines, in either version."""
    workers = cluster_class["spec"].get("workers", {}).get("machineDeployments", ())
    return any(each.get("healthCheck") or each.get("machineHealthCheck") for each in workers)


PREFIX = "alate-capi-"
"""A template's ConfigMap is named ``alate-capi-<cloud>``, unless the Colony names another."""
KEY = "cluster.yaml"
CLOUD_LABEL = f"{GROUP}/cloud"
TemplateSource = Object | str
"""A ClusterClass, or the text of a template."""


class TemplateSources:
    """The ClusterClasses and templates of every namespace."""

    def __init__(self, kube: Kube) -> None:
        self._kube = kube
        self._templates = ObjectCache(kube, CONFIGMAPS, CLOUD_LABEL)
        self._classes = ObjectCache(kube, CLUSTERCLASSES, CLOUD_LABEL)
        self.caches = (self._templates, self._classes)

    async def clouds(self, wish: Wish, *, fresh: bool = False) -> dict[str, bool]:
        """The clouds that have a source, and whether that can buy spot machines."""
        templates = await self._templates.of(wish.tenant, fresh=fresh)
        return _clouds(wish, templates) | {
            cloud_of(each): can_buy_spot(each) for each in await self._labelled(wish, fresh=fresh)
        }

    async def of(self, wish: Wish, cloud: str) -> TemplateSource:
        """The ClusterClass of a cloud, or else its template. Raises Denied if neither exists."""
        classes = (each for each in await self._labelled(wish) if cloud_of(each) == cloud)
        return next(classes, None) or await self.template(wish, cloud)

    async def template(self, wish: Wish, cloud: str) -> str:
        """The text of a cloud's template, or of the one that is named. Raises Denied if it does not exist."""
        name = wish.need.template or f"{PREFIX}{cloud}"
        kept = (each for each in await self._templates.of(wish.tenant) if each["metadata"]["name"] == name)
        try:
            found = next(kept, None) or await self._kube.get(CONFIGMAPS, name, wish.tenant)
        except NotFound as missing:
            raise Denied(f"the template is gone: {missing.message}", NOT_INSTALLED) from missing
        text = found.get("data", {}).get(KEY)
        if not isinstance(text, str):
            raise Denied(f"ConfigMap {wish.tenant}/{name} has no key {KEY}", "BadTemplate")
        return text

    async def classed(self, tenant: str, *, fresh: bool = False) -> tuple[Object, ...]:
        """All ClusterClasses of a namespace that name their cloud."""
        try:
            return await self._classes.of(tenant, fresh=fresh)
        except NotFound:  # not in the version we speak
            return await self._older(tenant)

    async def _labelled(self, wish: Wish, *, fresh: bool = False) -> list[Object]:
        """The ClusterClasses that the wish accepts."""
        found = await self.classed(wish.tenant, fresh=fresh)
        return [each for each in found if wish.need.template in ("", each["metadata"]["name"])]

    async def _older(self, namespace: str) -> tuple[Object, ...]:
        """The ClusterClasses of a Cluster API before v1beta2; none if it serves no such kind."""
        try:
            return (
                await self._kube.list(await newest_served(self._kube, CLUSTERCLASSES), namespace, labels=CLOUD_LABEL)
            ).items
        except NotFound:
            return ()


def cloud_of(labelled: Object) -> str:
    """The cloud that a ClusterClass or a ConfigMap is for."""
    return str(labelled["metadata"]["labels"][CLOUD_LABEL])


def _clouds(wish: Wish, templates: Iterable[Object]) -> dict[str, bool]:
    return {
        cloud_of(each): template_can_buy_spot(each.get("data", {}).get(KEY, ""))
        for each in templates
        if KEY in each.get("data", {}) and wish.need.template in ("", each["metadata"]["name"])
    }
