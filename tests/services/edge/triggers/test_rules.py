"""What a Trigger says about an event depends on that event alone, and names of Colonies on nothing else."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from events.backoff import Rate
from events.cloudevents import CloudEvent
from schemas.crds import InvalidResource, read_trigger
from schemas.requests import ClusterRequest, ReleaseRequest
from services.edge.triggers.delivery import WebhookDelivery
from services.edge.triggers.rules import LONGEST, CompiledTrigger, label
from services.edge.triggers.trigger import ActiveTrigger
from services.edge.webhooks.secrets import WebhookEndpoint

COLONY = {
    "clusters": [{"name": "gpu", "pools": [{"accelerator": "H100", "acceleratorsPerNode": 8, "nodes": "${data.n}"}]}]
}
START = {"name": "start", "when": "data.what == 'start'", "then": "Request", "colony": COLONY}
END = {"name": "end", "when": "data.what == 'end'", "then": "Release"}


def trigger(*rules: dict, **spec: Any) -> CompiledTrigger:
    written = {"name": "job-${data.id}", "rules": list(rules or (START, END))} | spec
    return CompiledTrigger(read_trigger({"metadata": {"name": "t", "namespace": "acme"}, "spec": written}))


def followed(**spec: Any) -> ActiveTrigger:
    written = {"name": "job", "rules": [END]} | spec
    return ActiveTrigger(read_trigger({"metadata": {"name": "t", "namespace": "acme"}, "spec": written}))


def heard(data: bytes, tenant: str = "acme") -> WebhookDelivery:
    return WebhookDelivery(
        CloudEvent(id="e", source="/s", type="x", data=data), WebhookEndpoint("plain", tenant, "ci"), 5
    )


def test_the_rule_that_holds_asks_and_the_other_says_why_not():
    start, end = trigger().evaluate(heard(b'{"what": "start", "id": 7, "n": 2}'))
    assert isinstance(start.intake, ClusterRequest)
    assert (start.intake.tenant, start.intake.name, start.intake.origin) == ("acme", "job-7", "trigger-t")
    assert start.intake.spec["clusters"][0]["pools"][0]["nodes"] == 2
    assert (end.intake, end.why) == (None, "does not hold: when is false")


def test_what_was_asked_for_is_let_go_under_the_same_name():
    _, end = trigger().evaluate(heard(b'{"what": "end", "id": 7}'))
    assert end.intake == ReleaseRequest(tenant="acme", name="job-7", origin="trigger-t")


@pytest.mark.parametrize(
    ("data", "why"),
    [
        (b"no json", "does not hold: spec.rules[0].when: "),
        (b'{"what": "start", "n": 1}', "holds, but: spec.name: there is no 'id'"),
        (b'{"what": "start", "id": 1, "n": 0}', "holds, but: spec.clusters[0].pools[0].nodes is 0: must be at least 1"),
        (b'{"what": "start", "id": 1, "n": "2"}', 'nodes is "2": must be a whole number'),
    ],
)
def test_what_a_rule_cannot_ask_for_is_said(data, why):
    start, _ = trigger().evaluate(heard(data))
    assert start.intake is None
    assert why in start.why
    assert start.failed == start.why.startswith("holds")


def test_a_condition_must_be_true_and_not_just_something():
    (verdict,) = trigger(START | {"when": "data.what"}).evaluate(heard(b'{"what": "start", "id": 1, "n": 1}'))
    assert verdict.why == "does not hold: when is 'start'"


@pytest.mark.parametrize(
    ("spec", "listens"),
    [
        ({}, True),
        ({"provider": "plain", "endpoint": "ci"}, True),
        ({"provider": "github"}, False),
        ({"endpoint": "x"}, False),
    ],
)
def test_a_trigger_listens_to_the_endpoints_it_names(spec, listens):
    assert followed(**spec).listens(heard(b"{}").channel) is listens


def test_a_trigger_never_listens_to_another_tenant():
    assert not followed().listens(heard(b"{}", tenant="other").channel)


def test_what_makes_it_the_same_wish_is_the_event_or_what_the_rule_says():
    event = heard(b'{"what": "start", "id": 7, "n": 2}')
    assert trigger().evaluate(event)[0].once == "/s\0e"
    assert trigger(START | {"once": "${data.id}"}).evaluate(event)[0].once == "7"


def test_a_limit_is_a_rate():
    assert followed(limit={"requests": 6, "every": "1m"}).rate == Rate(0.1, 6)
    assert followed().rate.burst == 20


@pytest.mark.parametrize(
    ("rule", "why"),
    [
        (START | {"when": "data.what =="}, r"^spec\.rules\[0\]\.when is no CEL expression"),
        (START | {"once": "${(}"}, r"^spec\.rules\[0\]\.once is no CEL expression"),
        (
            START | {"colony": {"clusters": [{"name": "${"}, "${)}"]}},
            r"^spec\.rules\[0\]\.colony\.clusters\[1\] is no CEL",
        ),
    ],
)
def test_a_mistake_is_named_where_it_was_made(rule, why):
    with pytest.raises(InvalidResource, match=why):
        trigger(rule)


@given(st.text(), st.text())
def test_a_name_is_a_label_and_stands_for_one_text(text, other):
    name = label(text)
    assert 0 < len(name) <= LONGEST
    assert name.replace("-", "a").isalnum()
    assert name.isascii()
    assert name == name.lower().strip("-") == label(name)
    assert other in {text, name} or label(other) != name
