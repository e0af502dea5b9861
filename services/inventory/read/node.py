"""The level of a node: computed from the node, the pods on it, and its devices."""

from collections.abc import Iterable, Mapping
from typing import NamedTuple

from events.kube.port import Object
from schemas.inventory import UNREADABLE, Amount, Device, NodeSeen, Trouble
from services.clouds.node_config import pool_name
from services.inventory.read.amounts import (
    allocatable,
    balance,
    by_model,
    checked_requests,
    in_accelerators,
    offered_accelerators,
    sum_amounts,
)
from services.inventory.read.labels import MODEL, DeviceReport, own_labels_of, report_devices
from services.inventory.read.totals import NO_NEEDS, NodeTemplate, PodNeeds, node_template, pod_needs
from services.kubernetes.object_types import identity
from services.kubernetes.resources import (
    GPU_MILLI,
    InvalidQuantity,
    ResourceAmounts,
    accelerators,
    bound,
    finished,
    is_accelerator,
    requests,
)

CONTROL_PLANE = "node-role.kubernetes.io/control-plane"
NONE: Mapping[str, str] = {}


class NodeRead(NamedTuple):
    """What matters of a Node."""

    name: str
    ready: bool
    schedulable: bool
    control_plane: bool
    offered: ResourceAmounts
    report: DeviceReport
    troubles: tuple[Trouble, ...]
    devices: tuple[Device, ...] = ()
    """From labels and counts alone, without pods: computed once, not at every change of a pod."""
    disagreements: tuple[Trouble, ...] = ()
    """The disagreements between sources if there are no ResourceSlices."""
    uid: str = ""
    own_labels: Mapping[str, str] = NONE
    """The labels of alate on it."""
    pool: str = ""
    """Empty if no label names it."""
    template: NodeTemplate = NodeTemplate()


class PodRead(NamedTuple):
    """What matters of a Pod."""

    uid: str
    name: str
    """``namespace/name``."""
    node: str
    finished: bool
    amounts: ResourceAmounts
    accelerators: int
    """In thousandths."""
    devices: tuple[tuple[str, str], ...] = ()
    """Id and health of each device its kubelet says it has (KEP-4680)."""
    trouble: Trouble | None = None
    stuck: bool = False
    """Its scheduler reported that it fits on no node."""
    model: str = ""
    """The model it asks for by alate's label; empty: any."""
    needs: PodNeeds = NO_NEEDS


def read_node(node: Object) -> NodeRead:
    """Read a Node; impossible values become troubles."""
    offered, troubles = allocatable(node)
    meta, status = node["metadata"], node.get("status", {})
    labels = meta.get("labels") or {}
    whole = offered_accelerators(status, offered)
    devices, pool = report_devices(labels, whole), pool_name(labels)
    read = NodeRead(
        name=meta["name"],
        ready=any(c["type"] == "Ready" and c["status"] == "True" for c in status.get("conditions") or ()),
        schedulable=not (node.get("spec") or {}).get("unschedulable", False),
        control_plane=CONTROL_PLANE in labels,
        offered=offered,
        report=devices,
        troubles=troubles,
        uid=meta.get("uid") or "",
        own_labels=own_labels_of(node) or NONE,
        pool=pool,
        template=node_template(node, pool, devices, whole),
    )
    return read._replace(devices=_with_health(read, []), disagreements=tuple(_disagreements(read, ())))


def unreadable_node(node: Object, why: str) -> NodeRead:
    """A Node that cannot be read: it exists and offers nothing."""
    trouble = Trouble(reason=UNREADABLE, message=f"the node cannot be read: {why}")
    return NodeRead(node["metadata"]["name"], False, False, False, {}, DeviceReport(), (trouble,))  # noqa: FBT003 - its facts


