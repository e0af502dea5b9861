"""A Node as its machine's shape and place define it."""

from datetime import datetime

from events.kube.client import Object
from services.sandbox.clouds.model.annotations import CONTROL_PLANE, DARK, INSTANCE, NODE_LABELS
from services.sandbox.clouds.model.objects import annotation, name, stamp
from services.sandbox.clouds.model.shapes import SMALL, MachineShape
from services.sandbox.clouds.model.snapshot import ClusterSnapshot, SimulationRules

GPU = "nvidia.com/gpu"
HEAD = "node-role.kubernetes.io/control-plane"
PODS = "110"
"""The kubelet's own limit."""


def node(view: ClusterSnapshot, machine: Object, rules: SimulationRules, now: datetime) -> Object:
    """A machine's Node, Ready."""
    head = CONTROL_PLANE in machine["metadata"]["labels"]
    shape = SMALL if head else view.shape(machine, rules)
    spec: Object = {"providerID": machine["spec"]["providerID"]}
    if head:
        spec["taints"] = [{"key": HEAD, "effect": "NoSchedule"}]
    ready = "Unknown" if silent(view, machine, rules) else "True"
    return {
        "metadata": {"name": name(machine), "labels": _labels(view, machine, shape, head=head)},
        "spec": spec,
        "status": _status(machine, shape, broken(view, machine, rules), ready, now),
    }


def _labels(view: ClusterSnapshot, machine: Object, shape: MachineShape, *, head: bool) -> dict[str, str]:
    order = view.order(machine)
    labels = {
        "kubernetes.io/hostname": name(machine),
        "kubernetes.io/os": "linux",
        "kubernetes.io/arch": "amd64",
        "node.kubernetes.io/instance-type": annotation(machine, INSTANCE),
        "topology.kubernetes.io/region": order.region,
        "topology.kubernetes.io/zone": order.zone,
        HEAD: "",
    }
    gpus = {
        f"{GPU}.present": "true",
        f"{GPU}.product": shape.product,
        f"{GPU}.count": str(shape.accelerators),
    }
    kept = {key: value for key, value in labels.items() if value or (key == HEAD and head)}
    return kept | _handed_on(machine) | (gpus if shape.accelerators else {})


def _handed_on(machine: Object) -> dict[str, str]:
    domains = {key: f".{key.partition('/')[0]}" for key in machine["metadata"]["labels"]}
    return {key: machine["metadata"]["labels"][key] for key in domains if domains[key].endswith(f".{NODE_LABELS}")}


def broken(view: ClusterSnapshot, machine: Object, rules: SimulationRules) -> int:
    """How many GPUs fail, on the first node of the cluster in alphabetical order."""
    first = min(map(name, view.workers), default="")
    return view.count(rules.faults.broken_gpus) if name(machine) == first else 0


def silent(view: ClusterSnapshot, machine: Object, rules: SimulationRules) -> bool:
    """Whether its kubelet has gone silent."""
    return machine["metadata"]["uid"] in view.met(DARK)[: view.count(rules.faults.dark)]


def _status(machine: Object, shape: MachineShape, missing: int, ready: str, now: datetime) -> Object:
    capacity = {"cpu": f"{shape.cpu:g}", "memory": f"{int(shape.memory_gib * 1024)}Mi", "pods": PODS}
    gpus = {GPU: str(shape.accelerators)} if shape.accelerators else {}
    working = {GPU: str(max(0, shape.accelerators - missing))} if gpus else {}
    healthy = (("MemoryPressure", "KubeletHasSufficientMemory"), ("DiskPressure", "KubeletHasNoDiskPressure"))
    return {
        "capacity": capacity | gpus,
        "allocatable": capacity | working,
        "conditions": [
            *(_condition(type_, "False", reason, now) for type_, reason in healthy),
            _condition("Ready", ready, "KubeletReady" if ready == "True" else "NodeStatusUnknown", now),
        ],
        "nodeInfo": {
            "kubeletVersion": machine["spec"].get("version", ""),
            "operatingSystem": "linux",
            "architecture": "amd64",
            "containerRuntimeVersion": "containerd://sandbox",
            "osImage": "sandbox",
            "kernelVersion": "sandbox",
            "machineID": name(machine),
            "systemUUID": machine["metadata"]["uid"],
            "bootID": machine["metadata"]["uid"],
            "kubeProxyVersion": "",
        },
        "addresses": [{"type": "Hostname", "address": name(machine)}],
    }


def _condition(type_: str, status: str, reason: str, now: datetime) -> Object:
    at = stamp(now)
    times = {"lastHeartbeatTime": at, "lastTransitionTime": at}
    return {"type": type_, "status": status, "reason": reason, "message": ""} | times
