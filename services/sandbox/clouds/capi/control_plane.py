"""The control plane brings a cluster's own API to life, and is the last of it to go."""

from collections.abc import Iterator, Sequence
from datetime import datetime

from events.kube.client import Object
from events.kube.resources import MACHINES
from services.sandbox.clouds.capi.machine import Mould, unnamed
from services.sandbox.clouds.capi.scale import motion, rolling
from services.sandbox.clouds.model.actions import Adopt, Change, Edit, End, Found, Make, Wait
from services.sandbox.clouds.model.annotations import CONTROL_PLANE, CONTROLPLANES, SERVING, STARTED, place
from services.sandbox.clouds.model.conditions import Told, bullets, holds, paused, ready, tell, told, up_to_date
from services.sandbox.clouds.model.objects import (
    after,
    annotation,
    deleting,
    greet,
    let_go,
    marked,
    name,
    owner,
    replicas,
    since,
    status,
)
from services.sandbox.clouds.model.snapshot import Laws, View

FINALIZER = "kubeadm.controlplane.cluster.x-k8s.io"


def control(view: View, now: datetime, laws: Laws) -> Iterator[Change]:
    """One look at a KubeadmControlPlane."""
    it = view.control
    if it is None:
        return
    greeting = (*greet(CONTROLPLANES, it, FINALIZER, now), *paused(CONTROLPLANES, it, now))
    yield from greeting[:1]
    if greeting or view.cluster is None or not view.started:
        return
    for part in (
        _speak(view, it, now),
        _grow(view, it, now),
        _retire(view, it),
        _serve(view, it, now, laws),
        _leave(view, it),
    ):
        changes = tuple(part)
        if changes:
            yield from changes
            if not all(isinstance(each, Wait) for each in changes):
                return


def _grow(view: View, it: Object, now: datetime) -> Iterator[Change]:
    """The first machine founds the cluster, the others join it one by one; of another version, one at a time more."""
    built = holds(view.cluster, "InfrastructureReady")
    most = replicas(it) + bool(behind(it, view.heads))
    if deleting(it) or not built or len(view.heads) >= most or "replicas" not in status(it):
        return
    if not view.heads or (view.initialised and all(holds(each, "Ready") for each in view.heads)):
        labels = {CONTROL_PLANE: "", f"{CONTROL_PLANE}-name": name(it)}
        yield from _template(view, it)
        mould = Mould(it, labels, it["spec"].get("version", ""))
        yield Make(MACHINES, unnamed(view, mould, now, view.heads))


def behind(it: Object, machines: Sequence[Object]) -> list[Object]:
    """Those that are not of the version it is to have."""
    return [each for each in machines if each["spec"].get("version", "") != it["spec"].get("version", "")]


def _retire(view: View, it: Object) -> Iterator[Change]:
    """Once a machine of the new version is up, one of the old goes."""
    old, up = behind(it, view.heads), [each for each in view.heads if holds(each, "Ready")]
    if old and len(up) > replicas(it) and not any(deleting(each) for each in view.heads):
        yield End(MACHINES, min(old, key=since))


def _template(view: View, it: Object) -> Iterator[Change]:
    """What its machines are made from goes when the cluster goes."""
    ref = it["spec"].get("machineTemplate", {}).get("spec", {}).get("infrastructureRef")
    if ref and view.cluster is not None:
        whole = f"{ref['apiGroup']}/v1beta2"
        yield Adopt(ref["kind"], whole, view.namespace, ref["name"], owner(view.cluster, controls=False))


def _serve(view: View, it: Object, now: datetime, laws: Laws) -> Iterator[Change]:
    """Its API answers a while after its first machine was asked for."""
    built = [each for each in view.heads if holds(each, "InfrastructureReady")]
    if deleting(it) or annotation(it, SERVING) or not built or view.cluster is None:
        return
    if view.meant(laws.faults.never_ready):
        return
    due = after(marked(built[0], STARTED) or now, laws.clock.control_plane)
    if now < due:
        yield Wait(due)
        return
    yield Found(place(view.cluster), view.cluster, it)
    yield Edit(CONTROLPLANES, it, {"metadata": {"annotations": {SERVING: "true"}}})


def _leave(view: View, it: Object) -> Iterator[Change]:
    if not deleting(it) or view.pools or view.workers:
        return
    if view.heads:
        yield from (End(MACHINES, each) for each in view.heads if not deleting(each))
        return
    yield from let_go(CONTROLPLANES, it, FINALIZER)


