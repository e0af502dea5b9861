"""Stops the controllers of Pods first, as they would create them again."""

from collections.abc import Iterable

from events.errors import Denied, Fault, NotFound
from events.kube.client import Kube, Object, Resource
from events.kube.discovery import find
from services.kubernetes.labels import MANAGER

MAX_DEPTH = 6
"""The number of owners above one another that are followed: a CronJob's Job's Pod has two."""
STOP_PATCHES: dict[tuple[str, str], Object] = {
    ("batch", "CronJob"): {"suspend": True},
    ("batch", "Job"): {"suspend": True},
    ("apps", "Deployment"): {"replicas": 0},
    ("apps", "ReplicaSet"): {"replicas": 0},
    ("apps", "StatefulSet"): {"replicas": 0},
    ("", "ReplicationController"): {"replicas": 0},
}
"""The spec that stops a kind; every other kind is deleted, with all that it owns."""
OwnerObject = tuple[Resource, Object]


def controller_of(of: Object) -> Object | None:
    """The reference to the controller that would create an object again."""
    owners = of["metadata"].get("ownerReferences") or ()
    return next((one for one in owners if one.get("controller")), None)


async def stop_controllers(kube: Kube, pods: Iterable[Object]) -> list[str]:
    """Stop the controllers of these Pods, the highest first. Returns why some cannot be stopped."""
    refused: list[str] = []
    seen: set[str] = set()
    for pod in pods:
        direct = controller_of(pod)
        if direct is None or direct["uid"] in seen:
            continue
        seen.add(direct["uid"])
        try:
            await _stop(kube, await _owner_chain(kube, pod))
        except Fault as why:
            refused.append(f"{owner_name(direct, pod)} cannot be stopped: {why.message}")
    return refused


def owner_name(owner: Object, of: Object) -> str:
    """The owner in a reference of an object, for people."""
    return f"{owner['kind']} {of['metadata']['namespace']}/{owner['name']}"


async def _owner_chain(kube: Kube, pod: Object) -> list[OwnerObject]:
    """All existing owners, the highest first."""
    found: list[OwnerObject] = []
    of = pod
    while len(found) < MAX_DEPTH and (reference := controller_of(of)) is not None:
        above = await _read_owner(kube, reference, pod["metadata"]["namespace"])
        if above is None:
            break
        found.insert(0, above)
        of = above[1]
    return found


async def _read_owner(kube: Kube, reference: Object, namespace: str) -> OwnerObject | None:
    """The object that a reference means; None if it is gone, or of a kind that is not served."""
    try:
        resource = await find(kube, reference["apiVersion"], reference["kind"])
        there = await kube.get(resource, reference["name"], namespace if resource.namespaced else None)
    except NotFound:
        return None
    return (resource, there) if there["metadata"]["uid"] == reference["uid"] else None


async def _stop(kube: Kube, owners: Iterable[OwnerObject]) -> None:
    for resource, owner in owners:
        wanted = STOP_PATCHES.get((resource.group, resource.kind))
        if wanted is None:
            await delete(kube, resource, owner)
            return
        if not wanted.items() <= owner["spec"].items():
            meta = owner["metadata"]
            patch = {"metadata": {"uid": meta["uid"]}, "spec": wanted}
            await kube.patch(resource, meta["name"], meta.get("namespace"), patch, manager=MANAGER)


async def delete(kube: Kube, resource: Resource, item: Object) -> None:
    """Delete this very object, with its grace period; its dependants follow."""
    meta = item["metadata"]
    if "deletionTimestamp" in meta:
        return
    try:
        await kube.delete(resource, meta["name"], meta.get("namespace"), uid=meta["uid"])
    except NotFound:
        return
    except Denied as denied:  # another incarnation bears the name: it is looked at the next time
        if denied.reason != "Conflict":
            raise