def read_pod(pod: Object) -> PodRead:
    """Read a Pod; one whose requests cannot be read counts as a pod on its node, and is a trouble."""
    meta = pod["metadata"]
    name = f"{meta['namespace']}/{meta['name']}"
    trouble, amounts = None, ResourceAmounts()
    try:
        amounts = checked_requests(requests(pod))
    except InvalidQuantity as bad:
        trouble = Trouble(reason="BadPod", message=f"pod {name}: {bad}")
    return PodRead(
        uid=identity(pod),
        name=name,
        node=pod["spec"].get("nodeName") or "",
        finished=finished(pod),
        amounts=amounts,
        accelerators=accelerators(amounts),
        devices=tuple(_devices(pod)),
        trouble=trouble,
        stuck=_stuck(pod),
        model=(pod["spec"].get("nodeSelector") or {}).get(MODEL, ""),
        needs=pod_needs(pod, amounts),
    )


def _stuck(pod: Object) -> bool:
    conditions = (pod.get("status") or {}).get("conditions") or ()
    return not bound(pod) and any((c["type"], c.get("reason")) == ("PodScheduled", "Unschedulable") for c in conditions)


def _devices(pod: Object) -> Iterable[tuple[str, str]]:
    for container in (pod.get("status") or {}).get("containerStatuses") or ():
        for resource in container.get("allocatedResourcesStatus") or ():
            if is_accelerator(resource["name"]):
                for each in resource.get("resources") or ():
                    yield each["resourceID"].partition("::")[0], each.get("health", "Unknown").lower()


def node_seen(
    uid: str,
    node: NodeRead,
    pods: Iterable[PodRead],
    dra: Iterable[Device] = (),
    pools: Iterable[Trouble] = (),
) -> NodeSeen:
    """The level of one node; `uid` is the cluster's incarnation.

    `dra` are its devices by ResourceSlices, `pools` what is wrong with those.
    """
    live = [pod for pod in pods if not pod.finished]
    resources, troubles = _resources(node, live)
    slices = tuple(dra)
    models, more = _models(node, resources, slices)
    devices = slices or (_with_health(node, live) if any(pod.devices for pod in live) else node.devices)
    there = by_model(models, devices)
    first, claimants = next(iter(devices), None), {name for each in slices for name in each.allocated_to}
    troubles += [*node.troubles, *node.report.troubles, *more, *pools, *(pod.trouble for pod in live if pod.trouble)]
    return NodeSeen(
        uid=uid,
        node=node.name,
        ready=node.ready,
        accelerator=first.model if first else "",
        accelerators=sum(there.values()),
        by_model=there,
        control_plane=node.control_plane,
        pool=node.pool,
        schedulable=node.schedulable,
        pods=len(live),
        takers=sum(bool(pod.accelerators) or pod.name in claimants for pod in live),
        resources=resources,
        models=models,
        devices=devices,
        degraded=tuple(
            sorted(
                [*troubles, *(_disagreements(node, slices) if slices else node.disagreements)],
                key=lambda one: (one.reason, one.message),
            )
        ),
    )


def _resources(node: NodeRead, live: list[PodRead]) -> tuple[dict[str, Amount], list[Trouble]]:
    taken: ResourceAmounts = {}
    for pod in live:
        for resource, amount in pod.amounts.items():
            taken[resource] = taken.get(resource, 0) + amount
    taken["pods"] = 1000 * len(live)
    names = [*node.offered, *(name for name in taken if is_accelerator(name) and name not in node.offered)]
    resources, troubles = {}, []
    for name in sorted(names):
        resources[name], trouble = balance(name, node.offered.get(name, 0), taken.get(name, 0))
        troubles += [trouble] if trouble else []
    return resources, troubles


def _models(
    node: NodeRead, resources: Mapping[str, Amount], slices: tuple[Device, ...]
) -> tuple[dict[str, Amount], list[Trouble]]:
    """Accelerators by model: as the node offers them, or without a device plugin as ResourceSlices do."""
    offered = [name for name in resources if is_accelerator(name)]
    if slices and not any(node.offered.get(name) for name in offered):
        return _by_device(slices)
    found: dict[str, list[Amount]] = {}
    for name in offered:
        found.setdefault(_model_of(name, node.report.devices or slices), []).append(
            in_accelerators(name, resources[name])
        )
    return {model: sum_amounts(amounts) for model, amounts in sorted(found.items())}, []


