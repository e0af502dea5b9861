"""The controller of KubeadmControlPlanes: starts a cluster's API and is deleted last."""

from collections.abc import Iterator, Sequence
from datetime import datetime

from events.kube.client import Object
from events.kube.resources import MACHINES
from services.sandbox.clouds.capi.machine import MachineTemplate, unnamed
from services.sandbox.clouds.capi.scale import motion, rolling
from services.sandbox.clouds.model.actions import Action, AddOwner, Create, Delete, PatchObject, StartApi, WaitUntil
from services.sandbox.clouds.model.annotations import CONTROL_PLANE, CONTROLPLANES, SERVING, STARTED, place
from services.sandbox.clouds.model.conditions import (
    SandboxCondition,
    bullet_list,
    current_condition,
    holds,
    patch_status,
    paused,
    ready,
    up_to_date,
)
from services.sandbox.clouds.model.objects import (
    add_finalizer,
    after,
    annotation,
    deleting,
    marked,
    name,
    owner,
    remove_finalizer,
    replicas,
    since,
    status,
)
from services.sandbox.clouds.model.snapshot import ClusterSnapshot, SimulationRules

FINALIZER = "kubeadm.controlplane.cluster.x-k8s.io"


def control(view: ClusterSnapshot, now: datetime, rules: SimulationRules) -> Iterator[Action]:
    """Reconcile a KubeadmControlPlane."""
    it = view.control
    if it is None:
        return
    greeting = (*add_finalizer(CONTROLPLANES, it, FINALIZER, now), *paused(CONTROLPLANES, it, now))
    yield from greeting[:1]
    if greeting or view.cluster is None or not view.started:
        return
    for part in (
        _report_status(view, it, now),
        _grow(view, it, now),
        _retire(view, it),
        _serve(view, it, now, rules),
        _delete(view, it),
    ):
        changes = tuple(part)
        if changes:
            yield from changes
            if not all(isinstance(each, WaitUntil) for each in changes):
                return


def _grow(view: ClusterSnapshot, it: Object, now: datetime) -> Iterator[Action]:
    """Add machines: the first starts the cluster, the others join one by one; an upgrade surges by one."""
    built = holds(view.cluster, "InfrastructureReady")
    most = replicas(it) + bool(behind(it, view.control_plane_machines))
    if deleting(it) or not built or len(view.control_plane_machines) >= most or "replicas" not in status(it):
        return
    if not view.control_plane_machines or (
        view.initialised and all(holds(each, "Ready") for each in view.control_plane_machines)
    ):
        labels = {CONTROL_PLANE: "", f"{CONTROL_PLANE}-name": name(it)}
        yield from _template(view, it)
        mould = MachineTemplate(it, labels, it["spec"].get("version", ""))
        yield Create(MACHINES, unnamed(view, mould, now, view.control_plane_machines))


def behind(it: Object, machines: Sequence[Object]) -> list[Object]:
    """The machines that do not run the wanted version."""
    return [each for each in machines if each["spec"].get("version", "") != it["spec"].get("version", "")]


def _retire(view: ClusterSnapshot, it: Object) -> Iterator[Action]:
    """Delete a machine of the old version once one of the new version is up."""
    old, up = (
        behind(it, view.control_plane_machines),
        [each for each in view.control_plane_machines if holds(each, "Ready")],
    )
    if old and len(up) > replicas(it) and not any(deleting(each) for each in view.control_plane_machines):
        yield Delete(MACHINES, min(old, key=since))


def _template(view: ClusterSnapshot, it: Object) -> Iterator[Action]:
    """Delete the machine template when the cluster is deleted."""
    ref = it["spec"].get("machineTemplate", {}).get("spec", {}).get("infrastructureRef")
    if ref and view.cluster is not None:
        whole = f"{ref['apiGroup']}/v1beta2"
        yield AddOwner(ref["kind"], whole, view.namespace, ref["name"], owner(view.cluster, controls=False))


def _serve(view: ClusterSnapshot, it: Object, now: datetime, rules: SimulationRules) -> Iterator[Action]:
    """Serve the API a while after the first machine was requested."""
    built = [each for each in view.control_plane_machines if holds(each, "InfrastructureReady")]
    if deleting(it) or annotation(it, SERVING) or not built or view.cluster is None:
        return
    if view.meant(rules.faults.never_ready):
        return
    due = after(marked(built[0], STARTED) or now, rules.clock.control_plane)
    if now < due:
        yield WaitUntil(due)
        return
    yield StartApi(place(view.cluster), view.cluster, it)
    yield PatchObject(CONTROLPLANES, it, {"metadata": {"annotations": {SERVING: "true"}}})


def _delete(view: ClusterSnapshot, it: Object) -> Iterator[Action]:
    if not deleting(it) or view.pools or view.workers:
        return
    if view.control_plane_machines:
        yield from (Delete(MACHINES, each) for each in view.control_plane_machines if not deleting(each))
        return
    yield from remove_finalizer(CONTROLPLANES, it, FINALIZER)


