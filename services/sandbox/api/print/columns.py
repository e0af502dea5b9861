"""The columns that kubectl shows for built-in kinds."""

from collections.abc import Callable
from datetime import datetime

from events.kube.client import Object
from services.sandbox.api.print.jsonpath import path
from services.sandbox.api.print.times import age, human
from services.sandbox.api.schema.kinds import PrinterColumn

Read = Callable[[Object, datetime], object]
Printed = tuple[PrinterColumn, Read]
"""A column and the function that reads its value."""


def _column(name: str, read: Read, type_: str = "string", priority: int = 0) -> Printed:
    return PrinterColumn(name, type_, "", priority), read


def _at(where: str, otherwise: object = "") -> Read:
    find = path(where)
    return lambda item, _: next(iter(find(item)), otherwise)


def _count(where: str) -> Read:
    find = path(where)
    return lambda item, _: sum(len(found) for found in find(item) if isinstance(found, dict | list))


def _joined(where: str, otherwise: str = "<none>") -> Read:
    find = path(where)
    return lambda item, _: ",".join(map(str, find(item))) or otherwise


def _since(where: str) -> Read:
    find = path(where)
    return lambda item, now: age(next((str(v) for v in find(item)), None), now)


def _node_status(node: Object, _: datetime) -> str:
    ready = {c["status"] for c in node.get("status", {}).get("conditions", ()) if c["type"] == "Ready"}
    word = "Ready" if ready == {"True"} else "NotReady" if ready else "Unknown"
    return word + (",SchedulingDisabled" if node.get("spec", {}).get("unschedulable") else "")


def _roles(node: Object, _: datetime) -> str:
    prefix = "node-role.kubernetes.io/"
    labels = node["metadata"].get("labels", {})
    return ",".join(sorted(k.removeprefix(prefix) for k in labels if k.startswith(prefix))) or "<none>"


def _ready_containers(pod: Object, _: datetime) -> str:
    statuses = pod.get("status", {}).get("containerStatuses", ())
    return f"{sum(bool(s.get('ready')) for s in statuses)}/{len(pod.get('spec', {}).get('containers', ()))}"


def _pod_status(pod: Object, _: datetime) -> str:
    if "deletionTimestamp" in pod["metadata"]:
        return "Terminating"
    status = pod.get("status", {})
    for container in status.get("containerStatuses", ()):
        state = container.get("state", {})
        if reason := (state.get("waiting") or state.get("terminated") or {}).get("reason"):
            return str(reason)
    return str(status.get("reason") or status.get("phase") or "Unknown")


def _restarts(pod: Object, _: datetime) -> str:
    return str(sum(s.get("restartCount", 0) for s in pod.get("status", {}).get("containerStatuses", ())))


def _job_status(job: Object, _: datetime) -> str:
    conditions = {c["type"] for c in job.get("status", {}).get("conditions", ()) if c["status"] == "True"}
    words = (
        ("Complete", "Complete"),
        ("Failed", "Failed"),
        ("Suspended", "Suspended"),
        ("FailureTarget", "FailureTarget"),
    )
    leaving = "Terminating" if "deletionTimestamp" in job["metadata"] else "Running"
    return next((word for condition, word in words if condition in conditions), leaving)


def _completions(job: Object, _: datetime) -> str:
    spec = job.get("spec", {})
    return f"{job.get('status', {}).get('succeeded', 0)}/{spec.get('completions', spec.get('parallelism', 1))}"


def _duration(job: Object, now: datetime) -> str:
    status = job.get("status", {})
    if "startTime" not in status:
        return ""
    end = datetime.fromisoformat(status["completionTime"]) if "completionTime" in status else now
    return human(end - datetime.fromisoformat(status["startTime"]))


def _replicas_ready(item: Object, _: datetime) -> str:
    return f"{item.get('status', {}).get('readyReplicas', 0)}/{item.get('spec', {}).get('replicas', 1)}"


def _seen(event: Object, now: datetime) -> str:
    meta = event["metadata"]
    return age(event.get("lastTimestamp") or event.get("eventTime") or meta["creationTimestamp"], now)


def _about(event: Object, _: datetime) -> str:
    about = event.get("involvedObject") or event.get("regarding") or {}
    return f"{about.get('kind', '').lower()}/{about.get('name', '')}"


def _said(event: Object, _: datetime) -> str:
    return str(event.get("message") or event.get("note") or "").strip()


def _ports(service: Object, _: datetime) -> str:
    ports = service.get("spec", {}).get("ports", ())
    return ",".join(f"{p['port']}/{p.get('protocol', 'TCP')}" for p in ports) or "<none>"


