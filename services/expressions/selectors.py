"""Whether a selector selects a cluster: labels with set operations, names, Colonies, and a condition in CEL."""

from collections.abc import Callable, Mapping

from schemas.crds.profile import ClusterSelectorSpec, LabelRequirement
from services.expressions.evaluation import EvaluationFailure, Expression, compiled, evaluate_condition
from services.expressions.facts import ClusterFacts

_OPERATORS: Mapping[str, Callable[[str | None, list[str]], bool]] = {
    "In": lambda value, values: value is not None and value in values,
    "NotIn": lambda value, values: value is None or value not in values,
    "Exists": lambda value, _: value is not None,
    "DoesNotExist": lambda value, _: value is None,
}
"""As Kubernetes has them: NotIn holds of what lacks the label."""


def matches(selector: ClusterSelectorSpec, facts: ClusterFacts, where: str) -> bool | EvaluationFailure:
    """Whether everything that the selector says holds; `where` is its path in the resource, for messages.

    A failure says nothing about the cluster: what was decided before should stay as it is.
    """
    if not (_has_labels(selector, facts.labels) and _is_named(selector, facts)):
        return False
    return selector.where is None or evaluate_condition(_condition(selector.where, where), facts.known)


def problem(selector: ClusterSelectorSpec, where: str) -> EvaluationFailure | None:
    """Why the selector can never be evaluated as it is written; None: it can."""
    program = compiled(_condition(selector.where, where)) if selector.where else None
    return program if isinstance(program, EvaluationFailure) else None


def meets(requirement: LabelRequirement, labels: Mapping[str, str]) -> bool:
    """Whether labels meet a requirement."""
    return _OPERATORS[requirement.operator](labels.get(requirement.key), requirement.values)


def _has_labels(selector: ClusterSelectorSpec, labels: Mapping[str, str]) -> bool:
    exact = all(labels.get(key) == value for key, value in selector.match_labels.items())
    return exact and all(meets(each, labels) for each in selector.match_expressions)


def _is_named(selector: ClusterSelectorSpec, facts: ClusterFacts) -> bool:
    named = not selector.names or facts.name in selector.names
    return named and (not selector.colonies or facts.colony in selector.colonies)


def _condition(text: str, where: str) -> Expression:
    return Expression(text, f"{where}.where")
