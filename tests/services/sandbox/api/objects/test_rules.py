"""Rules see the spec and the name, and the rest of an object where one asks for it."""

import time

import pytest

from schemas.crds.rules import colony_rules
from services.sandbox.api.objects import rules


def causes(rule: str, old: dict | None, new: dict) -> list[str]:
    return [
        each.message for each in rules.broken({"x-kubernetes-validations": [{"rule": rule, "message": "no"}]}, old, new)
    ]


def shaped(nodes: int, phase: str = "") -> dict:
    return {
        "kind": "Crowd",
        "metadata": {"name": "c", "uid": "1"},
        "spec": {"nodes": nodes},
        "status": {"phase": phase},
    }


@pytest.mark.parametrize(
    ("rule", "old", "new", "broken"),
    [
        ("self.spec.nodes < 3", None, shaped(2), False),
        ("self.spec.nodes < 3", None, shaped(3), True),
        ("self.spec.nodes >= oldSelf.spec.nodes", shaped(3), shaped(2), True),
        ("self.spec.nodes >= oldSelf.spec.nodes", shaped(3), shaped(3), False),
        ("self.spec.nodes >= oldSelf.spec.nodes", None, shaped(2), False),
        ("self.status.phase != 'Late'", shaped(2), shaped(2, "Late"), True),
        ("self.status.phase != 'Late'", shaped(2, "Late"), shaped(2), False),
        ("!has(oldSelf.status) || oldSelf.status.phase != 'Late'", shaped(2, "Late"), shaped(2), True),
        ("!has(oldSelf.status) || self.spec.nodes == 2", shaped(2, "Late"), shaped(3), True),
        ("has(self.status.phase) && self.status.phase == ''", None, shaped(2), False),
        ("self.spec == {'nodes': 2}", None, shaped(2), False),
        ("self.spec.exists(name, name == 'nodes')", None, shaped(2), False),
        ("self.spec.size() == 1 && self.size() == 4", None, shaped(2), False),
        ("self['spec'].nodes == 2 && self.spec['nodes'] == 2", None, shaped(2), False),
        ("has(self.status) && has(self.kind)", None, shaped(2), False),
        ("self.metadata.name == 'c' && !has(self.metadata.uid)", None, shaped(2), False),
    ],
)  # fmt: skip
def test_a_rule_is_held_against_what_it_asks_for(rule, old, new, broken):
    assert causes(rule, old, new) == (["Invalid value: no"] if broken else [])
    assert causes(rule, old, new) == (["Invalid value: no"] if broken else [])


def numbers(count: int) -> dict:
    return {"kind": "Crowd", "metadata": {"name": "c"}, "spec": {"l": list(range(count))}}


THREE = "self.spec.l.all(a, self.spec.l.all(b, self.spec.l.all(c, a + b + c >= 0)))"


def test_a_rule_that_costs_too_much_is_refused_as_the_real_server_does_and_holds_nothing():
    began = time.thread_time()
    (why,) = causes(THREE, None, numbers(200))
    assert why.endswith("validation failed due to running out of cost budget, no further validation rules will be run")
    assert time.thread_time() - began < 0.1
    assert causes(THREE, None, numbers(20)) == []


@pytest.mark.parametrize(
    ("rule", "why"),
    [
        ("self.spec.nodes <", "rule compile error: line 1, column 18: mismatched input the end"),
        ("self.spec.other == 1", "no such key: other evaluating rule: no"),
        ("self.spec.nodes + 'x' == ''", "No such overload: the operation is not defined"),
    ],
)
def test_a_rule_that_has_no_value_says_why(rule, why):
    (told,) = causes(rule, None, shaped(2))
    assert told.startswith(f'Invalid value: "object": {why}')


def test_the_largest_colony_is_within_the_budget_of_its_rules():
    pools = [
        {"name": f"p{n}", "accelerator": "H100", "acceleratorsPerNode": 8, "nodes": 1, "cpu": 1} for n in range(10)
    ]
    clusters = [{"name": f"c{n}", "kubernetesVersion": "v1.33.0", "pools": pools} for n in range(32)]
    running = {"running": [each["name"] for each in clusters]}
    old = {"metadata": {"name": "x"}, "spec": {"clusters": clusters}, "status": running}
    later = {"clusters": [each | {"kubernetesVersion": "v1.34.0"} for each in clusters]}
    schema = {"x-kubernetes-validations": colony_rules()}
    assert list(rules.broken(schema, old, old | {"spec": later})) == []
