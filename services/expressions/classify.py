"""Classifiers: rules that give a cluster labels from what it is and what it runs."""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Protocol

from schemas.classified_labels import ClassifiedLabel
from services.expressions.evaluation import (
    EvaluationFailure,
    Expression,
    FailureReason,
    PlainValue,
    compiled,
    condition,
    shown,
)

VALUE = re.compile(r"(([A-Za-z0-9][-A-Za-z0-9_.]{0,61})?[A-Za-z0-9])?")
"""A value that Kubernetes accepts of a label."""
ITSELF = ""
"""Stands for the cluster itself where its own labels win."""
NO_LABELS: Mapping[str, ClassifiedLabel] = MappingProxyType({})


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
    """Labels, and when a cluster has them."""

    when: str
    """CEL over `cluster` and `objects`."""
    labels: Mapping[str, str]
    """Their values; they may be templates."""


@dataclass(frozen=True)
class Classifier:
    """Rules; of those for the same label the first that holds counts."""

    name: str
    rules: tuple[ClassifierRule, ...]
    off: EvaluationFailure | None = None
    """Why no rule is evaluated: what the classifier gave before stays."""
    objects: Mapping[str, PlainValue] = field(default_factory=dict)
    """Objects of the cluster, by the variables that the classifier gives them."""


@dataclass(frozen=True)
class RuleOutcome:
    """What one rule gives for one label of one cluster."""

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

    labels: Mapping[str, ClassifiedLabel]
    conflicts: tuple[LabelConflict, ...] = ()
    failures: tuple[RuleOutcome, ...] = ()
    """Rules that failed: a label that their classifier gave before stays as it was."""


async def classify(
    evaluation: Evaluation,
    classifiers: Iterable[Classifier],
    variables: Mapping[str, PlainValue],
    own: Mapping[str, str],
    before: Mapping[str, ClassifiedLabel] = NO_LABELS,
) -> Classification:
    """The labels of a cluster besides its own. Raises EvaluatorEnded, which is safe to repeat."""
    outcomes: list[RuleOutcome] = []
    for each in classifiers:
        outcomes += _off(each, each.off, before) if each.off else await _outcomes(evaluation, each, variables)
    return classification(outcomes, own, before)


def _off(classifier: Classifier, why: EvaluationFailure, before: Mapping[str, ClassifiedLabel]) -> list[RuleOutcome]:
    given = (label for label, one in before.items() if one.classifier == classifier.name)
    labels = dict.fromkeys([*(label for rule in classifier.rules for label in rule.labels), *given])
    return [RuleOutcome(classifier.name, label, why) for label in labels]


async def _outcomes(
    evaluation: Evaluation, classifier: Classifier, variables: Mapping[str, PlainValue]
) -> list[RuleOutcome]:
    conditions = [Expression(rule.when, f"spec.rules[{place}].when") for place, rule in enumerate(classifier.rules)]
    variables, tenant = {**variables, "objects": classifier.objects}, variables["cluster"]["namespace"]
    values = await evaluation.evaluate(conditions, variables, tenant)
    outcomes = []
    for place, rule in enumerate(classifier.rules):
        holds = condition(conditions[place], values[place])
        for label, text in rule.labels.items():
            value: str | EvaluationFailure | None = holds if isinstance(holds, EvaluationFailure) else None
            if holds is True:
                where = f"spec.rules[{place}].labels.{label}"
                value = _label_value(await evaluation.fill_text(text, where, variables, tenant), where)
            outcomes.append(RuleOutcome(classifier.name, label, value))
    return outcomes


def classification(
    outcomes: Iterable[RuleOutcome], own: Mapping[str, str], before: Mapping[str, ClassifiedLabel] = NO_LABELS
) -> Classification:
    """What holds of all outcomes: the cluster's own labels first, then classifiers by name, each rule in its order."""
    labels: dict[str, ClassifiedLabel] = {}
    kept_by = dict.fromkeys(own, ITSELF)
    conflicts, failures = [], []
    for each in sorted(outcomes, key=lambda outcome: outcome.classifier):
        if isinstance(each.value, EvaluationFailure) and each.value.reason is not FailureReason.UNKNOWN:
            failures.append(each)
        value = _standing(each, before) if isinstance(each.value, EvaluationFailure) else each.value
        if value is None or kept_by.get(each.label) == each.classifier:
            continue
        if each.label not in kept_by:
            labels[each.label], kept_by[each.label] = ClassifiedLabel(value, each.classifier), each.classifier
        elif value != (own[each.label] if each.label in own else labels[each.label].value):
            conflicts.append(LabelConflict(each.label, value, each.classifier, kept_by[each.label]))
    return Classification(labels, tuple(conflicts), tuple(failures))


def _standing(outcome: RuleOutcome, before: Mapping[str, ClassifiedLabel]) -> str | None:
    """The value that the classifier gave the label before."""
    known = before.get(outcome.label)
    return known.value if known is not None and known.classifier == outcome.classifier else None


def uncompiled(classifier: Classifier) -> EvaluationFailure | None:
    """Why one of its conditions can never be evaluated as it is written; None: all can."""
    programs = (
        compiled(Expression(rule.when, f"spec.rules[{place}].when")) for place, rule in enumerate(classifier.rules)
    )
    return next((each for each in programs if isinstance(each, EvaluationFailure)), None)


def _label_value(value: str | EvaluationFailure, where: str) -> str | EvaluationFailure:
    if isinstance(value, EvaluationFailure) or VALUE.fullmatch(value):
        return value
    why = f"{where} gives {shown(value)}: must be the value of a label, up to 63 letters, digits, dots and dashes"
    return EvaluationFailure(FailureReason.NO_VALUE, why)
