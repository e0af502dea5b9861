"""Classifiers: rules that give a cluster labels from what it is and what it runs."""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

from services.expressions.evaluation import (
    EvaluationFailure,
    Expression,
    FailureReason,
    PlainValue,
    condition,
    shown,
)

VALUE = re.compile(r"(([A-Za-z0-9][-A-Za-z0-9_.]{0,61})?[A-Za-z0-9])?")
"""A value that Kubernetes accepts of a label."""
ITSELF = ""
"""Stands for the cluster itself where its own labels win."""


class Evaluation(Protocol):
    """What `Evaluators` does."""

    async def evaluate(
        self, expressions: Sequence[Expression], variables: Mapping[str, object], tenant: str = ""
    ) -> tuple[PlainValue | EvaluationFailure, ...]:
        """The value of each expression."""
        ...

    async def fill_text(
        self, text: str, where: str, variables: Mapping[str, object], tenant: str = ""
    ) -> str | EvaluationFailure:
        """A text with its templates filled in."""
        ...


@dataclass(frozen=True)
class ClassifierRule:
    """A label, and when a cluster has it."""

    label: str
    value: str
    """The label's value; it may be a template."""
    when: str
    """CEL over `cluster` and `objects`."""


@dataclass(frozen=True)
class Classifier:
    """Rules; of those for the same label the first that holds counts."""

    name: str
    rules: tuple[ClassifierRule, ...]


@dataclass(frozen=True)
class RuleOutcome:
    """What one rule gives for one cluster."""

    classifier: str
    label: str
    value: str | EvaluationFailure | None
    """None: the rule does not hold."""


@dataclass(frozen=True)
class LabelConflict:
    """A label that a classifier would give another value than the one it has."""

    label: str
    value: str
    classifier: str
    kept_by: str
    """The classifier whose value counts, the first by name; empty: it is the cluster's own label."""


@dataclass(frozen=True)
class Classification:
    """What all classifiers give one cluster."""

    labels: Mapping[str, str]
    conflicts: tuple[LabelConflict, ...] = ()
    failures: tuple[RuleOutcome, ...] = ()
    """Rules that failed: such a label should stay as it was."""


async def classify(
    evaluation: Evaluation,
    classifiers: Iterable[Classifier],
    variables: Mapping[str, PlainValue],
    own: Mapping[str, str],
    tenant: str = "",
) -> Classification:
    """The labels of a cluster besides its own. Raises EvaluatorEnded, which is safe to repeat."""
    rules = [(each.name, rule, f"spec.rules[{place}]") for each in classifiers for place, rule in enumerate(each.rules)]
    conditions = [Expression(rule.when, f"{where}.when") for _, rule, where in rules]
    values = await evaluation.evaluate(conditions, variables, tenant)
    outcomes = []
    for (name, rule, where), expression, value in zip(rules, conditions, values, strict=True):
        holds = condition(expression, value)
        if holds is True:
            holds_with = _label_value(
                await evaluation.fill_text(rule.value, f"{where}.value", variables, tenant), where
            )
            outcomes.append(RuleOutcome(name, rule.label, holds_with))
        else:
            outcomes.append(RuleOutcome(name, rule.label, holds or None))
    return classification(outcomes, own)


def classification(outcomes: Iterable[RuleOutcome], own: Mapping[str, str]) -> Classification:
    """What holds of all outcomes: the cluster's own labels first, then classifiers by name, each rule in its order."""
    labels: dict[str, str] = {}
    kept_by = dict.fromkeys(own, ITSELF)
    conflicts, failures = [], []
    for each in sorted(outcomes, key=lambda outcome: outcome.classifier):
        if isinstance(each.value, EvaluationFailure):
            failures.append(each)
        elif each.value is None or kept_by.get(each.label) == each.classifier:
            continue
        elif each.label not in kept_by:
            labels[each.label], kept_by[each.label] = each.value, each.classifier
        elif {**labels, **own}[each.label] != each.value:
            conflicts.append(LabelConflict(each.label, each.value, each.classifier, kept_by[each.label]))
    return Classification(labels, tuple(conflicts), tuple(failures))


def _label_value(value: str | EvaluationFailure, where: str) -> str | EvaluationFailure:
    if isinstance(value, EvaluationFailure) or VALUE.fullmatch(value):
        return value
    why = f"{where}.value gives {shown(value)}: must be the value of a label, up to 63 letters, digits, dots and dashes"
    return EvaluationFailure(FailureReason.NO_VALUE, why)
