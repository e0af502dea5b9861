"""Work ends for good only with whoever makes it anew: controllers are stopped before their pods."""

from collections.abc import Iterable

from events.errors import Denied, Fault, NotFound
from events.kube.client import Kube, Object, Resource
from events.kube.discovery import find
from services.kubernetes.labels import MANAGER

DEEPEST = 6
"""So many owners above one another are followed: a CronJob's Job's pod has two."""
STOPPED: dict[tuple[str, str], Object] = {
    ("batch", "CronJob"): {"suspend": True},
    ("batch", "Job"): {"suspend": True},
    ("apps", "Deployment"): {"replicas": 0},
    ("apps", "ReplicaSet"): {"replicas": 0},
    ("apps", "StatefulSet"): {"replicas": 0},
    ("", "ReplicationController"): {"replicas": 0},
}
"""How a kind that can be stopped is stopped, by its spec; every other one is deleted, with all that is below it."""
Owner = tuple[Resource, Object]


def controller(of: Object) -> Object | None:
    """The reference to whoever makes an object anew."""
    owners = of["metadata"].get("ownerReferences") or ()
    return next((one for one in owners if one.get("controller")), None)


async def stop(kube: Kube, pods: Iterable[Object]) -> list[str]:
    """Stop what makes these pods anew, the highest first. Why each is not that refuses to be; it stays asked for."""
    refused: list[str] = []
    seen: set[str] = set()
    for pod in pods:
        direct = controller(pod)
        if direct is None or direct["uid"] in seen:
            continue
        seen.add(direct["uid"])
        try:
            await _stop(kube, await _above(kube, pod))
        except Fault as why:
            refused.append(f"{named(direct, pod)} cannot be stopped: {why.message}")
    return refused


def named(owner: Object, of: Object) -> str:
    """The owner in a reference of an object, for people."""
    return f"{owner['kind']} {of['metadata']['namespace']}/{owner['name']}"


async def _above(kube: Kube, pod: Object) -> list[Owner]:
    """All that are there of those who own one another, the highest first."""
    found: list[Owner] = []
    of = pod
    while len(found) < DEEPEST and (reference := controller(of)) is not None:
        above = await _look(kube, reference, pod["metadata"]["namespace"])
        if above is None:
            break
        found.insert(0, above)
        of = above[1]
    return found


async def _look(kube: Kube, reference: Object, namespace: str) -> Owner | None:
    """The very object that a reference means; None if it is gone, or of a kind that nobody serves (any more)."""
    try:
        resource = await find(kube, reference["apiVersion"], reference["kind"])
        there = await kube.get(resource, reference["name"], namespace if resource.namespaced else None)
    except NotFound:
        return None
    return (resource, there) if there["metadata"]["uid"] == reference["uid"] else None


async def _stop(kube: Kube, owners: Iterable[Owner]) -> None:
    for resource, owner in owners:
        wanted = STOPPED.get((resource.group, resource.kind))
        if wanted is None:
            await end(kube, resource, owner)
            return
        if not wanted.items() <= owner["spec"].items():
            meta = owner["metadata"]
            patch = {"metadata": {"uid": meta["uid"]}, "spec": wanted}
            await kube.patch(resource, meta["name"], meta.get("namespace"), patch, manager=MANAGER)


async def end(kube: Kube, resource: Resource, item: Object) -> None:
    """Ask for the end of this very object, with the grace it is given; its dependants follow."""
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
