"""A Trigger is read strictly, and what is wrong with it is named."""

import pytest

from schemas.crds import InvalidResource, read_trigger

RULE = {"name": "start", "when": "true", "then": "Request", "colony": {"clusters": "${data.clusters}"}}
SPEC = {"name": "x", "rules": [RULE]}


def test_a_trigger_is_read_with_its_template_as_it_was_written():
    trigger = read_trigger({"metadata": {"name": "t"}, "spec": SPEC | {"limit": {"requests": 2, "every": "1m"}}})
    assert trigger.spec.rules[0].colony == {"clusters": "${data.clusters}"}
    assert trigger.spec.limit.every.total_seconds() == 60


@pytest.mark.parametrize(
    ("spec", "why"),
    [
        ({"rules": [RULE]}, "spec.name is missing"),
        (SPEC | {"rules": []}, "spec.rules: must not be empty"),
        (SPEC | {"rules": [RULE, RULE]}, "each name must be unique"),
        (
            SPEC | {"rules": [RULE | {"then": "Release"}]},
            "colony must be given with then: Request, and with nothing else",
        ),
        (
            SPEC | {"rules": [{k: v for k, v in RULE.items() if k != "colony"}]},
            "colony must be given with then: Request",
        ),
        (SPEC | {"rules": [RULE | {"wen": "true"}]}, "did you mean when?"),
        (SPEC | {"limit": {"requests": 0, "every": "1m"}}, "spec.limit.requests is 0: must be at least 1"),
    ],
)
def test_what_is_wrong_with_a_trigger_is_one_sentence(spec, why):
    with pytest.raises(InvalidResource) as refused:
        read_trigger({"metadata": {"name": "t"}, "spec": spec})
    assert why in str(refused.value)
