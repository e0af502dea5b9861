"""A pod may be where its selector, its affinity and its tolerations let it, as the scheduler has it."""

import pytest

from services.kubernetes.scheduling import admits, selects, tolerates

LABELS = {"zone": "a", "cores": "64", "alate.dev/pool": "gpu"}
DEDICATED = {"key": "dedicated", "value": "train", "effect": "NoSchedule"}


def required(*terms):
    return {
        "affinity": {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": terms}}}
    }


def asks(key, operator, *values):
    return {"key": key, "operator": operator, "values": list(values)}


def test_a_pod_that_asks_for_nothing_may_be_on_any_node_without_taints():
    assert admits({}, {}, ())
    assert admits({"nodeSelector": None, "affinity": None, "tolerations": None}, LABELS, ())
    assert not admits({}, LABELS, (DEDICATED,))


def test_every_label_of_a_selector_has_to_be_there():
    assert selects({"nodeSelector": {"zone": "a", "cores": "64"}}, LABELS)
    assert not selects({"nodeSelector": {"zone": "a", "cores": "32"}}, LABELS)
    assert not selects({"nodeSelector": {"disk": "ssd"}}, LABELS)


@pytest.mark.parametrize(
    ("asked", "holds"),
    [
        (asks("zone", "In", "a", "b"), True),
        (asks("zone", "In", "b"), False),
        (asks("disk", "In", "ssd"), False),
        (asks("zone", "NotIn", "b"), True),
        (asks("zone", "NotIn", "a"), False),
        (asks("disk", "NotIn", "ssd"), True),
        (asks("zone", "Exists"), True),
        (asks("disk", "Exists"), False),
        (asks("disk", "DoesNotExist"), True),
        (asks("zone", "DoesNotExist"), False),
        (asks("cores", "Gt", "32"), True),
        (asks("cores", "Gt", "64"), False),
        (asks("cores", "Lt", "65"), True),
        (asks("cores", "Lt", "64"), False),
        (asks("zone", "Gt", "1"), False),
        (asks("disk", "Lt", "1"), False),
        (asks("cores", "Gt", "abc"), False),
        (asks("cores", "Lt", "abc"), False),
        (asks("cores", "Gt", ""), False),
        (asks("cores", "Gt", "6³"), False),
        (asks("cores", "Gt", "3_2"), False),
        (asks("cores", "Gt", "-1"), True),
        (asks("cores", "Gt", "+32"), True),
        (asks("cores", "Lt", "9" * 30), False),
        (asks("cores", "Lt", "9" * 9999), False),
        (asks("cores", "Gt"), False),
        (asks("cores", "Gt", "1", "2"), False),
        (asks("zone", "Like", "a"), False),
    ],
)
def test_each_operator_of_an_affinity_means_what_kubernetes_says(asked, holds):
    assert selects(required({"matchExpressions": [asked]}), LABELS) == holds


def test_of_terms_one_has_to_hold_and_of_a_term_all_that_it_asks():
    here, there = asks("zone", "In", "a"), asks("zone", "In", "b")
    assert selects(required({"matchExpressions": [there]}, {"matchExpressions": [here]}), LABELS)
    assert not selects(required({"matchExpressions": [here, there]}), LABELS)
    assert not selects(required({}), LABELS)
    assert not selects(required(), LABELS)


def test_a_selector_and_an_affinity_both_have_to_hold():
    here = {"matchExpressions": [asks("zone", "In", "a")]}
    assert not selects(required(here) | {"nodeSelector": {"zone": "b"}}, LABELS)


def test_what_is_asked_of_a_nodes_name_holds_for_that_node_and_for_none_without_a_name():
    named = required({"matchFields": [asks("metadata.name", "In", "n1")]})
    assert selects(named, LABELS, "n1")
    assert not selects(named, LABELS, "n2")
    assert not selects(named, LABELS)


def test_what_is_only_preferred_keeps_a_pod_from_nowhere():
    soft = [{"weight": 1, "preference": {"matchExpressions": [asks("zone", "In", "b")]}}]
    spec = {"affinity": {"nodeAffinity": {"preferredDuringSchedulingIgnoredDuringExecution": soft}}}
    assert admits(spec, LABELS, ({"key": "busy", "effect": "PreferNoSchedule"},))


@pytest.mark.parametrize(
    ("toleration", "tolerated"),
    [
        ({"operator": "Exists"}, True),
        ({"key": "dedicated", "operator": "Exists"}, True),
        ({"key": "dedicated", "value": "train"}, True),
        ({"key": "dedicated", "operator": "Equal", "value": "train", "effect": "NoSchedule"}, True),
        ({"key": "dedicated", "value": "infer"}, False),
        ({"key": "other", "operator": "Exists"}, False),
        ({"key": "dedicated", "value": "train", "effect": "NoExecute"}, False),
    ],
)
def test_a_taint_is_tolerated_by_key_value_and_effect(toleration, tolerated):
    assert tolerates({"tolerations": [toleration]}, (DEDICATED,)) == tolerated


def test_every_taint_has_to_be_tolerated():
    other = {"key": "spot", "effect": "NoExecute"}
    spec = {"tolerations": [{"key": "dedicated", "operator": "Exists"}]}
    assert not tolerates(spec, (DEDICATED, other))
