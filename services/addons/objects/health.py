"""Says whether an object is ready, kind by kind, as ``kubectl rollout status`` and Flux's kstatus mean it."""

from collections.abc import Callable, Mapping
from dataclasses import replace

from events.kube.port import Object
from services.addons.objects.readiness import (
    READY,
    ObjectHealth,
    Readiness,
    conditions_of,
    kind_of,
    mapping,
    number,
    status_of,
    told,
    waiting,
)
from services.addons.objects.rollout import daemon_set, deployment, replica_set, stateful_set

Judge = Callable[[Object], ObjectHealth]
HOOK = "helm.sh/hook"
"""The annotation of an object that Helm runs, and waits for, at a point of a release's life."""


def health(seen: Object, *, hook: bool = False) -> ObjectHealth:
    """Whether the object exists and works; a hook must have come to its end.

    A kind without a rule is ready once its controller has seen it and no condition says otherwise.
    """
    judged = _judged(seen, hook=hook or HOOK in mapping(seen["metadata"], "annotations"))
    if not judged.message:
        return judged
    return replace(judged, message=f"{seen['kind']} {_place(seen['metadata'])}: {judged.message}")


def _place(meta: Object) -> str:
    """Namespace and name, or the name alone."""
    return "/".join(filter(None, (meta.get("namespace"), meta["name"])))


def _judged(seen: Object, *, hook: bool) -> ObjectHealth:
    if "deletionTimestamp" in seen["metadata"]:
        return waiting("is being deleted")
    kind = kind_of(seen)
    if hook and kind in HOOKS:
        return HOOKS[kind](seen)
    observed, generation = number(status_of(seen), "observedGeneration"), number(seen["metadata"], "generation")
    if observed < generation and ("observedGeneration" in status_of(seen) or kind in OBSERVED):
        return waiting("its controller has not looked at it yet")
    return JUDGES.get(kind, _by_conditions)(seen)


def _by_conditions(seen: Object) -> ObjectHealth:
    """By the conditions that kstatus knows, in their order."""
    conditions = conditions_of(seen)
    for name, bad, readiness in KSTATUS:
        status = conditions.get(name, {}).get("status")
        if status in bad:
            return ObjectHealth(readiness, told(conditions[name], f"{name} is {status}"))
    accepted, reason = ONLY_READY_FOR.get(kind_of(seen)), conditions.get("Ready", {}).get("reason")
    if accepted is None or reason in accepted:
        return READY
    return waiting(f"is ready for the reason {reason} only" if reason else "does not say whether it is ready")


KSTATUS = (
    ("Stalled", ("True",), Readiness.STUCK),
    ("Reconciling", ("True",), Readiness.WAITING),
    ("Ready", ("False", "Unknown"), Readiness.WAITING),
)
ONLY_READY_FOR: Mapping[tuple[str, str], tuple[str, ...]] = {("nvidia.com", "ClusterPolicy"): ("Reconciled",)}
"""Kinds whose condition Ready counts for these reasons alone: NoGPUNodes and NFDLabelsMissing mean no usable GPU."""


def _condition(name: str, otherwise: str, *final: tuple[str, str]) -> Judge:
    """Ready once a condition is true; `final` are conditions, with their status, after which it never will be."""

    def judge(seen: Object) -> ObjectHealth:
        conditions = conditions_of(seen)
        for bad, status in final:
            if conditions.get(bad, {}).get("status") == status:
                return ObjectHealth(Readiness.FAILED, told(conditions[bad], f"{bad} is {status}"))
        condition = conditions.get(name, {})
        return READY if condition.get("status") == "True" else waiting(told(condition, otherwise))

    return judge


def _phase(good: str, final: str = "") -> Judge:
    def judge(seen: Object) -> ObjectHealth:
        phase = status_of(seen).get("phase") or "Unknown"
        if phase == good:
            return READY
        return ObjectHealth(Readiness.FAILED if phase == final else Readiness.WAITING, f"is {phase}")

    return judge


def _pod(seen: Object) -> ObjectHealth:
    """Running is not enough: its containers must be ready. One that has ended well is well."""
    running = status_of(seen).get("phase") == "Running"
    return _condition("Ready", "its containers are not ready")(seen) if running else _ended(seen)


def _job(seen: Object) -> ObjectHealth:
    """A Job that is a payload is ready as soon as it has started, or is suspended: it is meant to end."""
    completed = _completed(seen)
    if completed.readiness is not Readiness.WAITING:
        return completed
    status = status_of(seen)
    begun = number(status, "active") + number(status, "succeeded") or mapping(seen, "spec").get("suspend")
    return READY if begun else waiting("not started")


def _service(seen: Object) -> ObjectHealth:
    balanced = mapping(seen, "spec").get("type") == "LoadBalancer"
    has_address = mapping(status_of(seen), "loadBalancer").get("ingress")
    return waiting("its load balancer has no address yet") if balanced and not has_address else READY


def _disruption_budget(seen: Object) -> ObjectHealth:
    """Ready unless its controller cannot count its pods; how many they are is not its matter."""
    condition = conditions_of(seen).get("DisruptionAllowed", {})
    return waiting(told(condition, "SyncFailed")) if condition.get("reason") == "SyncFailed" else READY


def _exists(_: Object) -> ObjectHealth:
    """What its status waits for may never come: an Ingress without a controller, an autoscaler without load."""
    return READY


_ended = _phase("Succeeded", "Failed")
_completed = _condition("Complete", "has not ended", ("Failed", "True"), ("FailureTarget", "True"))

JUDGES: Mapping[tuple[str, str], Judge] = {
    ("apps", "Deployment"): deployment,
    ("apps", "StatefulSet"): stateful_set,
    ("apps", "ReplicaSet"): replica_set,
    ("apps", "DaemonSet"): daemon_set,
    ("batch", "Job"): _job,
    ("", "Pod"): _pod,
    ("", "PersistentVolumeClaim"): _phase("Bound", "Lost"),
    ("", "Namespace"): _phase("Active"),
    ("", "Service"): _service,
    ("apiextensions.k8s.io", "CustomResourceDefinition"): _condition(
        "Established", "not established", ("NamesAccepted", "False")
    ),
    ("apiregistration.k8s.io", "APIService"): _condition("Available", "not available"),
    ("policy", "PodDisruptionBudget"): _disruption_budget,
    ("networking.k8s.io", "Ingress"): _exists,
    ("autoscaling", "HorizontalPodAutoscaler"): _exists,
}
"""By group and kind; all others by their conditions."""
HOOKS: Mapping[tuple[str, str], Judge] = {("batch", "Job"): _completed, ("", "Pod"): _ended}
"""Kinds that must come to their end where they are hooks."""
OBSERVED = frozenset({("apps", kind) for kind in ("Deployment", "StatefulSet", "ReplicaSet", "DaemonSet")})
"""Kinds whose controllers always say which generation they have seen."""
