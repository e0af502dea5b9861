"""The scheduler and the kubelets: pods are bound where there is room, run, and end."""

from collections.abc import Iterator
from datetime import datetime

from events.kube.client import Object
from events.kube.resources import PODS
from services.kubernetes.scheduling import selects, tolerates
from services.sandbox.clouds.model.actions import Action, Delete, PatchObject, PatchStatus, WaitUntil
from services.sandbox.clouds.model.annotations import EXIT_CODE, RUN_SECONDS, STARTED, STOP_SECONDS
from services.sandbox.clouds.model.objects import (
    after,
    annotation,
    deleting,
    marked,
    name,
    stamp,
    status,
    when,
    written,
)
from services.sandbox.clouds.workloads.quantity import Millis, asked, lacking, less
from services.sandbox.clouds.workloads.view import Inside, over, phase, running

TERMINATED = 143
"""The exit code of a process that was asked to end (SIGTERM)."""


def collect(view: Inside, now: datetime) -> Iterator[Action]:
    """Delete the pods of a deleted node."""
    del now
    there = {name(node) for node in view.nodes}
    for pod in view.pods:
        if pod["spec"].get("nodeName", "") not in {"", *there} and (_grace(pod) or not deleting(pod)):
            yield Delete(PODS, pod, grace=0)


def schedule(view: Inside, now: datetime) -> Iterator[Action]:
    """Bind each pending pod, the oldest first, to the first node with room for it."""
    left = view.left()
    waiting = [pod for pod in view.pods if not pod["spec"].get("nodeName") and not over(pod) and not deleting(pod)]
    for pod in sorted(waiting, key=lambda each: (each["metadata"]["creationTimestamp"], name(each))):
        why = {at: _obstacle(view, pod, at, left[at]) for at in sorted(left)}
        free = [at for at, obstacle in why.items() if not obstacle]
        if free:
            left[free[0]] = less(left[free[0]], [asked(pod)])
            meta = {"annotations": {STARTED: written(now)}}
            yield PatchObject(PODS, pod, {"spec": {"nodeName": free[0]}, "metadata": meta})
        else:
            yield from _unschedulable(pod, why, len(view.nodes), now)


def _obstacle(view: Inside, pod: Object, at: str, left: Millis) -> str:
    node = next(each for each in view.nodes if name(each) == at)
    if not selects(pod["spec"], node["metadata"].get("labels", {}), at):
        return "node(s) didn't match Pod's node affinity/selector"
    if not tolerates(pod["spec"], node["spec"].get("taints", ())):
        return "node(s) had untolerated taint(s)"
    missing = lacking(left, asked(pod))
    return f"Insufficient {missing[0]}" if missing else ""


def _unschedulable(pod: Object, why: dict[str, str], nodes: int, now: datetime) -> Iterator[Action]:
    counts: dict[str, int] = {}
    for obstacle in why.values():
        counts[obstacle] = counts.get(obstacle, 0) + 1
    because = ", ".join(f"{number} {obstacle}" for obstacle, number in sorted(counts.items()))
    message = f"0/{nodes} nodes are available" + (f": {because}." if because else ".")
    condition = {"type": "PodScheduled", "status": "False", "reason": "Unschedulable", "message": message}
    shown = [one for one in status(pod).get("conditions", ()) if one["type"] == "PodScheduled"]
    if not shown or shown[0].get("message") != message:
        conditions = [condition | {"lastTransitionTime": stamp(now)}]
        yield PatchStatus(PODS, pod, {"phase": "Pending", "conditions": conditions})


def run(view: Inside, now: datetime) -> Iterator[Action]:
    """Start bound pods; end those that have run long enough or are being deleted."""
    there = {name(node) for node in view.nodes}
    for pod in view.pods:
        if pod["spec"].get("nodeName", "") not in there:
            continue
        if deleting(pod):
            yield from _stop(pod, now)
            continue
        if phase(pod) == "Pending":
            yield PatchStatus(PODS, pod, _running(pod, now))
        elif running(pod) and pod["spec"].get("restartPolicy", "Always") != "Always":
            due = after(marked(pod, STARTED) or now, _seconds(pod, view.run_seconds))
            yield PatchStatus(PODS, pod, _ended(pod, now)) if now >= due else WaitUntil(due)


def _stop(pod: Object, now: datetime) -> Iterator[Action]:
    """Stop a pod in its own time, or kill it after its grace period; then remove it."""
    grace = _grace(pod)
    if not grace:
        return
    value = annotation(pod, STOP_SECONDS, "0")
    takes = min(float(value) if value.isdigit() else 0.0, grace)
    due = after(when(pod["metadata"]["deletionTimestamp"]), takes - grace)
    if now < due:
        yield WaitUntil(due)
        return
    if not over(pod):
        yield PatchStatus(PODS, pod, _ended(pod, now, TERMINATED))
    yield Delete(PODS, pod, grace=0)


def _grace(pod: Object) -> int:
    """Seconds of its grace period; 0 once it has ended."""
    return int(pod["metadata"].get("deletionGracePeriodSeconds", 0))


def _seconds(pod: Object, default: float) -> float:
    value = annotation(pod, RUN_SECONDS)
    return float(value) if value.replace(".", "", 1).isdigit() else default


def _running(pod: Object, now: datetime) -> Object:
    at = stamp(now)
    types = ("PodReadyToStartContainers", "Initialized", "Ready", "ContainersReady", "PodScheduled")
    conditions = [{"type": type_, "status": "True", "lastTransitionTime": at} for type_ in types]
    state = {"running": {"startedAt": at}}
    return {
        "phase": "Running",
        "startTime": at,
        "conditions": conditions,
        "containerStatuses": _containers(pod, state, ready=True),
    }


def _ended(pod: Object, now: datetime, killed: int = 0) -> Object:
    value = annotation(pod, EXIT_CODE)
    code = killed or (int(value) if value.isdigit() else 0)
    at = stamp(now)
    reason = "Error" if code else "Completed"
    times = {"startedAt": status(pod).get("startTime", at), "finishedAt": at}
    state = {"terminated": {"exitCode": code, "reason": reason} | times}
    conditions = [
        {"type": "PodScheduled", "status": "True", "lastTransitionTime": at},
        *(
            {"type": type_, "status": "False", "reason": "PodCompleted", "lastTransitionTime": at}
            for type_ in ("Ready", "ContainersReady")
        ),
    ]
    return {
        "phase": "Failed" if code else "Succeeded",
        "conditions": conditions,
        "containerStatuses": _containers(pod, state, ready=False),
    }


def _containers(pod: Object, state: Object, *, ready: bool) -> list[Object]:
    return [
        {
            "name": each["name"],
            "image": each.get("image", ""),
            "imageID": each.get("image", ""),
            "ready": ready,
            "started": ready,
            "restartCount": 0,
            "state": state,
        }
        for each in pod["spec"].get("containers", ())
    ]
