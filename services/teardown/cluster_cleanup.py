"""What an end does within the cluster: its work is stopped, and what would be paid for after it is deleted."""

from collections.abc import Iterable, Mapping, Sequence

from events.errors import Fault, NotFound
from events.kube.client import Kube, Object, Resource
from events.kube.discovery import find
from events.kube.resources import NODES, PODS, PVCS, SERVICES
from services.kubernetes.labels import MANAGER
from services.kubernetes.name_list import MOST, first_names
from services.kubernetes.resources import BadQuantity, bound, finished, held
from services.teardown.controllers import controller, end, named, stop

MIRROR = "kubernetes.io/config.mirror"
"""On a pod that its node runs from a file: nobody can end it but with the node."""


async def drain(kube: Kube, pods: Sequence[Object]) -> str:
    """Let no work begin, and end what runs. What it waits for, one sentence; empty once nothing runs.

    Pods are deleted, not evicted: a PodDisruptionBudget keeps some of what goes on, and nothing here does.
    """
    if await _cordon(kube):  # some may have begun before
        pods = (await kube.list(PODS)).items
    busy = [pod for pod in pods if _runs(pod) and _holds(pod)]
    refused = await _stop(kube, busy)
    return "; ".join((*_waits(busy, ("holds accelerators", "hold accelerators")), *refused))


async def sweep(kube: Kube, pods: Sequence[Object]) -> str:
    """Delete what would be paid for after the cluster. What it waits for, one sentence; empty once all is gone.

    What a pod uses is kept for it by Kubernetes, and made anew by its controller: both are stopped first.
    """
    services = (await kube.list(SERVICES)).items
    balancers = [each for each in services if each["spec"].get("type") == "LoadBalancer"]
    claims = await _volumes(kube)
    users = [pod for pod in pods if _runs(pod) and _mounts(pod)] if claims else []
    refused = await _stop(kube, users)
    refused += await _end(kube, SERVICES, balancers)
    refused += await _end(kube, PVCS, claims)
    going = (_going(balancers, "load balancer"), _going(claims, "volume"))
    return "; ".join((*filter(None, going), *_waits(users, ("uses a volume", "use volumes")), *refused))


async def _stop(kube: Kube, pods: Iterable[Object]) -> list[str]:
    """End pods for good, each with its own grace; those that go already were asked before."""
    fresh = [pod for pod in pods if "deletionTimestamp" not in pod["metadata"]]
    return await stop(kube, fresh) + await _end(kube, PODS, fresh)


async def _end(kube: Kube, resource: Resource, items: Iterable[Object]) -> list[str]:
    """Ask for the end of each. Why one is refused is told, and does not keep the others."""
    refused: list[str] = []
    for item in items:
        try:
            await end(kube, resource, item)
        except Fault as why:
            refused.append(f"{resource.kind} {_name(item)} cannot be deleted: {why.message}")
    return refused


async def _cordon(kube: Kube) -> bool:
    """Whether any node took pods until now."""
    open_ = [node for node in (await kube.list(NODES)).items if not node["spec"].get("unschedulable")]
    for node in open_:
        patch: Object = {"spec": {"unschedulable": True}}
        await kube.patch(NODES, node["metadata"]["name"], None, patch, manager=MANAGER)
    return bool(open_)


async def _volumes(kube: Kube) -> list[Object]:
    """Claims on disks; none where the API knows no such kind, as Cluster API's in-memory provider (v1.12.3)."""
    try:
        await find(kube, PVCS.api_version, PVCS.kind)
    except NotFound:
        return []
    return list((await kube.list(PVCS)).items)


def _runs(pod: Object) -> bool:
    """Whether it has a node and is not finished: whatever waits for a node finds none any more."""
    return bound(pod) and not finished(pod) and MIRROR not in (pod["metadata"].get("annotations") or {})


def _holds(pod: Object) -> bool:
    try:
        return held(pod) > 0
    except BadQuantity:  # what nobody can read may be one
        return True


def _mounts(pod: Object) -> bool:
    volumes = pod["spec"].get("volumes") or ()
    return any("persistentVolumeClaim" in each or "ephemeral" in each for each in volumes)


def _waits(pods: Iterable[Object], does: tuple[str, str]) -> list[str]:
    """By owner, what is waited for."""
    by: dict[str, list[Object]] = {}
    for pod in pods:
        owner = controller(pod)
        by.setdefault(named(owner, pod) if owner else "", []).append(pod)
    told = [_still(owner, by[owner], does) for owner in sorted(by)]
    more = [f"and pods of {len(told) - MOST} more"] if len(told) > MOST else []
    return [*told[:MOST], *more]


def _still(owner: str, pods: list[Object], does: tuple[str, str]) -> str:
    what = f"1 pod that {does[0]}" if len(pods) == 1 else f"{len(pods)} pods that {does[1]}"
    return f"{owner or 'the cluster'} still has {what}: {_names(pods)}"


def _going(items: list[Object], what: str) -> str:
    if not items:
        return ""
    be = f"1 {what} is" if len(items) == 1 else f"{len(items)} {what}s are"
    return f"{be} going: {_names(items)}"


def _names(items: Iterable[Object]) -> str:
    names = sorted(_name(item) + _held_by(item["metadata"]) for item in items)
    return first_names(names)


def _name(item: Object) -> str:
    return f"{item['metadata']['namespace']}/{item['metadata']['name']}"


def _held_by(meta: Mapping[str, object]) -> str:
    """Whoever has to let go of it before it can go."""
    finalizers = meta.get("finalizers") if "deletionTimestamp" in meta else None
    return f" (held by {', '.join(map(str, finalizers))})" if isinstance(finalizers, list) and finalizers else ""
