"""What teardown does in a cluster: stop its work, and delete what would still cost money afterwards."""

from collections.abc import Iterable, Mapping, Sequence

from events.errors import Fault, NotFound
from events.kube.client import Kube, Object, Resource
from events.kube.discovery import find
from events.kube.resources import NODES, PODS, PVCS, SERVICES
from services.kubernetes.labels import MANAGER
from services.kubernetes.name_list import MOST, first_names
from services.kubernetes.resources import InvalidQuantity, accelerators_of, bound, finished
from services.teardown.controllers import controller_of, delete, owner_name, stop_controllers

MIRROR_POD = "kubernetes.io/config.mirror"
"""On a Pod that its node runs from a file: it ends only with the node."""


async def drain(kube: Kube, pods: Sequence[Object]) -> str:
    """Stop new work and end what runs. Returns what it waits for, in one sentence; empty once nothing runs.

    Pods are deleted, not evicted: a PodDisruptionBudget protects what goes on, and nothing here does.
    """
    if await _cordon(kube):  # some may have begun before
        pods = (await kube.list(PODS)).items
    busy = [pod for pod in pods if _is_running(pod) and _uses_accelerators(pod)]
    refused = await _stop_pods(kube, busy)
    return "; ".join((*_describe_pods(busy, ("holds accelerators", "hold accelerators")), *refused))


async def sweep(kube: Kube, pods: Sequence[Object]) -> str:
    """Delete what would still cost money. Returns what it waits for, in one sentence; empty once all is gone.

    Kubernetes keeps what a Pod uses, and a controller creates it again: both are stopped first.
    """
    services = (await kube.list(SERVICES)).items
    balancers = [each for each in services if each["spec"].get("type") == "LoadBalancer"]
    claims = await _volumes(kube)
    users = [pod for pod in pods if _is_running(pod) and _uses_volumes(pod)] if claims else []
    refused = await _stop_pods(kube, users)
    refused += await _delete_all(kube, SERVICES, balancers)
    refused += await _delete_all(kube, PVCS, claims)
    going = (_describe_deleted(balancers, "load balancer"), _describe_deleted(claims, "volume"))
    return "; ".join((*filter(None, going), *_describe_pods(users, ("uses a volume", "use volumes")), *refused))


async def _stop_pods(kube: Kube, pods: Iterable[Object]) -> list[str]:
    """Delete Pods for good, each with its own grace period; those being deleted are left alone."""
    fresh = [pod for pod in pods if "deletionTimestamp" not in pod["metadata"]]
    return await stop_controllers(kube, fresh) + await _delete_all(kube, PODS, fresh)


async def _delete_all(kube: Kube, resource: Resource, items: Iterable[Object]) -> list[str]:
    """Delete each object; returns why some are refused."""
    refused: list[str] = []
    for item in items:
        try:
            await delete(kube, resource, item)
        except Fault as why:
            refused.append(f"{resource.kind} {_name(item)} cannot be deleted: {why.message}")
    return refused


async def _cordon(kube: Kube) -> bool:
    """Cordon all nodes; returns whether any was schedulable until now."""
    open_ = [node for node in (await kube.list(NODES)).items if not node["spec"].get("unschedulable")]
    for node in open_:
        patch: Object = {"spec": {"unschedulable": True}}
        await kube.patch(NODES, node["metadata"]["name"], None, patch, manager=MANAGER)
    return bool(open_)


async def _volumes(kube: Kube) -> list[Object]:
    """Claims on disks; none if the API serves no such kind, as Cluster API's in-memory provider (v1.12.3)."""
    try:
        await find(kube, PVCS.api_version, PVCS.kind)
    except NotFound:
        return []
    return list((await kube.list(PVCS)).items)


def _is_running(pod: Object) -> bool:
    """Whether it has a node and is not finished: a pending Pod finds no node any longer."""
    return bound(pod) and not finished(pod) and MIRROR_POD not in (pod["metadata"].get("annotations") or {})


def _uses_accelerators(pod: Object) -> bool:
    try:
        return accelerators_of(pod) > 0
    except InvalidQuantity:  # what nobody can read may be one
        return True


def _uses_volumes(pod: Object) -> bool:
    volumes = pod["spec"].get("volumes") or ()
    return any("persistentVolumeClaim" in each or "ephemeral" in each for each in volumes)


def _describe_pods(pods: Iterable[Object], does: tuple[str, str]) -> list[str]:
    """What is waited for, by owner."""
    by: dict[str, list[Object]] = {}
    for pod in pods:
        owner = controller_of(pod)
        by.setdefault(owner_name(owner, pod) if owner else "", []).append(pod)
    owners = [_describe_owner(owner, by[owner], does) for owner in sorted(by)]
    more = [f"and pods of {len(owners) - MOST} more"] if len(owners) > MOST else []
    return [*owners[:MOST], *more]


def _describe_owner(owner: str, pods: list[Object], does: tuple[str, str]) -> str:
    what = f"1 pod that {does[0]}" if len(pods) == 1 else f"{len(pods)} pods that {does[1]}"
    return f"{owner or 'the cluster'} still has {what}: {_names(pods)}"


def _describe_deleted(items: list[Object], what: str) -> str:
    if not items:
        return ""
    be = f"1 {what} is" if len(items) == 1 else f"{len(items)} {what}s are"
    return f"{be} going: {_names(items)}"


def _names(items: Iterable[Object]) -> str:
    names = sorted(_name(item) + _finalizers(item["metadata"]) for item in items)
    return first_names(names)


def _name(item: Object) -> str:
    return f"{item['metadata']['namespace']}/{item['metadata']['name']}"


def _finalizers(meta: Mapping[str, object]) -> str:
    """The finalizers that block its deletion."""
    finalizers = meta.get("finalizers") if "deletionTimestamp" in meta else None
    return f" (held by {', '.join(map(str, finalizers))})" if isinstance(finalizers, list) and finalizers else ""
