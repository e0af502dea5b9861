"""What is left of a cluster is counted kind by kind, and where nobody can count nothing is said."""

from events.errors import NotFound, TryLater
from events.kube.client import Kube, Object, Resource
from events.kube.errors import NotServed
from events.kube.port import part
from events.kube.resources import CAPI, CLUSTERS, MACHINEDEPLOYMENTS, MACHINES, SECRETS
from services.clouds.cluster_object import newest
from services.kubernetes.labels import CLUSTER

UNSERVED = 5.0
"""Seconds until it is asked again for a kind that is not served now."""
CLUSTER_NAME = "cluster.x-k8s.io/cluster-name"
"""What Cluster API puts on everything that belongs to a Cluster."""


async def leftovers(kube: Kube, tenant: str, cluster: str, *more: Resource) -> dict[str, int]:
    """How many objects of any attempt of a cluster are left, by plural; what is not installed has none.

    Raises TryLater where nobody can say, Denied.
    """
    counted = {}
    for resource in (*more, CLUSTERS, MACHINEDEPLOYMENTS, MACHINES, SECRETS):
        try:
            counted[resource.plural] = await _count(kube, await _spoken(kube, resource), tenant, cluster)
        except NotServed as unserved:
            if await _knows(kube, resource.group):
                raise TryLater(f"of {resource.plural} nobody can say now: {unserved.message}", UNSERVED) from unserved
    return counted


async def _count(kube: Kube, resource: Resource, tenant: str, cluster: str) -> int:
    """How many bear one mark or the other. Only marks are asked for: of Secrets nothing that they hold travels."""
    selectors = (f"{CLUSTER}={cluster}", CLUSTER_NAME)
    listed = [each for labels in selectors for each in await kube.marks(resource, tenant, labels=labels)]
    return len({meta["name"] for meta in listed if _is_of(meta, cluster)})


async def _knows(kube: Kube, group: str) -> bool:
    """Whether the API server knows a group: then a kind of it that is not served may have objects all the same."""
    try:
        await kube.read(f"/apis/{part('API group', group)}")
    except NotFound:
        return False
    return True


async def _spoken(kube: Kube, resource: Resource) -> Resource:
    return await newest(kube, resource) if resource in CAPI else resource


def _is_of(meta: Object, cluster: str) -> bool:
    """By our label, or by Cluster API's: its controllers do not hand ours on to all they make."""
    marks = meta.get("labels", {})
    name, _, number = marks.get(CLUSTER_NAME, "").rpartition("-")
    return bool(marks.get(CLUSTER) == cluster or (name == cluster and number.isdigit()))
