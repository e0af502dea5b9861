"""Rules see the spec and the name, and the rest of an object where one asks for it."""

import pytest

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
