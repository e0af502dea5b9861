"""The Job controller."""

from collections.abc import Iterator
from datetime import datetime

from events.kube.client import Object
from events.kube.resources import JOBS, PODS
from services.sandbox.clouds.model.actions import Action, Create, Delete, PatchStatus, WaitUntil
from services.sandbox.clouds.model.annotations import RUN_SECONDS
from services.sandbox.clouds.model.objects import after, annotation, deleting, name, stamp, status, suffix, when
from services.sandbox.clouds.workloads.pod_owner import free_names, pod
from services.sandbox.clouds.workloads.view import Inside, over, phase, running

INDEX = "batch.kubernetes.io/job-completion-index"
BACKOFF = 6
"""Kubernetes' default of backoffLimit."""
MET = ("SuccessCriteriaMet", "CompletionsReached", "Reached expected number of succeeded pods")
DONE = ("Complete", "CompletionsReached", "Reached expected number of succeeded pods")
TARGET = ("FailureTarget", "BackoffLimitExceeded", "Job has reached the specified backoff limit")
FAILED = ("Failed", "BackoffLimitExceeded", "Job has reached the specified backoff limit")
SUSPENDED = ("Suspended", "JobSuspended", "Job suspended")
_THEN = {MET: DONE, TARGET: FAILED}
"""Since 1.31 the end is reported twice: when it is decided, and when no pod runs any more."""


def jobs(view: Inside, now: datetime) -> Iterator[Action]:
    """Reconcile every Job."""
    for each in view.all(JOBS):
        if not deleting(each):
            yield from _job(view, each, now)


def _job(view: Inside, it: Object, now: datetime) -> Iterator[Action]:
    own = view.own(PODS, it)
    if has(it, "Complete") or has(it, "Failed"):
        yield from _forget(it, now)
        return
    verdict = _verdict(it, own)
    said = tuple(_report_status(it, own, verdict, now))
    yield from said
    living = [each for each in own if not over(each) and not deleting(each)]
    if verdict or it["spec"].get("suspend"):
        yield from (Delete(PODS, each) for each in living)
    else:
        yield from _grow(it, own, living)


def has(it: Object, type_: str) -> bool:
    """Whether a Job's condition is there, and True."""
    return any(one["type"] == type_ and one["status"] == "True" for one in status(it).get("conditions", ()))


def _completions(it: Object) -> int:
    return int(it["spec"].get("completions") or it["spec"].get("parallelism", 1) or 1)


def _indexed(it: Object) -> bool:
    return bool(it["spec"].get("completionMode") == "Indexed")


def _succeeded(it: Object, own: list[Object]) -> int:
    good = [each for each in own if phase(each) == "Succeeded"]
    counted = len({annotation(each, INDEX) for each in good}) if _indexed(it) else len(good)
    return max(counted, int(status(it).get("succeeded", 0)))


def _verdict(it: Object, own: list[Object]) -> tuple[str, str, str] | None:
    if _succeeded(it, own) >= _completions(it):
        return MET
    bad = sum(phase(each) == "Failed" for each in own)
    return TARGET if bad > it["spec"].get("backoffLimit", BACKOFF) else None


def _grow(it: Object, own: list[Object], living: list[Object]) -> Iterator[Action]:
    left = _completions(it) - _succeeded(it, own)
    wanted = min(int(it["spec"].get("parallelism", 1)), left) - len(living)
    taken = {name(each) for each in own}
    if not _indexed(it):
        names = free_names(it, taken)
        yield from (Create(PODS, _pod(it, next(names), {})) for _ in range(wanted))
        return
    busy = {annotation(each, INDEX) for each in own if phase(each) != "Failed" and not deleting(each)}
    open_ = [str(index) for index in range(_completions(it)) if str(index) not in busy]
    for index in open_[: max(0, wanted)]:
        tries = sum(annotation(each, INDEX) == index for each in own)
        called = f"{name(it)}-{index}-{suffix(it['metadata']['uid'], index, tries)}"
        yield Create(PODS, _pod(it, called, {INDEX: index}))


def _pod(it: Object, called: str, notes: dict[str, str]) -> Object:
    uid = it["metadata"]["uid"]
    labels = {
        "batch.kubernetes.io/job-name": name(it),
        "job-name": name(it),
        "batch.kubernetes.io/controller-uid": uid,
        "controller-uid": uid,
    }
    value = annotation(it, RUN_SECONDS)
    spec = {"hostname": f"{name(it)}-{notes[INDEX]}"} if notes else {}
    labels |= {INDEX: notes[INDEX]} if notes else {}
    return pod(it, called, labels, notes | ({RUN_SECONDS: value} if value else {}), spec)


def _report_status(
    it: Object, own: list[Object], verdict: tuple[str, str, str] | None, now: datetime
) -> Iterator[Action]:
    living = [each for each in own if not over(each) and not deleting(each)]
    suspended = bool(it["spec"].get("suspend"))
    said: Object = {
        "active": 0 if verdict or suspended else len(living),
        "ready": 0 if verdict or suspended else sum(map(running, living)),
        "succeeded": _succeeded(it, own),
        "failed": max(sum(phase(each) == "Failed" for each in own), int(status(it).get("failed", 0))),
        "terminating": 0,
        "uncountedTerminatedPods": {},
    }
    if not suspended:
        said["startTime"] = status(it).get("startTime", stamp(now))
    if _indexed(it):
        done = {int(annotation(each, INDEX)) for each in own if phase(each) == "Succeeded"}
        said["completedIndexes"] = spans(sorted(done))
    said |= _end(it, verdict, living, now, suspended=suspended)
    differing = {key: value for key, value in said.items() if status(it).get(key) != value}
    if differing:
        yield PatchStatus(JOBS, it, differing)


def _end(
    it: Object, verdict: tuple[str, str, str] | None, living: list[Object], now: datetime, *, suspended: bool
) -> Object:
    conditions = [one for one in status(it).get("conditions", ()) if one["type"] != "Suspended" or suspended]
    wanted = verdict or (SUSPENDED if suspended else None)
    if wanted and has(it, wanted[0]):
        wanted = _THEN.get(wanted) if not living else None
    if wanted:
        conditions = [*conditions, _condition(wanted, now)]
    end = {"completionTime": stamp(now)} if wanted == DONE else {}
    return end | ({"conditions": conditions} if conditions or "conditions" in status(it) else {})


def _condition(current_condition: tuple[str, str, str], now: datetime) -> Object:
    type_, reason, message = current_condition
    at = {"lastProbeTime": stamp(now), "lastTransitionTime": stamp(now)}
    return {"type": type_, "status": "True", "reason": reason, "message": message} | at


def _forget(it: Object, now: datetime) -> Iterator[Action]:
    seconds = it["spec"].get("ttlSecondsAfterFinished")
    if seconds is None:
        return
    ends = [one["lastTransitionTime"] for one in status(it)["conditions"] if one["type"] in ("Complete", "Failed")]
    due = after(when(ends[0]), float(seconds))
    yield Delete(JOBS, it) if now >= due else WaitUntil(due)


def spans(numbers: list[int]) -> str:
    """``0-2,5``: sorted numbers as Kubernetes writes completed indexes."""
    parts: list[list[int]] = []
    for each in numbers:
        if parts and parts[-1][-1] + 1 == each:
            parts[-1].append(each)
        else:
            parts.append([each])
    return ",".join(f"{part[0]}-{part[-1]}" if len(part) > 1 else f"{part[0]}" for part in parts)
