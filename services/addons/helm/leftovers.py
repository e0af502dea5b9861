"""Deletes what uninstalling a release leaves: what its hooks created, and roles that Kubernetes creates once more."""

from events.errors import NotFound
from events.kube.client import Kube, Object
from events.kube.discovery import find
from services.addons.helm.manifest import RELEASE_NAME

MANAGERS = frozenset({"helm", "clusterrole-aggregation-controller"})
"""The field managers of what is left: of all that Helm applies, and of aggregated roles."""
POLICY, KEEP = "helm.sh/resource-policy", "keep"
SETTLE = 1.0
"""Seconds that Kubernetes takes to apply an aggregated role for the last time, which was deleted meanwhile."""


def is_aggregated(document: Object) -> bool:
    """Whether a controller fills it, which creates it again if it sees a part of it deleted."""
    return document["kind"] == "ClusterRole" and bool(document.get("aggregationRule"))


async def delete_left(kube: Kube, documents: list[Object], namespace: str) -> None:
    """Delete those of the objects that are still there, the last first. Raises TryLater, Denied."""
    for each in reversed(documents):
        try:
            await _delete(kube, each, namespace)
        except NotFound:
            continue


async def _delete(kube: Kube, document: Object, namespace: str) -> None:
    resource = await find(kube, document["apiVersion"], document["kind"])
    name, where = document["metadata"]["name"], document["metadata"].get("namespace") or namespace
    live = (await kube.get(resource, name, where if resource.namespaced else None))["metadata"]
    if _is_left(live):
        await kube.delete(resource, name, live.get("namespace"), uid=live["uid"])


def _is_left(live: Object) -> bool:
    """Whether it was made for the release, and no release has it."""
    annotations = live.get("annotations") or {}
    managers = {each.get("manager") for each in live.get("managedFields") or ()}
    return bool(managers & MANAGERS) and RELEASE_NAME not in annotations and annotations.get(POLICY) != KEEP
