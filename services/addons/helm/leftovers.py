"""Deletes what the hooks of a release created, which Helm forgets as soon as they have run."""

from events.errors import NotFound
from events.kube.client import Kube, Object
from events.kube.discovery import find
from services.addons.helm.manifest import RELEASE_NAME

MANAGER = "helm"
"""The field manager of all that Helm applies."""
POLICY, KEEP = "helm.sh/resource-policy", "keep"


async def delete_hooks(kube: Kube, hooks: list[Object], namespace: str) -> None:
    """Delete the objects of hooks that are still there, the last first. Raises TryLater, Denied."""
    for hook in reversed(hooks):
        try:
            await _delete(kube, hook, namespace)
        except NotFound:
            continue


async def _delete(kube: Kube, hook: Object, namespace: str) -> None:
    resource = await find(kube, hook["apiVersion"], hook["kind"])
    name, where = hook["metadata"]["name"], hook["metadata"].get("namespace") or namespace
    live = (await kube.get(resource, name, where if resource.namespaced else None))["metadata"]
    if _is_left(live):
        await kube.delete(resource, name, live.get("namespace"), uid=live["uid"])


def _is_left(live: Object) -> bool:
    """Whether Helm made it, for no release that keeps it."""
    annotations = live.get("annotations") or {}
    managers = {each.get("manager") for each in live.get("managedFields") or ()}
    return MANAGER in managers and RELEASE_NAME not in annotations and annotations.get(POLICY) != KEEP