def _speak(view: View, it: Object, now: datetime) -> Iterator[Change]:
    unheard = [each for each in view.heads if told(each, "Ready") is None]
    if unheard and not deleting(it):
        return  # as in the recorded life: it speaks of a machine once the machine has spoken
    initialised = view.initialised or holds(view.cluster, "RemoteConnectionProbe")
    up = initialised and any(holds(each, "Ready") for each in view.heads) and not deleting(it)
    said = [
        *_available(initialised=initialised, up=up),
        *_certificates(it, view),
        Told("Initialized", "True", "Initialized") if initialised else Told("Initialized", "False", "NotInitialized"),
        *_health(view, it, up=up),
        rolling(it["spec"].get("version", ""), behind(it, view.heads)),
        Told("Remediating", "False", "NotRemediating"),
        *motion(len(view.heads), 0 if deleting(it) else replicas(it)),
        ready("MachinesReady", view.heads),
        up_to_date("MachinesUpToDate", view.heads),
        Told("Paused", "False", "NotPaused"),
        _deleting(view, it),
    ]
    yield from tell(CONTROLPLANES, it, said, _fields(view, it, initialised=initialised), now)


def _fields(view: View, it: Object, *, initialised: bool) -> Object:
    running = [each for each in view.heads if holds(each, "Ready")]
    counts: Object = {
        "replicas": len(view.heads),
        "readyReplicas": len(running),
        "availableReplicas": len(running),
        "upToDateReplicas": sum(holds(each, "UpToDate") for each in view.heads),
        "selector": f"cluster.x-k8s.io/cluster-name={view.name},{CONTROL_PLANE}",
    }
    if initialised:
        generation = it["metadata"].get("generation", 1)
        up = {"initialization": {"controlPlaneInitialized": True}, "observedGeneration": generation}
        return counts | up | ({"version": _version(it, view.heads)} if "version" in it["spec"] else {})
    return counts


def _version(it: Object, heads: Sequence[Object]) -> str:
    """The oldest that runs."""
    return str(min((each["spec"]["version"] for each in behind(it, heads)), default=it["spec"]["version"]))


def _available(*, initialised: bool, up: bool) -> list[Told]:
    if up:
        return [Told("Available", "True", "Available")]
    waiting = "Waiting for etcd to report the list of members" if initialised else "Control plane not yet initialized"
    return [Told("Available", "False", "NotAvailable", waiting)]


def _certificates(it: Object, view: View) -> list[Told]:
    made = view.heads or told(it, "CertificatesAvailable")
    return [Told("CertificatesAvailable", "True", "Available")] if made else []


def _health(view: View, it: Object, *, up: bool) -> list[Told]:
    if up:
        return [
            Told("EtcdClusterHealthy", "True", "Healthy"),
            Told("ControlPlaneComponentsHealthy", "True", "Healthy"),
        ]
    if deleting(it) and view.initialised:
        etcd = bullets((f"Machine {name(each)}", "* EtcdMemberHealthy: Machine is deleting") for each in view.heads)
        return [
            Told("EtcdClusterHealthy", "False", "NotHealthy", etcd),
            Told("ControlPlaneComponentsHealthy", "Unknown", "HealthUnknown"),
        ]
    waiting = "Waiting for Cluster control plane to be initialized"
    if not holds(view.cluster, "InfrastructureReady"):
        waiting = "Waiting for Cluster status.infrastructureReady to be true"
    return [
        Told("EtcdClusterHealthy", "Unknown", "InspectionFailed", waiting),
        Told("ControlPlaneComponentsHealthy", "Unknown", "InspectionFailed", waiting),
    ]


def _deleting(view: View, it: Object) -> Told:
    if not deleting(it):
        return Told("Deleting", "False", "NotDeleting")
    if view.heads and all(_done(each) for each in view.heads):
        # As recorded: it names the workers it waits for, and there is none.
        blocked = "KubeadmControlPlane deletion blocked because following objects still exist:\n"
        return Told("Deleting", "True", "WaitingForWorkersDeletion", blocked)
    if view.heads:
        many = len(view.heads)
        going = f"Deleting {many} Machine{'s' if many > 1 else ''}"
        return Told("Deleting", "True", "WaitingForMachineDeletion", going)
    return Told("Deleting", "True", "DeletionCompleted", "Deletion completed")


def _done(head: Object) -> bool:
    leaving = told(head, "Deleting")
    return leaving is not None and leaving.reason == "DeletionCompleted"
