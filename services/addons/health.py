"""When an object counts as healthy, kind by kind, as a pure function."""

from collections.abc import Callable
from dataclasses import dataclass

from events.kube.port import Object


@dataclass(frozen=True)
class Health:
    """What an object's status says of it."""

    well: bool
    message: str = ""
    """What it waits for, or what went wrong."""
    failed: bool = False
    """It will not become well by waiting."""


WELL = Health(well=True)


def health(seen: Object) -> Health:
    """Whether the object is there and working. A kind without a rule is healthy once it exists."""
    name = f"{seen['kind']}/{seen['metadata']['name']}"
    judge = JUDGES.get(seen["kind"])
    verdict = judge(seen) if judge else WELL
    return Health(verdict.well, f"{name}: {verdict.message}" if verdict.message else "", verdict.failed)


def _rolled_out(wanted: str, ready: str, default: int) -> Callable[[Object], Health]:
    """A workload controller's counts. `wanted` is in the spec (or in the status), `ready` in the status."""

    def judge(seen: Object) -> Health:
        status = seen.get("status", {})
        if status.get("observedGeneration", 0) < seen["metadata"].get("generation", 0):
            return Health(well=False, message="its controller has not looked at it yet")
        number = seen.get("spec", {}).get(wanted, status.get(wanted, default))
        there = status.get(ready, 0)
        return WELL if there >= number else Health(well=False, message=f"{there} of {number} ready")

    return judge


def _job(seen: Object) -> Health:
    """A Job is well as soon as it has started: it is there to end."""
    status = seen.get("status", {})
    for condition in status.get("conditions", ()):
        if condition["type"] == "Failed" and condition["status"] == "True":
            return Health(well=False, message=condition.get("message", "failed"), failed=True)
    started = status.get("active", 0) + status.get("succeeded", 0)
    return WELL if started else Health(well=False, message="not started")


def _phase(*good: str) -> Callable[[Object], Health]:
    def judge(seen: Object) -> Health:
        phase = seen.get("status", {}).get("phase", "Unknown")
        return WELL if phase in good else Health(well=False, message=f"is {phase}")

    return judge


def _established(seen: Object) -> Health:
    conditions = {c["type"]: c["status"] for c in seen.get("status", {}).get("conditions", ())}
    return WELL if conditions.get("Established") == "True" else Health(well=False, message="not established")


JUDGES: dict[str, Callable[[Object], Health]] = {
    "Deployment": _rolled_out("replicas", "availableReplicas", 1),
    "StatefulSet": _rolled_out("replicas", "readyReplicas", 1),
    "ReplicaSet": _rolled_out("replicas", "readyReplicas", 1),
    "DaemonSet": _rolled_out("desiredNumberScheduled", "numberReady", 0),
    "Job": _job,
    "Pod": _phase("Running", "Succeeded"),
    "PersistentVolumeClaim": _phase("Bound"),
    "CustomResourceDefinition": _established,
}