def _report_status(view: ClusterSnapshot, it: Object, now: datetime) -> Iterator[Action]:
    unheard = [each for each in view.control_plane_machines if current_condition(each, "Ready") is None]
    if unheard and not deleting(it):
        return  # as in the recorded life: it speaks of a machine once the machine has spoken
    initialised = view.initialised or holds(view.cluster, "RemoteConnectionProbe")
    up = initialised and any(holds(each, "Ready") for each in view.control_plane_machines) and not deleting(it)
    said = [
        *_available(initialised=initialised, up=up),
        *_certificates(it, view),
        SandboxCondition("Initialized", "True", "Initialized")
        if initialised
        else SandboxCondition("Initialized", "False", "NotInitialized"),
        *_health(view, it, up=up),
        rolling(it["spec"].get("version", ""), behind(it, view.control_plane_machines)),
        SandboxCondition("Remediating", "False", "NotRemediating"),
        *motion(len(view.control_plane_machines), 0 if deleting(it) else replicas(it)),
        ready("MachinesReady", view.control_plane_machines),
        up_to_date("MachinesUpToDate", view.control_plane_machines),
        SandboxCondition("Paused", "False", "NotPaused"),
        _deleting(view, it),
    ]
    yield from patch_status(CONTROLPLANES, it, said, _fields(view, it, initialised=initialised), now)


def _fields(view: ClusterSnapshot, it: Object, *, initialised: bool) -> Object:
    running = [each for each in view.control_plane_machines if holds(each, "Ready")]
    counts: Object = {
        "replicas": len(view.control_plane_machines),
        "readyReplicas": len(running),
        "availableReplicas": len(running),
        "upToDateReplicas": sum(holds(each, "UpToDate") for each in view.control_plane_machines),
        "selector": f"cluster.x-k8s.io/cluster-name={view.name},{CONTROL_PLANE}",
    }
    if initialised:
        generation = it["metadata"].get("generation", 1)
        up = {"initialization": {"controlPlaneInitialized": True}, "observedGeneration": generation}
        return counts | up | ({"version": _version(it, view.control_plane_machines)} if "version" in it["spec"] else {})
    return counts


def _version(it: Object, control_plane_machines: Sequence[Object]) -> str:
    """The oldest version that runs."""
    return str(
        min((each["spec"]["version"] for each in behind(it, control_plane_machines)), default=it["spec"]["version"])
    )


def _available(*, initialised: bool, up: bool) -> list[SandboxCondition]:
    if up:
        return [SandboxCondition("Available", "True", "Available")]
    waiting = "Waiting for etcd to report the list of members" if initialised else "Control plane not yet initialized"
    return [SandboxCondition("Available", "False", "NotAvailable", waiting)]


def _certificates(it: Object, view: ClusterSnapshot) -> list[SandboxCondition]:
    made = view.control_plane_machines or current_condition(it, "CertificatesAvailable")
    return [SandboxCondition("CertificatesAvailable", "True", "Available")] if made else []


def _health(view: ClusterSnapshot, it: Object, *, up: bool) -> list[SandboxCondition]:
    if up:
        return [
            SandboxCondition("EtcdClusterHealthy", "True", "Healthy"),
            SandboxCondition("ControlPlaneComponentsHealthy", "True", "Healthy"),
        ]
    if deleting(it) and view.initialised:
        etcd = bullet_list(
            (f"Machine {name(each)}", "* EtcdMemberHealthy: Machine is deleting")
            for each in view.control_plane_machines
        )
        return [
            SandboxCondition("EtcdClusterHealthy", "False", "NotHealthy", etcd),
            SandboxCondition("ControlPlaneComponentsHealthy", "Unknown", "HealthUnknown"),
        ]
    waiting = "Waiting for Cluster control plane to be initialized"
    if not holds(view.cluster, "InfrastructureReady"):
        waiting = "Waiting for Cluster status.infrastructureReady to be true"
    return [
        SandboxCondition("EtcdClusterHealthy", "Unknown", "InspectionFailed", waiting),
        SandboxCondition("ControlPlaneComponentsHealthy", "Unknown", "InspectionFailed", waiting),
    ]


def _deleting(view: ClusterSnapshot, it: Object) -> SandboxCondition:
    if not deleting(it):
        return SandboxCondition("Deleting", "False", "NotDeleting")
    if view.control_plane_machines and all(_done(each) for each in view.control_plane_machines):
        # As recorded: it names the workers it waits for, and there is none.
        blocked = "KubeadmControlPlane deletion blocked because following objects still exist:\n"
        return SandboxCondition("Deleting", "True", "WaitingForWorkersDeletion", blocked)
    if view.control_plane_machines:
        many = len(view.control_plane_machines)
        going = f"Deleting {many} Machine{'s' if many > 1 else ''}"
        return SandboxCondition("Deleting", "True", "WaitingForMachineDeletion", going)
    return SandboxCondition("Deleting", "True", "DeletionCompleted", "Deletion completed")


def _done(head: Object) -> bool:
    leaving = current_condition(head, "Deleting")
    return leaving is not None and leaving.reason == "DeletionCompleted"
