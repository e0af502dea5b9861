"""Counts what is left of a cluster, kind by kind, and refuses to guess."""

from events.errors import NotFound, TryLater
from events.kube.client import Kube, Object, Resource
from events.kube.port import NotServed, part
from events.kube.resources import CAPI, CLUSTERS, MACHINEDEPLOYMENTS, MACHINES, SECRETS
from services.clouds.cluster_object import newest_served
from services.kubernetes.labels import CLUSTER

UNSERVED_RECHECK = 5.0
"""Seconds until a kind that is not served is looked up again."""
CLUSTER_NAME = "cluster.x-k8s.io/cluster-name"
"""The label that Cluster API puts on everything that belongs to a Cluster."""


async def leftovers(kube: Kube, tenant: str, cluster: str, *more: Resource) -> dict[str, int]:
    """The number of objects left of any attempt of a cluster, by plural; 0 of what is not installed.

    Raises TryLater if they cannot be counted now, Denied.
    """
    counted = {}
    for resource in (*more, CLUSTERS, MACHINEDEPLOYMENTS, MACHINES, SECRETS):
        try:
            counted[resource.plural] = await _count(kube, await _served_version(kube, resource), tenant, cluster)
        except NotServed as unserved:
            if await _is_group_served(kube, resource.group):
                raise TryLater(
                    f"of {resource.plural} nobody can say now: {unserved.message}", UNSERVED_RECHECK
                ) from unserved
    return counted


async def _count(kube: Kube, resource: Resource, tenant: str, cluster: str) -> int:
    """The number of objects with either label. Only metadata is read: no content of a Secret is transferred."""
    selectors = (f"{CLUSTER}={cluster}", CLUSTER_NAME)
    listed = [each for labels in selectors for each in await kube.marks(resource, tenant, labels=labels)]
    return len({meta["name"] for meta in listed if _is_of(meta, cluster)})


async def _is_group_served(kube: Kube, group: str) -> bool:
    """Whether the API server knows the group: then objects of a kind that is not served may still exist."""
    try:
        await kube.read(f"/apis/{part('API group', group)}")
    except NotFound:
        return False
    return True


async def _served_version(kube: Kube, resource: Resource) -> Resource:
    return await newest_served(kube, resource) if resource in CAPI else resource


def _is_of(meta: Object, cluster: str) -> bool:
    """Whether it belongs to the cluster, by our label or Cluster API's: its controllers do not copy ours everywhere."""
    marks = meta.get("labels", {})
    name, _, number = marks.get(CLUSTER_NAME, "").rpartition("-")
    return bool(marks.get(CLUSTER) == cluster or (name == cluster and number.isdigit()))
