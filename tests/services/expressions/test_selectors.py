"""A selector selects the clusters of which everything that it says holds."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from schemas.crds.profile import ClusterSelectorSpec, LabelRequirement
from services.expressions.evaluation import EvaluationFailure
from services.expressions.facts import AcceleratorFact, ClusterFacts, version_parts
from services.expressions.selectors import matches, meets, problem

LAB = ClusterFacts(
    name="lab-main",
    namespace="acme",
    colony="lab",
    labels={"team": "ml", "tier": "prod"},
    version="v1.33.2",
    cloud="aws",
    region="eu-west-1",
    accelerators=(AcceleratorFact("H100", 16),),
    nodes=2,
)


def selected(facts: ClusterFacts = LAB, **selector: object) -> bool | EvaluationFailure:
    return matches(ClusterSelectorSpec.model_validate(selector), facts, "spec.clusters")


@pytest.mark.parametrize(
    ("selector", "expected"),
    [
        ({}, True),
        ({"matchLabels": {"team": "ml"}}, True),
        ({"matchLabels": {"team": "ml", "tier": "dev"}}, False),
        ({"matchLabels": {"team": ""}}, False),
        ({"matchExpressions": [{"key": "tier", "operator": "In", "values": ["dev", "prod"]}]}, True),
        ({"matchExpressions": [{"key": "nope", "operator": "In", "values": ["dev"]}]}, False),
        ({"matchExpressions": [{"key": "tier", "operator": "NotIn", "values": ["prod"]}]}, False),
        ({"matchExpressions": [{"key": "nope", "operator": "NotIn", "values": ["prod"]}]}, True),
        ({"matchExpressions": [{"key": "team", "operator": "Exists"}]}, True),
        ({"matchExpressions": [{"key": "team", "operator": "DoesNotExist"}]}, False),
        ({"names": ["lab-main", "other"]}, True),
        ({"names": ["other"]}, False),
        ({"colonies": ["lab"]}, True),
        ({"colonies": ["other"], "names": ["lab-main"]}, False),
        ({"where": "cluster.cloud == 'aws' && cluster.version.minor >= 33"}, True),
        ({"where": "cluster.version.minor >= 34"}, False),
        ({"where": "cluster.accelerators.exists(a, a.model == 'H100' && a.count >= 8)"}, True),
        ({"where": "cluster.version.major == 1", "matchLabels": {"team": "web"}}, False),
        ({"where": "'team' in cluster.labels && cluster.labels.team in ['ml', 'web']"}, True),
    ],
)
def test_everything_that_a_selector_says_must_hold(selector, expected):
    assert selected(**selector) is expected


@pytest.mark.parametrize(
    ("where", "why"),
    [
        ("cluster.labels.nope == 'x'", "spec.clusters.where: there is no 'nope'"),
        ("cluster.nodes", "spec.clusters.where gives 2: must give true or false"),
        ("cluster.nodes ==", "spec.clusters.where is no CEL expression: line 1, column 17: mismatched input the end"),
        (
            "[[1, 2, 3, 4, 5, 6, 7, 8]].all(a, a.all(b, a.all(c, [a, b, c] != [cluster])))",
            "spec.clusters.where may take more than 5 ms for these variables: it loops or compares too much",
        ),
    ],
)
def test_a_condition_without_an_answer_is_a_failure_and_no_mismatch(where, why):
    failure = selected(where=where)
    assert isinstance(failure, EvaluationFailure)
    assert failure.why == why


def test_a_condition_is_not_asked_where_labels_decide():
    assert selected(where="1 / 0 == 1", matchLabels={"team": "web"}) is False


def test_what_can_never_be_evaluated_is_known_without_a_cluster():
    written = ClusterSelectorSpec(where="a &&")
    assert problem(written, "spec.clusters").why.startswith(
        "spec.clusters.where is no CEL expression: line 1, column 5"
    )
    assert problem(ClusterSelectorSpec(where="cluster.nodes > 1"), "x") is None
    assert problem(ClusterSelectorSpec(), "x") is None


LABELS = st.dictionaries(st.sampled_from("abc"), st.sampled_from("xyz"))
SOME = st.lists(st.sampled_from("xyz"), min_size=1, unique=True)


@given(labels=LABELS, key=st.sampled_from("abc"), values=SOME)
def test_each_operator_and_its_opposite_divide_all_clusters(labels, key, values):
    def holds(operator: str, values: list[str]) -> bool:
        return meets(LabelRequirement(key=key, operator=operator, values=values), labels)

    assert holds("In", values) != holds("NotIn", values)
    assert holds("Exists", []) != holds("DoesNotExist", [])
    assert not holds("In", values) or holds("Exists", [])
    assert holds("In", values) == any(holds("In", [each]) for each in values)


@given(labels=LABELS, wanted=LABELS)
def test_match_labels_mean_the_same_as_in_with_one_value(labels, wanted):
    facts = replace(LAB, labels=labels)
    requirements = [{"key": key, "operator": "In", "values": [value]} for key, value in wanted.items()]
    assert selected(facts, matchLabels=wanted) is selected(facts, matchExpressions=requirements)
    assert selected(facts, matchLabels=wanted) is (wanted.items() <= labels.items())


@pytest.mark.parametrize(
    ("version", "parts"),
    [
        ("v1.33.2", (1, 33, 2, "1.33.2")),
        ("1.9", (1, 9, 0, "1.9")),
        ("v1.31.4-eks-2d5f260", (1, 31, 4, "1.31.4-eks-2d5f260")),
        ("v1.30.1+k3s1", (1, 30, 1, "1.30.1+k3s1")),
        ("", (0, 0, 0, "")),
        ("devel", (0, 0, 0, "devel")),
    ],
)
def test_a_version_has_numbers(version, parts):
    assert tuple(version_parts(version).values()) == parts
