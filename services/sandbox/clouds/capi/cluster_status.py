"""The status of a Cluster: the conditions of all its parts, summed up as Cluster API does."""

from collections.abc import Iterator, Sequence
from datetime import datetime

from events.kube.client import Object
from events.kube.resources import CLUSTERS
from services.sandbox.clouds.model.actions import Action, PatchObject
from services.sandbox.clouds.model.annotations import DEPLOYMENT_NAME, SERVING
from services.sandbox.clouds.model.conditions import (
    SandboxCondition,
    bullet_list,
    current_condition,
    holds,
    patch_status,
    ready,
    summed,
    up_to_date,
)
from services.sandbox.clouds.model.objects import annotation, deleting, label, name, replicas, stamp, status
from services.sandbox.clouds.model.snapshot import ClusterSnapshot, SimulationRules

COUNTS = ("readyReplicas", "availableReplicas", "upToDateReplicas", "replicas")
Who = tuple[str, SandboxCondition | None]


def stage(view: ClusterSnapshot) -> str:
    """What the deletion of a Cluster waits for."""
    if view.pools or view.sets or view.workers:
        return "WaitingForWorkersDeletion"
    if view.control is not None:
        return "WaitingForControlPlaneDeletion"
    return "DeletionCompleted" if view.infra is None else "WaitingForInfrastructureDeletion"


def report_status(view: ClusterSnapshot, it: Object, now: datetime, rules: SimulationRules) -> Iterator[Action]:
    conditions = _conditions(view, it, now, rules)
    said = tuple(patch_status(CLUSTERS, it, conditions, {}, now))
    provisioned = view.infra is not None and holds(it, "InfrastructureReady")
    endpoint = view.infra["spec"].get("controlPlaneEndpoint") if view.infra and provisioned else None
    if said:
        yield from said
    elif endpoint and not it["spec"].get("controlPlaneEndpoint") and not deleting(it):
        yield PatchObject(CLUSTERS, it, {"spec": {"controlPlaneEndpoint": endpoint}})
    else:
        yield from patch_status(CLUSTERS, it, conditions, _fields(view, it), now)


def _fields(view: ClusterSnapshot, it: Object) -> Object:
    initialization = {
        key: True
        for key, so in (
            ("infrastructureProvisioned", holds(it, "InfrastructureReady") or _was(it, "infrastructureProvisioned")),
            ("controlPlaneInitialized", holds(it, "ControlPlaneInitialized")),
        )
        if so
    }
    return {
        "phase": _phase(it, initialization),
        "observedGeneration": it["metadata"].get("generation", 1),
        "controlPlane": _counts([view.control] if view.control else []),
        "workers": _counts(view.pools),
    } | ({"initialization": initialization} if initialization else {})


def _was(it: Object, key: str) -> bool:
    return bool(status(it).get("initialization", {}).get(key))


def _phase(it: Object, initialization: Object) -> str:
    if deleting(it):
        return "Deleting"
    return "Provisioned" if initialization.get("infrastructureProvisioned") else "Provisioning"


def _counts(parts: Sequence[Object]) -> Object:
    if not parts:
        return {}
    desired = {"desiredReplicas": sum(map(replicas, parts))}
    said = {key: sum(status(each).get(key, 0) for each in parts) for key in COUNTS}
    return desired | said if all("replicas" in status(each) for each in parts) else desired


def _conditions(view: ClusterSnapshot, it: Object, now: datetime, rules: SimulationRules) -> list[SandboxCondition]:
    parts = [_probe(view, it, now, rules), _infrastructure(view, it), _control(view, it), _workers(view)]
    initialised = view.initialised or _initialised(view)
    leaving = (
        SandboxCondition("Deleting", "True", stage(view), _left(view))
        if deleting(it)
        else SandboxCondition("Deleting", "False", "NotDeleting")
    )
    return [
        _available(parts, leaving),
        *parts[:2],
        SandboxCondition("ControlPlaneInitialized", "True", "Initialized")
        if initialised
        else SandboxCondition(
            "ControlPlaneInitialized", "False", "NotInitialized", "Control plane not yet initialized"
        ),
        *parts[2:],
        *_motion(view),
        *_machines(view, it),
        SandboxCondition("Paused", "False", "NotPaused"),
        leaving,
    ]


def _initialised(view: ClusterSnapshot) -> bool:
    return bool(view.control and status(view.control).get("initialization", {}).get("controlPlaneInitialized"))


def _available(parts: list[SandboxCondition], leaving: SandboxCondition) -> SandboxCondition:
    lines = [(each.type, each.message or each.reason) for each in parts if not each.true]
    if leaving.true:
        lines.append(("Deleting", leaving.message))
    if lines:
        return SandboxCondition("Available", "False", "NotAvailable", bullet_list(lines))
    return SandboxCondition("Available", "True", "Available")


