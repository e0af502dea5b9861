"""Says whether the pods of a Deployment, StatefulSet, DaemonSet or ReplicaSet are all rolled out."""

from collections.abc import Iterator

from events.kube.port import Object
from services.addons.objects.readiness import (
    READY,
    ObjectHealth,
    Readiness,
    conditions_of,
    mapping,
    number,
    status_of,
    told,
    waiting,
)

EXCEEDED = "ProgressDeadlineExceeded"
"""Why a Deployment is given up; its controller goes on as soon as a pod becomes ready."""


def deployment(seen: Object) -> ObjectHealth:
    """All pods are of the newest template, available, and none of an older one is left."""
    conditions = conditions_of(seen)
    if conditions.get("Progressing", {}).get("reason") == EXCEEDED:
        return ObjectHealth(Readiness.STUCK, told(conditions["Progressing"], EXCEEDED))
    status, wanted = status_of(seen), _replicas(seen)
    updated = number(status, "updatedReplicas")
    old = number(status, "replicas") - updated
    return _first(
        _short(updated, wanted, "updated"),
        f"{old} old pods are ending" if old > 0 else "",
        _short(number(status, "availableReplicas"), wanted, "ready"),
    )


def stateful_set(seen: Object) -> ObjectHealth:
    """All pods are ready, and those that its update strategy replaces by itself are of the newest template."""
    status, wanted = status_of(seen), _replicas(seen)
    return _first(_short(number(status, "readyReplicas"), wanted, "ready"), *_updated(seen, status, wanted))


def _updated(seen: Object, status: Object, wanted: int) -> Iterator[str]:
    strategy = mapping(mapping(seen, "spec"), "updateStrategy")
    if strategy.get("type") == "OnDelete":  # people replace its pods
        return
    partition = number(mapping(strategy, "rollingUpdate"), "partition")
    updated = number(status, "updatedReplicas")
    yield _short(updated, wanted - partition, "updated")
    if not partition and status.get("currentRevision") != status.get("updateRevision"):
        yield f"{updated} of {wanted} pods updated, and the others wait"


def daemon_set(seen: Object) -> ObjectHealth:
    """Every node that should have a pod has one that is available and, unless people replace them, the newest."""
    status = status_of(seen)
    wanted = number(status, "desiredNumberScheduled")
    by_people = mapping(mapping(seen, "spec"), "updateStrategy").get("type") == "OnDelete"
    return _first(
        "" if by_people else _short(number(status, "updatedNumberScheduled"), wanted, "updated"),
        _short(number(status, "numberAvailable"), wanted, "ready"),
    )


def replica_set(seen: Object) -> ObjectHealth:
    """All pods are available."""
    failure = conditions_of(seen).get("ReplicaFailure", {})
    return _first(
        told(failure, "its pods cannot be created") if failure.get("status") == "True" else "",
        _short(number(status_of(seen), "availableReplicas"), _replicas(seen), "ready"),
    )


def _replicas(seen: Object) -> int:
    return number(mapping(seen, "spec"), "replicas", 1)


def _short(there: int, wanted: int, called: str) -> str:
    return f"{there} of {wanted} pods {called}" if there < wanted else ""


def _first(*missing: str) -> ObjectHealth:
    """Waits for the first that is missing."""
    return next((waiting(each) for each in missing if each), READY)
