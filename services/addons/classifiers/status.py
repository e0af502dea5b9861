"""The status of a ClusterClassifier: how many clusters it labels, and what is wrong."""

from collections.abc import Iterable, Mapping
from datetime import datetime

from events.kube.client import Object
from schemas.crds import ClusterClassifierStatus
from services.addons.classifiers.classifier_store import KnownClassifier
from services.addons.observe.watched import WatchProblem
from services.addons.plan.status import Finding, condition
from services.addons.plan.target import ClusterName
from services.expressions.classify import Classification, LabelConflict
from services.expressions.evaluation import EvaluationFailure

READY = "Ready"


def status(
    known: KnownClassifier,
    found: Mapping[ClusterName, Classification],
    problems: Mapping[ClusterName, WatchProblem],
    now: datetime,
) -> Object:
    """The whole status; the time of an unchanged condition is kept. `problems` are those of watching objects."""
    name, item = known.classifier.name, known.item
    matched = sum(any(each.classifier == name for each in one.labels.values()) for one in found.values())
    before = {each["type"]: each for each in item.get("status", {}).get("conditions", ())}
    findings = (*_findings(matched, _failure(known, found), problems), _conflicting(name, found))
    return ClusterClassifierStatus(
        observed_generation=known.generation,
        matched=matched,
        conditions=[condition(each, known.generation, before.get(each.type, {}), now) for each in findings],
    ).model_dump(mode="json", by_alias=True, exclude_none=True)


def _findings(
    matched: int, failure: EvaluationFailure | None, problems: Mapping[ClusterName, WatchProblem]
) -> tuple[Finding, Finding]:
    if failure is not None:
        told = f"{failure.why.rstrip('.')}."
        return (
            Finding("Ready", holds=False, reason=failure.reason, message=told),
            Finding("Stalled", holds=True, reason=failure.reason, message=told),
        )
    return _ready(matched, problems), Finding("Stalled", holds=False, reason="None", message="")


def _ready(matched: int, problems: Mapping[ClusterName, WatchProblem]) -> Finding:
    for name in sorted(problems)[:1]:
        told = f"{_place(name, problems)}: its objects cannot be watched: {problems[name].why}."
        return Finding("Ready", holds=False, reason=problems[name].reason, message=told)
    clusters = "1 cluster has" if matched == 1 else f"{matched} clusters have"
    return Finding("Ready", holds=True, reason=READY, message=f"{clusters} labels of it.")


def _failure(known: KnownClassifier, found: Mapping[ClusterName, Classification]) -> EvaluationFailure | None:
    """The first by cluster and rule, unless it is of the classifier itself."""
    if (always := known.classifier.off or known.invalid) is not None:
        return always
    failed = [
        (name, each.value)
        for name, one in sorted(found.items(), key=lambda pair: pair[0])
        for each in one.failures
        if each.classifier == known.classifier.name and isinstance(each.value, EvaluationFailure)
    ]
    if not failed:
        return None
    name, first = failed[0]
    return EvaluationFailure(first.reason, f"{_place(name, {name for name, _ in failed})}: {first.why}")


def _conflicting(name: str, found: Mapping[ClusterName, Classification]) -> Finding:
    conflicts = [
        (cluster, each)
        for cluster, one in sorted(found.items(), key=lambda pair: pair[0])
        for each in one.conflicts
        if each.classifier == name
    ]
    if not conflicts:
        return Finding("Conflicting", holds=False, reason="None", message="")
    place = _place(conflicts[0][0], {cluster for cluster, _ in conflicts})
    return Finding("Conflicting", holds=True, reason="Conflict", message=f"{place}: {_sentence(conflicts[0][1])}.")


def _sentence(conflict: LabelConflict) -> str:
    owner = f"the ClusterClassifier {conflict.kept_by}" if conflict.kept_by else "the cluster itself"
    return f"{conflict.label} would be {conflict.value or 'empty'}, but has another value by {owner}"


def _place(first: ClusterName, names: Iterable[ClusterName]) -> str:
    others = len(set(names)) - 1
    return f"{'/'.join(first)}{f' and {others} more' if others else ''}"
