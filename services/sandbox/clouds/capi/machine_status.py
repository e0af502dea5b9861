"""The status of a Machine, computed from the Machine alone."""

from collections.abc import Iterator
from datetime import datetime

from events.kube.client import Object
from events.kube.resources import MACHINES
from services.sandbox.clouds.model.actions import Action
from services.sandbox.clouds.model.annotations import CONTROL_PLANE, DARK, DEPLOYMENT_NAME, PREEMPTED, STARTED
from services.sandbox.clouds.model.conditions import SandboxCondition, bullet_list, current_condition, patch_status
from services.sandbox.clouds.model.objects import annotation, label, marked, name, status
from services.sandbox.clouds.model.snapshot import ClusterSnapshot, SimulationRules

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


def refusal(view: ClusterSnapshot, it: Object, rules: SimulationRules) -> str:
    return "" if head(it) else rules.faults.refusal(view.order(it))


def may_boot(view: ClusterSnapshot, it: Object) -> bool:
    return view.initialised or (CONTROL_PLANE in it["metadata"]["labels"] and it is view.control_plane_machines[0])


def report_status(view: ClusterSnapshot, it: Object, now: datetime, rules: SimulationRules) -> Iterator[Action]:
    parts = [_bootstrap(view, it), _infrastructure(view, it, rules), *_node(it)]
    gates = _gates(it) if head(it) else []
    said = everything(up_to_date(view, it), parts, gates, SandboxCondition("Deleting", "False", "NotDeleting"))
    yield from patch_status(MACHINES, it, said, _fields(it), now)


def everything(
    newest: SandboxCondition, parts: list[SandboxCondition], gates: list[SandboxCondition], leaving: SandboxCondition
) -> list[SandboxCondition]:
    ready = _ready([*parts[:3], *gates], leaving)
    available = (
        ready.named("Available") if ready.true else SandboxCondition("Available", "False", "NotReady", ready.message)
    )
    return [
        available._replace(reason="Available") if ready.true else available,
        ready,
        newest,
        *parts,
        *gates,
        SandboxCondition("Updating", "False", "NotUpdating"),
        SandboxCondition("Paused", "False", "NotPaused"),
        leaving,
    ]


def up_to_date(view: ClusterSnapshot, it: Object) -> SandboxCondition:
    """Whether it runs the version that its control plane or its pool wants."""
    has, wanted = it["spec"].get("version", ""), _wanted(view, it)
    if wanted in (None, has):
        return SandboxCondition("UpToDate", "True", "UpToDate")
    return SandboxCondition("UpToDate", "False", "NotUpToDate", f"* Version {has}, {wanted} required")


def _wanted(view: ClusterSnapshot, it: Object) -> str | None:
    """The wanted version; None where nothing sets one."""
    if head(it):
        return str(view.control["spec"].get("version", "")) if view.control else None
    own = (each for each in view.pools if name(each) == label(it, DEPLOYMENT_NAME))
    return next((str(each["spec"]["template"]["spec"].get("version", "")) for each in own), None)


def _ready(parts: list[SandboxCondition], leaving: SandboxCondition) -> SandboxCondition:
    if leaving.true:
        stage = f"* Deleting: Machine deletion in progress, stage: {leaving.reason}"
        return SandboxCondition("Ready", "False", "NotReady", stage)
    lines = bullet_list((each.type, each.message) for each in parts if not each.true)
    if any(each.status == "False" for each in parts):
        return SandboxCondition("Ready", "False", "NotReady", lines)
    return (
        SandboxCondition("Ready", "Unknown", "ReadyUnknown", lines)
        if lines
        else SandboxCondition("Ready", "True", "Ready")
    )


def _bootstrap(view: ClusterSnapshot, it: Object) -> SandboxCondition:
    if current_condition(it, "BootstrapConfigReady") and may_boot(view, it):
        return SandboxCondition("BootstrapConfigReady", "True", "Ready")
    waiting = "KubeadmConfig status.initialization.dataSecretCreated is false"
    if not view.initialised and not head(it):
        waiting = f"* DataSecretAvailable: {WAITING}\n* CertificatesAvailable: Condition not yet reported"
    return SandboxCondition("BootstrapConfigReady", "False", "NotReady", waiting)


def _infrastructure(view: ClusterSnapshot, it: Object, rules: SimulationRules) -> SandboxCondition:
    if annotation(it, PREEMPTED):
        taken = "* VMProvisioned: the cloud has taken the instance back"
        return SandboxCondition("InfrastructureReady", "False", "NotReady", taken)
    if "nodeRef" in status(it) or (head(it) and it["spec"].get("providerID")):
        return SandboxCondition("InfrastructureReady", "True", "Ready")
    asked = marked(it, STARTED) and not it["spec"].get("providerID")
    refused = refusal(view, it, rules) if asked else ""
    waiting = f"* VMProvisioned: {refused}" if refused else "DevMachine status.initialization.provisioned is false"
    return SandboxCondition("InfrastructureReady", "False", "NotReady", waiting)


def _node(it: Object) -> list[SandboxCondition]:
    if annotation(it, PREEMPTED):
        gone = f"Node {name(it)} has been deleted while the Machine still exists"
        return [
            SandboxCondition("NodeHealthy", "False", "NodeDeleted", gone),
            SandboxCondition("NodeReady", "False", "NodeDeleted", gone),
        ]
    if annotation(it, DARK):
        unheard = "* Node.Ready: Kubelet stopped posting node status."
        return [
            SandboxCondition("NodeHealthy", "Unknown", "NodeHealthyUnknown", unheard),
            SandboxCondition("NodeReady", "Unknown", "NodeReadyUnknown", unheard),
        ]
    if "nodeRef" in status(it):
        return [
            SandboxCondition("NodeHealthy", "True", "NodeHealthy"),
            SandboxCondition("NodeReady", "True", "NodeReady"),
        ]
    unseen = SandboxCondition("NodeHealthy", "Unknown", "InspectionFailed", WAITING)
    return [unseen, unseen.named("NodeReady")]


def _gates(it: Object) -> list[SandboxCondition]:
    if "nodeRef" not in status(it):
        return [SandboxCondition(gate, "Unknown", "InspectionFailed", WAITING) for gate in GATES]
    return [SandboxCondition(gate, "True", "Healthy" if gate == "EtcdMemberHealthy" else "Running") for gate in GATES]


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
