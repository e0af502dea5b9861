"""What a machine says of itself: each condition from what is written on the Machine alone."""

from collections.abc import Iterator
from datetime import datetime

from events.kube.client import Object
from events.kube.resources import MACHINES
from services.sandbox.clouds.model.actions import Change
from services.sandbox.clouds.model.annotations import CONTROL_PLANE, DARK, DEPLOYMENT_NAME, PREEMPTED, STARTED
from services.sandbox.clouds.model.conditions import Told, bullets, tell, told
from services.sandbox.clouds.model.objects import annotation, label, marked, name, status
from services.sandbox.clouds.model.snapshot import Laws, View

FINALIZER = "machine.cluster.x-k8s.io"
GATES = (
    "EtcdPodHealthy",
    "EtcdMemberHealthy",
    "APIServerPodHealthy",
    "ControllerManagerPodHealthy",
    "SchedulerPodHealthy",
)
WAITING = "Waiting for Cluster control plane to be initialized"


def head(it: Object) -> bool:
    return CONTROL_PLANE in it["metadata"]["labels"]


def refusal(view: View, it: Object, laws: Laws) -> str:
    return "" if head(it) else laws.faults.refusal(view.order(it))


def may_boot(view: View, it: Object) -> bool:
    return view.initialised or (CONTROL_PLANE in it["metadata"]["labels"] and it is view.heads[0])


def speak(view: View, it: Object, now: datetime, laws: Laws) -> Iterator[Change]:
    parts = [_bootstrap(view, it), _infrastructure(view, it, laws), *_node(it)]
    gates = _gates(it) if head(it) else []
    said = everything(up_to_date(view, it), parts, gates, Told("Deleting", "False", "NotDeleting"))
    yield from tell(MACHINES, it, said, _fields(it), now)


def everything(newest: Told, parts: list[Told], gates: list[Told], leaving: Told) -> list[Told]:
    ready = _ready([*parts[:3], *gates], leaving)
    available = ready.named("Available") if ready.true else Told("Available", "False", "NotReady", ready.message)
    return [
        available._replace(reason="Available") if ready.true else available,
        ready,
        newest,
        *parts,
        *gates,
        Told("Updating", "False", "NotUpdating"),
        Told("Paused", "False", "NotPaused"),
        leaving,
    ]


def up_to_date(view: View, it: Object) -> Told:
    """Whether it is of the version that its control plane, or its pool, is to have now."""
    has, wanted = it["spec"].get("version", ""), _wanted(view, it)
    if wanted in (None, has):
        return Told("UpToDate", "True", "UpToDate")
    return Told("UpToDate", "False", "NotUpToDate", f"* Version {has}, {wanted} required")


def _wanted(view: View, it: Object) -> str | None:
    """None where nobody says."""
    if head(it):
        return str(view.control["spec"].get("version", "")) if view.control else None
    own = (each for each in view.pools if name(each) == label(it, DEPLOYMENT_NAME))
    return next((str(each["spec"]["template"]["spec"].get("version", "")) for each in own), None)


def _ready(parts: list[Told], leaving: Told) -> Told:
    if leaving.true:
        stage = f"* Deleting: Machine deletion in progress, stage: {leaving.reason}"
        return Told("Ready", "False", "NotReady", stage)
    lines = bullets((each.type, each.message) for each in parts if not each.true)
    if any(each.status == "False" for each in parts):
        return Told("Ready", "False", "NotReady", lines)
    return Told("Ready", "Unknown", "ReadyUnknown", lines) if lines else Told("Ready", "True", "Ready")


def _bootstrap(view: View, it: Object) -> Told:
    if told(it, "BootstrapConfigReady") and may_boot(view, it):
        return Told("BootstrapConfigReady", "True", "Ready")
    waiting = "KubeadmConfig status.initialization.dataSecretCreated is false"
    if not view.initialised and not head(it):
        waiting = f"* DataSecretAvailable: {WAITING}\n* CertificatesAvailable: Condition not yet reported"
    return Told("BootstrapConfigReady", "False", "NotReady", waiting)


def _infrastructure(view: View, it: Object, laws: Laws) -> Told:
    if annotation(it, PREEMPTED):
        taken = "* VMProvisioned: the cloud has taken the instance back"
        return Told("InfrastructureReady", "False", "NotReady", taken)
    if "nodeRef" in status(it) or (head(it) and it["spec"].get("providerID")):
        return Told("InfrastructureReady", "True", "Ready")
    asked = marked(it, STARTED) and not it["spec"].get("providerID")
    refused = refusal(view, it, laws) if asked else ""
    waiting = f"* VMProvisioned: {refused}" if refused else "DevMachine status.initialization.provisioned is false"
    return Told("InfrastructureReady", "False", "NotReady", waiting)


def _node(it: Object) -> list[Told]:
    if annotation(it, PREEMPTED):
        gone = f"Node {name(it)} has been deleted while the Machine still exists"
        return [Told("NodeHealthy", "False", "NodeDeleted", gone), Told("NodeReady", "False", "NodeDeleted", gone)]
    if annotation(it, DARK):
        unheard = "* Node.Ready: Kubelet stopped posting node status."
        return [
            Told("NodeHealthy", "Unknown", "NodeHealthyUnknown", unheard),
            Told("NodeReady", "Unknown", "NodeReadyUnknown", unheard),
        ]
    if "nodeRef" in status(it):
        return [Told("NodeHealthy", "True", "NodeHealthy"), Told("NodeReady", "True", "NodeReady")]
    unseen = Told("NodeHealthy", "Unknown", "InspectionFailed", WAITING)
    return [unseen, unseen.named("NodeReady")]


def _gates(it: Object) -> list[Told]:
    if "nodeRef" not in status(it):
        return [Told(gate, "Unknown", "InspectionFailed", WAITING) for gate in GATES]
    return [Told(gate, "True", "Healthy" if gate == "EtcdMemberHealthy" else "Running") for gate in GATES]


def _fields(it: Object) -> Object:
    spec = it["spec"]
    done = {
        "bootstrapDataSecretCreated": bool(spec["bootstrap"].get("dataSecretName")),
        "infrastructureProvisioned": bool(spec.get("providerID")),
    }
    initialization = {key: True for key, so in done.items() if so}
    fields = {"phase": _phase(it, len(initialization)), "observedGeneration": it["metadata"].get("generation", 1)}
    return fields | ({"initialization": initialization} if initialization else {})


def _phase(it: Object, done: int) -> str:
    return "Running" if "nodeRef" in status(it) else ("Pending", "Provisioning", "Provisioned")[done]
