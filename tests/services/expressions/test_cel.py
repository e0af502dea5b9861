"""Expressions have a value or a reason why not; texts take values in their places."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from schemas.crds import InvalidResource
from services.expressions.cel import CompiledExpression, CompiledTemplate, NoValue
from tests.examples import examples

VARIABLES = {"event": {"type": "a.b"}, "data": {"id": 7, "tags": ["x"], "on": True, "price": 1.5, "none": None}}


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("event.type == 'a.b' && data.id > 6", True),
        ("data.tags.exists(tag, tag == 'y')", False),
        ("has(data.other)", False),
        ("data.id * 2", 14),
        ("data.on ? 'yes' : 'no'", "yes"),
    ],
)
def test_an_expression_has_a_value(text, value):
    assert CompiledExpression(text, "spec").of(VARIABLES) == value


@pytest.mark.parametrize(
    "text", ["data.other", "data.id + 'x'", "1 / 0", "unknown", "'a'.matches('(')", "data.tags[9]"]
)
def test_what_an_expression_cannot_say_has_its_place_and_its_reason(text):
    with pytest.raises(NoValue, match=r"^spec\.when: \S+"):
        CompiledExpression(text, "spec.when").of(VARIABLES)


@pytest.mark.parametrize("text", ["", "a &&", "((((", "a.?b", "'"])
def test_what_is_no_expression_is_refused_in_one_line(text):
    with pytest.raises(InvalidResource, match=r"^spec\.when is no CEL expression: ") as refused:
        CompiledExpression(text, "spec.when")
    assert "\n" not in str(refused.value)


def test_a_text_takes_values_and_a_lone_expression_keeps_its_type():
    written = {
        "name": "run-${data.id}-${data.on}",
        "nodes": "${data.id}",
        "tags": ["${data.tags}", "plain"],
        "price": "${data.price} USD",
        "count": 3,
    }
    assert CompiledTemplate(written, "colony").of(VARIABLES) == {
        "name": "run-7-true",
        "nodes": 7,
        "tags": [["x"], "plain"],
        "price": "1.5 USD",
        "count": 3,
    }


def test_a_value_is_never_read_as_an_expression():
    assert CompiledTemplate("${data}!", "x").of({"data": "${event}"}) == "${event}!"


def test_what_cannot_stand_in_a_text_is_said():
    with pytest.raises(NoValue, match="list cannot stand in a text"):
        CompiledTemplate("tags: ${data.tags}", "x").of(VARIABLES)


@given(text=st.text(max_size=40) | st.text("abd.()[]{}'\"?:&|!<>=+-*/% 019", max_size=60))
@settings(max_examples=examples(400), deadline=None)
def test_whatever_people_write_is_a_value_or_a_sentence(text):
    try:
        CompiledExpression(text, "x").of(VARIABLES)
    except (InvalidResource, NoValue) as why:
        said = str(why)
    else:
        said = "x"
    assert said.startswith("x")
