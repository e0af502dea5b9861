"""Classifiers give labels; of two that disagree the first by name counts, and the other is reported."""

from collections.abc import AsyncIterator, Mapping
from contextlib import aclosing

import pytest
from hypothesis import given
from hypothesis import strategies as st

from schemas.classified_labels import ClassifiedLabel
from services.expressions.classify import (
    Classification,
    Classifier,
    ClassifierRule,
    LabelConflict,
    RuleOutcome,
    classification,
    classify,
)
from services.expressions.evaluation import EvaluationFailure, FailureReason
from services.expressions.evaluators import Evaluators
from tests.services.expressions.samples import FACTS


def rule(label: str, value: str, when: str) -> ClassifierRule:
    return ClassifierRule(when, {label: value})


GPU = rule("gpu", "h100", "cluster.accelerators.exists(a, a.model == 'H100')")
MINOR = rule("minor", "v{{ cluster.version.minor }}", "cluster.version.minor > 0")
AGENT = {"agent": {"spec": {"image": "agent:2.1"}}}


@pytest.fixture
async def evaluators() -> AsyncIterator[Evaluators]:
    async with aclosing(Evaluators()) as every:
        yield every


async def labels(
    evaluators: Evaluators, *classifiers: Classifier, own: Mapping[str, str] | None = None
) -> Classification:
    return await classify(evaluators, classifiers, FACTS, own or {})


def by(classifier: str, **values: str) -> dict[str, ClassifiedLabel]:
    return {label: ClassifiedLabel(value, classifier) for label, value in values.items()}


async def test_rules_that_hold_give_labels(evaluators: Evaluators):
    image = rule("agent", "new", "objects.agent.spec.image.startsWith('agent:2')")
    none = rule("cpu", "only", "cluster.accelerators.size() == 0")
    agent = Classifier("agent", (image,), objects=AGENT)
    given = await labels(evaluators, Classifier("base", (GPU, MINOR, none)), agent)
    assert given == Classification(by("base", gpu="h100", minor="v33") | by("agent", agent="new"))


async def test_the_first_rule_of_a_classifier_that_holds_gives_the_label(evaluators: Evaluators):
    rules = [rule("size", name, when) for name, when in (("none", "false"), ("big", "true"), ("small", "true"))]
    assert await labels(evaluators, Classifier("base", tuple(rules))) == Classification(by("base", size="big"))


async def test_of_two_classifiers_the_first_by_name_counts_and_the_other_is_reported(evaluators: Evaluators):
    first, second = (Classifier(name, (rule("gpu", name, "true"),)) for name in ("a", "b"))
    for order in ((first, second), (second, first)):
        given = await labels(evaluators, *order)
        assert given == Classification(by("a", gpu="a"), (LabelConflict("gpu", "b", "b", "a"),))


async def test_a_label_of_the_cluster_itself_counts_before_all(evaluators: Evaluators):
    given = await labels(evaluators, Classifier("base", (GPU, MINOR)), own={"gpu": "none", "minor": "v33"})
    assert given == Classification({}, (LabelConflict("gpu", "h100", "base", ""),))


@pytest.mark.parametrize(
    ("failing", "why"),
    [
        (rule("x", "y", "cluster.nope"), "spec.rules[1].when: there is no 'nope'"),
        (rule("x", "y", "cluster.nodes"), "spec.rules[1].when gives 3: must give true or false"),
        (rule("x", "y", "1 +"), "spec.rules[1].when is no CEL expression: line 1, column 4: "),
        (rule("x", "{{ nope }}", "true"), "spec.rules[1].labels.x: line 1, column 4: there is no 'nope'"),
        (rule("x", "a b", "true"), 'spec.rules[1].labels.x gives "a b": must be the value of a label, '),
        (rule("x", "y" * 64, "true"), f'spec.rules[1].labels.x gives "{"y" * 58}…: must be the value of '),
    ],
)
async def test_a_rule_that_fails_is_reported_and_the_others_count(evaluators: Evaluators, failing, why):
    given = await labels(evaluators, Classifier("base", (GPU, failing, MINOR)))
    assert given.labels == by("base", gpu="h100", minor="v33")
    (failed,) = given.failures
    assert (failed.classifier, failed.label) == ("base", "x")
    assert failed.value.why.startswith(why)


async def test_what_a_classifier_gave_before_stays_while_its_rule_fails(evaluators: Evaluators):
    before = by("base", gpu="a100") | by("other", size="big")
    failing = (rule("gpu", "h100", "cluster.nope"), rule("size", "small", "cluster.nope"))
    given = await classify(evaluators, [Classifier("base", failing)], FACTS, {}, before)
    assert given.labels == by("base", gpu="a100")
    assert [each.label for each in given.failures] == ["gpu", "size"]


async def test_what_a_classifier_gave_before_stays_while_it_is_off(evaluators: Evaluators):
    off = Classifier("base", (MINOR,), EvaluationFailure(FailureReason.TOO_COSTLY, "it loops"))
    given = await classify(evaluators, [off], FACTS, {}, by("base", gpu="h100"))
    assert given.labels == by("base", gpu="h100")


async def test_what_a_classifier_gave_before_stays_while_objects_are_not_known_which_is_no_failure(evaluators):
    unknown = Classifier("base", (), EvaluationFailure(FailureReason.UNKNOWN, "its objects are not known"))
    given = await classify(evaluators, [unknown], FACTS, {}, by("base", gpu="h100"))
    assert given == Classification(by("base", gpu="h100"))


async def test_labels_of_one_rule_come_and_fail_one_by_one(evaluators: Evaluators):
    two = ClassifierRule("true", {"gpu": "h100", "bad": "{{ nope }}"})
    given = await labels(evaluators, Classifier("base", (two,)))
    assert given.labels == by("base", gpu="h100")
    assert [each.label for each in given.failures] == ["bad"]


FAILED = EvaluationFailure(FailureReason.NO_VALUE, "it has none")
OUTCOMES = st.lists(
    st.builds(RuleOutcome, st.sampled_from("pqr"), st.sampled_from("abc"), st.sampled_from(["x", "y", None, FAILED]))
)


@given(outcomes=OUTCOMES, own=st.dictionaries(st.sampled_from("abc"), st.sampled_from("xy")))
def test_every_outcome_is_a_label_or_agrees_with_it_or_is_reported(outcomes, own):
    given = classification(outcomes, own)
    assert not given.labels.keys() & own.keys()
    values = {label: each.value for label, each in given.labels.items()} | own
    reported = {(each.classifier, each.label, each.value) for each in given.conflicts}
    assert {each.label for each in outcomes if isinstance(each.value, str)} <= values.keys()
    for each in outcomes:
        if isinstance(each.value, EvaluationFailure):
            assert each in given.failures
        elif each.value is not None and each.value != values[each.label]:
            earlier = [one for one in outcomes if (one.classifier, one.label) == (each.classifier, each.label)]
            first = next(one for one in earlier if isinstance(one.value, str))
            assert (each.classifier, each.label, each.value) in reported or first.value == values[each.label]
    for each in given.conflicts:
        assert each.kept_by < each.classifier
        assert each.value != values[each.label]