def _by_device(slices: tuple[Device, ...]) -> tuple[dict[str, Amount], list[Trouble]]:
    found, troubles = {}, []
    for model in sorted({_key(each.model, each.mig) for each in slices}):
        alike = [each for each in slices if _key(each.model, each.mig) == model]
        offered, taken = sum(d.health != "unhealthy" for d in alike), sum(bool(d.allocated_to) for d in alike)
        found[model], trouble = balance(model, 1000 * offered, 1000 * taken)
        troubles += [trouble] if trouble else []
    return found, troubles


def _model_of(resource: str, devices: Iterable[Device]) -> str:
    """The model behind a resource; several models are joined by ``+``."""
    vendor = resource.partition(".com/")[0]
    mig = _mig(resource)
    behind = [each for each in devices if (each.mig == mig if mig else _is_whole(each, vendor))]
    return " + ".join(sorted({_key(each.model, each.mig) for each in behind})) or _key(f"{vendor}:unknown", mig)


def _is_whole(device: Device, vendor: str) -> bool:
    """Whether it is offered under the plain resource: not a MIG instance with its own name (``profile-number``)."""
    of_vendor = vendor == "amd" if device.source == "amd" else True
    return of_vendor and not (device.mig and device.id.startswith(f"{device.mig}-"))


def _mig(resource: str) -> str:
    _, found, profile = resource.partition("/mig-")
    return profile if found else ""


def _key(model: str, mig: str) -> str:
    return f"{model} {mig}" if mig else model


def _with_health(node: NodeRead, live: list[PodRead]) -> tuple[Device, ...]:
    """The devices of the labels with the ids and holders that kubelets know; as many healthy as the node offers."""
    known: dict[str, tuple[str, list[str]]] = {}
    for pod in live:
        for device, health in pod.devices:
            known.setdefault(device, (health, []))[1].append(pod.name)
    named = iter(sorted(known.items()))
    left = dict.fromkeys({_name_of(each, node.offered) for each in node.report.devices}, 0)
    left = {name: node.offered.get(name, 0) for name in left}
    devices = []
    for each in node.report.devices:
        name = _name_of(each, node.offered)
        unit = (1_000_000 if name == GPU_MILLI else 1000) * each.shares
        health = (
            "unknown" if each.source == "pci" and not left[name] else "healthy" if left[name] >= unit else "unhealthy"
        )
        left[name] -= unit
        uid, (says, holders) = next(named, ("", (health, []))) if not each.mig else ("", (health, []))
        health = says if says in ("healthy", "unhealthy") else health
        one = each.but(id=uid or each.id, health=health, allocated_to=tuple(sorted(set(holders))))
        devices.append(one)
    return tuple(devices)


def _name_of(device: Device, offered: ResourceAmounts) -> str:
    """The resource a device is offered under."""
    if device.mig and f"nvidia.com/mig-{device.mig}" in offered:
        return f"nvidia.com/mig-{device.mig}"
    whole = [name for name in offered if is_accelerator(name) and not _mig(name)]
    return "amd.com/gpu" if device.source == "amd" and "amd.com/gpu" in whole else next(iter(sorted(whole)), "")


def _disagreements(node: NodeRead, slices: tuple[Device, ...]) -> list[Trouble]:
    """A trouble if sources count different numbers of accelerators."""
    whole = accelerators(node.offered) // 1000
    offers = any(is_accelerator(name) for name in node.offered)
    counts = {}
    if offers or not slices:
        counts["status.allocatable"] = whole
    if slices:
        counts["ResourceSlices"] = sum(each.health != "unhealthy" for each in slices)
    if node.report.count_source:
        counts[node.report.count_source] = node.report.count
    if len(set(counts.values())) < 2:
        return []
    text = ", ".join(f"{source} says {count}" for source, count in counts.items())
    return [Trouble(reason="SourcesDisagree", message=f"accelerators: {text}", raw=dict(counts))]
