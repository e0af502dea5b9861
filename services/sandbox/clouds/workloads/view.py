"""A snapshot of a workload cluster: everything its controllers may read."""

from collections.abc import Sequence
from dataclasses import dataclass, field

from events.kube.client import Object, Resource
from events.kube.resources import DEPLOYMENTS, JOBS, NODES, PODS
from services.sandbox.clouds.model.objects import deleting, name, status
from services.sandbox.clouds.workloads.quantity import Millis, amounts, asked, less

REPLICASETS = Resource("apps", "v1", "replicasets", "ReplicaSet")
DAEMONSETS = Resource("apps", "v1", "daemonsets", "DaemonSet")
STATEFULSETS = Resource("apps", "v1", "statefulsets", "StatefulSet")

SEEN = (NODES, PODS, JOBS, DEPLOYMENTS, REPLICASETS, DAEMONSETS, STATEFULSETS)
"""The kinds that are watched."""
OVER = ("Succeeded", "Failed")


def phase(pod: Object) -> str:
    return str(status(pod).get("phase", "Pending"))


def running(pod: Object) -> bool:
    return phase(pod) == "Running"


def over(pod: Object) -> bool:
    return phase(pod) in OVER


def ready(node: Object) -> bool:
    return any(one["type"] == "Ready" and one["status"] == "True" for one in status(node).get("conditions", ()))


def controlled(of: Object, by: Object) -> bool:
    """Whether an object belongs to that controller."""
    owners = of["metadata"].get("ownerReferences", ())
    return any(one.get("controller") and one["uid"] == by["metadata"]["uid"] for one in owners)


@dataclass(frozen=True)
class Inside:
    """One workload cluster."""

    objects: dict[Resource, Sequence[Object]] = field(default_factory=dict)
    run_seconds: float = 4.0
    """How long a Job's pod runs, unless its annotation sets it."""

    def all(self, resource: Resource) -> Sequence[Object]:
        return self.objects.get(resource, ())

    @property
    def nodes(self) -> Sequence[Object]:
        return self.all(NODES)

    @property
    def pods(self) -> Sequence[Object]:
        return self.all(PODS)

    def own(self, resource: Resource, by: Object) -> list[Object]:
        """The objects that belong to a controller."""
        return [each for each in self.all(resource) if controlled(each, by)]

    def left(self) -> dict[str, Millis]:
        """Free amounts by node; nothing on one that is not ready, is cordoned or is being deleted."""
        usable = [
            node for node in self.nodes if ready(node) and not node["spec"].get("unschedulable") and not deleting(node)
        ]
        held: dict[str, list[Millis]] = {name(node): [] for node in usable}
        for pod in self.pods:
            at = pod["spec"].get("nodeName", "")
            if at in held and not over(pod):
                held[at].append(asked(pod))
        return {name(node): less(amounts(status(node).get("allocatable")), held[name(node)]) for node in usable}