_AGE = _column("Age", _since(".metadata.creationTimestamp"))
_CREATED = _column("Created At", _at(".metadata.creationTimestamp"), "date")
_READY = _column("Ready", _replicas_ready)
_EVENT = (
    _column("Last Seen", _seen), _column("Type", _at(".type")), _column("Reason", _at(".reason")),
    _column("Object", _about), _column("Message", _said),
)  # fmt: skip

BUILTIN: dict[str, tuple[Printed, ...]] = {
    "": (_AGE,),
    "Namespace": (_column("Status", _at(".status.phase")), _AGE),
    "Node": (
        _column("Status", _node_status), _column("Roles", _roles), _AGE,
        _column("Version", _at(".status.nodeInfo.kubeletVersion")),
        _column("Internal-IP", _joined('.status.addresses[?(@.type=="InternalIP")].address'), priority=1),
        _column("External-IP", _joined('.status.addresses[?(@.type=="ExternalIP")].address'), priority=1),
        _column("OS-Image", _at(".status.nodeInfo.osImage", "<unknown>"), priority=1),
        _column("Kernel-Version", _at(".status.nodeInfo.kernelVersion", "<unknown>"), priority=1),
        _column("Container-Runtime", _at(".status.nodeInfo.containerRuntimeVersion", "<unknown>"), priority=1),
    ),
    "Pod": (
        _column("Ready", _ready_containers), _column("Status", _pod_status), _column("Restarts", _restarts), _AGE,
        _column("IP", _at(".status.podIP", "<none>"), priority=1),
        _column("Node", _at(".spec.nodeName", "<none>"), priority=1),
        _column("Nominated Node", _at(".status.nominatedNodeName", "<none>"), priority=1),
        _column("Readiness Gates", lambda *_: "<none>", priority=1),
    ),
    "Job": (
        _column("Status", _job_status), _column("Completions", _completions), _column("Duration", _duration), _AGE,
        _column("Containers", _joined(".spec.template.spec.containers[*].name"), priority=1),
        _column("Images", _joined(".spec.template.spec.containers[*].image"), priority=1),
    ),
    "Deployment": (
        _READY, _column("Up-to-date", _at(".status.updatedReplicas", 0), "integer"),
        _column("Available", _at(".status.availableReplicas", 0), "integer"), _AGE,
        _column("Containers", _joined(".spec.template.spec.containers[*].name"), priority=1),
        _column("Images", _joined(".spec.template.spec.containers[*].image"), priority=1),
    ),
    "StatefulSet": (_READY, _AGE),
    "DaemonSet": (
        _column("Desired", _at(".status.desiredNumberScheduled", 0), "integer"),
        _column("Current", _at(".status.currentNumberScheduled", 0), "integer"),
        _column("Ready", _at(".status.numberReady", 0), "integer"), _AGE,
    ),
    "ReplicaSet": (
        _column("Desired", _at(".spec.replicas", 0), "integer"),
        _column("Current", _at(".status.replicas", 0), "integer"),
        _column("Ready", _at(".status.readyReplicas", 0), "integer"), _AGE,
    ),
    "Secret": (_column("Type", _at(".type")), _column("Data", _count(".data")), _AGE),
    "ConfigMap": (_column("Data", _count(".data")), _AGE),
    "Service": (
        _column("Type", _at(".spec.type")), _column("Cluster-IP", _at(".spec.clusterIP", "<none>")),
        _column("External-IP", _joined(".status.loadBalancer.ingress[*].ip")), _column("Port(s)", _ports), _AGE,
    ),
    "ServiceAccount": (_AGE,),
    "StorageClass": (
        _column("Provisioner", _at(".provisioner")), _column("ReclaimPolicy", _at(".reclaimPolicy", "Delete")),
        _column("VolumeBindingMode", _at(".volumeBindingMode", "Immediate")),
        _column("AllowVolumeExpansion", _at(".allowVolumeExpansion", otherwise=False), "boolean"), _AGE,
    ),
    "Lease": (_column("Holder", _at(".spec.holderIdentity")), _AGE),
    "Event": _EVENT,
    "CustomResourceDefinition": (_CREATED,),
    "Role": (_CREATED,),
    "RoleBinding": (_column("Role", lambda b, _: f"{b['roleRef']['kind']}/{b['roleRef']['name']}"), _AGE),
    "ClusterRole": (_CREATED,),
    "ClusterRoleBinding": (_column("Role", lambda b, _: f"{b['roleRef']['kind']}/{b['roleRef']['name']}"), _AGE),
}  # fmt: skip