def _probe(view: ClusterSnapshot, it: Object, now: datetime, rules: SimulationRules) -> SandboxCondition:
    before = current_condition(it, "RemoteConnectionProbe")
    if deleting(it) and before:
        return before
    if view.control is None or not annotation(view.control, SERVING):
        waiting = "Remote connection not established yet"
        return SandboxCondition("RemoteConnectionProbe", "False", "ProbeFailed", waiting)
    if not view.meant(rules.faults.lost_probe):
        return SandboxCondition("RemoteConnectionProbe", "True", "ProbeSucceeded")
    if before and not before.true:
        return before
    lost = f"Remote connection probe failed, probe last succeeded at {stamp(now)}"
    return SandboxCondition("RemoteConnectionProbe", "False", "ProbeFailed", lost)


def _infrastructure(view: ClusterSnapshot, it: Object) -> SandboxCondition:
    kind = it["spec"].get("infrastructureRef", {}).get("kind", "Infrastructure")
    if view.infra is None:
        reason, verb = ("ObjectDeleted", "has been deleted") if deleting(it) else ("DoesNotExist", "does not exist")
        return SandboxCondition("InfrastructureReady", "False", reason, f"{kind} {verb}")
    if status(view.infra).get("initialization", {}).get("provisioned"):
        return SandboxCondition("InfrastructureReady", "True", "Ready")
    said = current_condition(view.infra, "Ready")
    waiting = said.message if said and said.message else f"{kind} status.initialization.provisioned is false"
    return SandboxCondition("InfrastructureReady", "False", "NotReady", waiting)


def _control(view: ClusterSnapshot, it: Object) -> SandboxCondition:
    kind = it["spec"].get("controlPlaneRef", {}).get("kind", "ControlPlane")
    if view.control is None:
        reason, verb = ("ObjectDeleted", "has been deleted") if deleting(it) else ("DoesNotExist", "does not exist")
        return SandboxCondition("ControlPlaneAvailable", "False", reason, f"{kind} {verb}")
    said = current_condition(view.control, "Available")
    waiting = f"{kind} status.initialization.controlPlaneInitialized is false"
    return (said or SandboxCondition("", "False", "NotAvailable", waiting)).named("ControlPlaneAvailable")


def _workers(view: ClusterSnapshot) -> SandboxCondition:
    of = [
        (f"MachineDeployment {name(pool)}", current_condition(pool, "Available"))
        for pool in view.pools
        if _counts_still(view, pool)
    ]
    if not of:
        return SandboxCondition("WorkersAvailable", "True", "NoWorkers")
    lines = [
        (who, one.message if one else "Condition Available not yet reported")
        for who, one in of
        if not (one and one.true)
    ]
    if not lines:
        return SandboxCondition("WorkersAvailable", "True", "Available")
    if any(one and one.status == "False" for _, one in of):
        return SandboxCondition("WorkersAvailable", "False", "NotAvailable", bullet_list(lines))
    return SandboxCondition("WorkersAvailable", "Unknown", "AvailableUnknown", bullet_list(lines))


def _counts_still(view: ClusterSnapshot, pool: Object) -> bool:
    """In the recorded run a pool reported nothing after its last MachineSet was deleted."""
    return not deleting(pool) or any(label(each, DEPLOYMENT_NAME) == name(pool) for each in view.sets)


def _motion(view: ClusterSnapshot) -> list[SandboxCondition]:
    def of(type_: str) -> list[Who]:
        head = (
            [(f"KubeadmControlPlane {name(view.control)}", current_condition(view.control, type_))]
            if view.control
            else []
        )
        return head + [(f"MachineDeployment {name(pool)}", current_condition(pool, type_)) for pool in view.pools]

    def one(type_: str) -> SandboxCondition:
        return summed(type_, of(type_), true=type_, unknown=f"{type_}Unknown", false=f"Not{type_}")

    return [
        one("RollingOut"),
        SandboxCondition("Remediating", "False", "NotRemediating"),
        one("ScalingDown"),
        one("ScalingUp"),
    ]


def _machines(view: ClusterSnapshot, it: Object) -> list[SandboxCondition]:
    before = current_condition(it, "WorkerMachinesReady"), current_condition(it, "WorkerMachinesUpToDate")
    workers = ready("WorkerMachinesReady", view.workers), up_to_date("WorkerMachinesUpToDate", view.workers)
    shown = (
        tuple(one or other for one, other in zip(before, workers, strict=True)) if view.creating_machines else workers
    )
    return [
        ready("ControlPlaneMachinesReady", view.control_plane_machines),
        shown[0],
        up_to_date("ControlPlaneMachinesUpToDate", view.control_plane_machines),
        shown[1],
    ]


def _left(view: ClusterSnapshot) -> str:
    kinds = (("MachineDeployments", view.pools), ("MachineSets", view.sets), ("Worker Machines", view.workers))
    lines = [f"* {kind}: {', '.join(map(name, some))}" for kind, some in kinds if some]
    if lines:
        return "\n".join(lines)
    for each in (view.control, view.infra):
        if each is not None:
            return f"Waiting for {each['kind']} to be deleted"
    return "Deletion completed"
