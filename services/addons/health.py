"""Whether an object is healthy, kind by kind."""

from collections.abc import Callable
from dataclasses import dataclass

from events.kube.port import Object


@dataclass(frozen=True)
class ObjectHealth:
    """What an object's status says."""

    well: bool
    message: str = ""
    """What it waits for, or what went wrong."""
    failed: bool = False
    """Waiting will not make it healthy."""


HEALTHY = ObjectHealth(well=True)


def health(seen: Object) -> ObjectHealth:
    """Whether the object exists and works. A kind without a rule is healthy once it exists."""
    name = f"{seen['kind']}/{seen['metadata']['name']}"
    judge = JUDGES.get(seen["kind"])
    judged = judge(seen) if judge else HEALTHY
    return ObjectHealth(judged.well, f"{name}: {judged.message}" if judged.message else "", judged.failed)


def _rolled_out(wanted: str, ready: str, default: int) -> Callable[[Object], ObjectHealth]:
    """Compares a workload's counts: `wanted` in its spec or status, `ready` in its status."""

    def judge(seen: Object) -> ObjectHealth:
        status = seen.get("status", {})
        if status.get("observedGeneration", 0) < seen["metadata"].get("generation", 0):
            return ObjectHealth(well=False, message="its controller has not looked at it yet")
        number = seen.get("spec", {}).get(wanted, status.get(wanted, default))
        there = status.get(ready, 0)
        return HEALTHY if there >= number else ObjectHealth(well=False, message=f"{there} of {number} ready")

    return judge


def _job(seen: Object) -> ObjectHealth:
    """A Job is healthy as soon as it has started: it is meant to end."""
    status = seen.get("status", {})
    for condition in status.get("conditions", ()):
        if condition["type"] == "Failed" and condition["status"] == "True":
            return ObjectHealth(well=False, message=condition.get("message", "failed"), failed=True)
    started = status.get("active", 0) + status.get("succeeded", 0)
    return HEALTHY if started else ObjectHealth(well=False, message="not started")


def _phase(*good: str) -> Callable[[Object], ObjectHealth]:
    def judge(seen: Object) -> ObjectHealth:
        phase = seen.get("status", {}).get("phase", "Unknown")
        return HEALTHY if phase in good else ObjectHealth(well=False, message=f"is {phase}")

    return judge


def _established(seen: Object) -> ObjectHealth:
    conditions = {c["type"]: c["status"] for c in seen.get("status", {}).get("conditions", ())}
    return HEALTHY if conditions.get("Established") == "True" else ObjectHealth(well=False, message="not established")


JUDGES: dict[str, Callable[[Object], ObjectHealth]] = {
    "Deployment": _rolled_out("replicas", "availableReplicas", 1),
    "StatefulSet": _rolled_out("replicas", "readyReplicas", 1),
    "ReplicaSet": _rolled_out("replicas", "readyReplicas", 1),
    "DaemonSet": _rolled_out("desiredNumberScheduled", "numberReady", 0),
    "Job": _job,
    "Pod": _phase("Running", "Succeeded"),
    "PersistentVolumeClaim": _phase("Bound"),
    "CustomResourceDefinition": _established,
}
