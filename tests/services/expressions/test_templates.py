"""Templates take values in their places; what is wrong in one has its line and its column."""

import json

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from schemas.crds import InvalidResource
from services.expressions.cel import NoValue
from services.expressions.templates import LARGEST_OUTPUT, LARGEST_TEMPLATE, TextTemplate, ValueTemplate
from tests.examples import examples
from tests.services.expressions.samples import FACTS

OBJECTS = {"objects": {"cfg": {"data": {"values": "v", "items": ["a"], "port": 80}, "kind": "ConfigMap"}}}
VARIABLES = FACTS | OBJECTS


def filled(text: str) -> str:
    return TextTemplate(text, "spec.manifests").fill(VARIABLES)


def problem(text: str, error: type[Exception]) -> str:
    with pytest.raises(error) as caught:
        filled(text)
    assert "\n" not in str(caught.value)
    return str(caught.value)


@pytest.mark.parametrize(
    ("text", "becomes"),
    [
        ("name: {{ cluster.name }}\n", "name: lab-main\n"),
        ("v{{ cluster.version }} {{ cluster.version.minor + 1 }}", "v1.33.2 34"),
        ("{{ cluster.labels }}", '{"team":"ml","tier":"prod","zone":"a"}'),
        ("{{ true }} {{ none }} {{ 1.5 }}", "true null 1.5"),
        ("{{ cluster.accelerators | sum(attribute='count') }}", "17"),
        ("{{ cluster.labels.nope | default('none') }}", "none"),
        ("{{ 'yes' if cluster.cloud == 'aws' else 'no' }}", "yes"),
        ("{{ cluster.labels['team'] }}{{ cluster.name.split('-')[0] }}", "mllab"),
        ("{{ objects.cfg.data.values }}{{ objects.cfg.data['items'][0] }}", "va"),
        ("{{ 'x' | b64encode }} {{ 'eA==' | b64decode }} {{ {'a': '<'} | tojson }}", 'eA== x {"a":"<"}'),
        ("a:\n  {{ cluster.accelerators[0] | to_yaml | indent(2) }}\n", "a:\n  model: H100\n  count: 16\n"),
        ("{% raw %}{{ $labels.pod }}{% endraw %}", "{{ $labels.pod }}"),
        ("echo ${#HOME} ${HOME} {{# a comment #}}!", "echo ${#HOME} ${HOME} !"),
        ("{% macro f(x) %}<{{ x }}>{% endmacro %}{{ f(1) }}{% set y = 2 %}{{ y }}", "<1>2"),
        ("a\r\nb\r\n{{ cluster.nodes }}\r\n", "a\nb\n3\n"),
    ],
)
def test_a_text_takes_values(text, becomes):
    assert filled(text) == becomes


def test_a_line_that_has_only_a_statement_leaves_none():
    text = """\
pools:
{% for each in cluster.accelerators %}
  {% if each.count > 1 %}
- {{ each.model }}
  {% endif %}
{% endfor %}
end: 1
"""
    assert filled(text) == "pools:\n- H100\nend: 1\n"


def test_values_keep_their_types_where_a_text_is_only_one_expression():
    written = {
        "nodes": "{{ cluster.nodes }}",
        "list": ["{{ cluster.accelerators | map(attribute='model') }}", "{{ none }}", "{{ cluster.nodes > 2 }}", 7],
        "text": "n{{ cluster.nodes }}",
        "spaced": " {{ cluster.nodes }}",
        "version": "{{ cluster.version.text }}",
        "{{ key }}": 1.5,
    }
    assert ValueTemplate(written, "spec.values").fill(VARIABLES) == {
        "nodes": 3,
        "list": [["H100", "L4"], None, True, 7],
        "text": "n3",
        "spaced": " 3",
        "version": "1.33.2",
        "{{ key }}": 1.5,
    }


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("a\n  b: {{ 1 + }}", "line 2, column 13: unexpected 'end of print statement'"),
        ("{{ x | nope }}", "line 1, column 8: No filter named 'nope'"),
        ("a\n\n {% if x %}b", "line 3, column 12: Unexpected end of template: "),
        ("é {% for %}", "line 1, column 10: Expected an expression, got 'end of statement block'"),
        ("{{ $labels.x }}", "line 1, column 4: unexpected char '$': write what is not for alate within {% raw %} and"),
        ("x\n{{ .Values.x }}", "line 2, column 4: unexpected '.': write what is not for alate within {% raw %} and"),
        ("{% include 'x' %}", "line 1, column 4: include is refused: a template reads no other"),
        ("{% extends 'x' %}", "line 1, column 4: extends is refused"),
        ("{{ 'a' }", "line 1, column 8: unexpected '}'"),
    ],
)
def test_what_is_no_template_is_refused_with_its_line_and_column(text, why):
    assert problem(text, InvalidResource).startswith(f"spec.manifests: {why}")


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("a\n{{ cluster.nope }}", "line 2, column 11: there is no 'nope'"),
        ("a: {{ nope }}", "line 1, column 7: there is no 'nope'"),
        ("{{ cluster.labels.a.b }}", "line 1, column 20: there is no 'a'"),
        (
            "{% for x in cluster.accelerators %}\n{{ x.name }}\n{% endfor %}",
            "line 2, column 5: there is no 'name'",
        ),
        ("x {{ 1 / 0 }}", "line 1, column 6: division by zero"),
        ("{{ cluster.nodes + 'x' }}", "line 1, column 4: unsupported operand type(s) for +: 'int' and 'str'"),
        ("{{ cluster.name.upper }}", "line 1, column 16: a builtin_function_or_method cannot be written"),
        ("{% macro f() %}{{ f() }}{% endmacro %}{{ f() }}", "line 1, column 20: it is nested too deep"),
        ("{{ 'aa' | b64decode }}", "line 1, column 11: Incorrect padding"),
        ("{{ lipsum() }}", "line 1, column 10: there is no 'lipsum'"),
    ],
)
def test_what_has_no_value_is_named_with_its_line_and_column(text, why):
    assert problem(text, NoValue) == f"spec.manifests: {why}"


def test_a_value_that_is_not_there_is_named_with_its_path():
    with pytest.raises(NoValue, match=r"^spec\.values\.a\[1\]: line 1, column 11: there is no 'nope'$"):
        ValueTemplate({"a": [1, "{{ cluster.nope }}"]}, "spec.values").fill(VARIABLES)
    with pytest.raises(NoValue, match=r"^spec\.values\.a: line 1, column 27: there is no 'x'$"):
        ValueTemplate({"a": "{{ cluster.accelerators | map(attribute='x') }}"}, "spec.values").fill(VARIABLES)


@pytest.mark.parametrize(
    "text",
    [
        "{{ ''.__class__ }}",
        "{{ ''.__class__.__mro__[1].__subclasses__() }}",
        "{{ cluster.__init__.__globals__ }}",
        "{{ cluster['__class__'] }}",
        "{{ cluster | attr('__class__') }}",
        "{{ '{0.__class__}'.format(cluster) }}",
        "{{ '{x.__class__}'.format_map({'x': 1}) }}",
        "{{ cycler.__init__.__globals__ }}",
        "{{ self.__init__.__globals__ }}",
        "{{ cluster.labels.update({'a': 1}) }}",
        "{{ cluster.accelerators.append(1) }}",
        "{{ (cluster.name.format).__self__ }}",
        "{% set f = cluster.labels.pop %}{{ f('team') }}",
        "{{ [1].__iter__().__class__ }}",
        "{{ namespace.__init__.__globals__ }}",
        "{{ [cluster] | map(attribute='__class__') | list }}",
        "{{ [cluster] | map('attr', '__class__') | first }}",
    ],
)
def test_a_template_reaches_nothing_but_its_variables_and_changes_none(text):
    before = json.dumps(VARIABLES)
    why = problem(text, NoValue)
    assert "unsafe" in why or "there is no" in why
    assert json.dumps(VARIABLES) == before


def test_what_becomes_too_long_is_stopped_on_the_way():
    text = "{% for a in range(90000) %}{% for b in range(90000) %}0123456789{% endfor %}{% endfor %}"
    assert problem(text, NoValue) == f"spec.manifests becomes longer than {LARGEST_OUTPUT} characters"


def test_a_template_that_is_too_long_is_refused_and_a_text_without_one_is_not():
    with pytest.raises(InvalidResource, match=r"^spec\.x has 262147 characters: a template must have at most 262144$"):
        TextTemplate("x" * LARGEST_TEMPLATE + "{{x", "spec.x")
    with pytest.raises(InvalidResource, match=r"^spec\.x has 300016 characters"):
        ValueTemplate(["{{ 1 }}" + "x" * 150_001] * 2, "spec.x")
    long = ["x" * 300_000]
    assert ValueTemplate(long, "spec.x").fill({}) == long


@pytest.mark.parametrize("text", ["{{ " + "(" * 5000, "{{ " + "-" * 50_000 + "1 }}", "{% if 1 %}" * 5000])
def test_what_is_nested_too_deep_is_refused(text):
    assert problem(text, InvalidResource).startswith("spec.manifests")


PIECES = st.sampled_from([
    "{{ ", " }}", "{% ", " %}", "{%- ", " -%}", "{{#", "#}}", "raw", "endraw", "for x in ", "endfor", "if ", "endif",
    "else", "cluster", ".",
    "name", "nope", "x", "1", "'a'", " + ", "(", ")", "[", "]", "{", "}", "|", "upper", "$", "-",
    "é", "\n", "  ",
])  # fmt: skip


@given(pieces=st.lists(PIECES, max_size=25))
@settings(max_examples=examples(500), deadline=None)
def test_whatever_people_write_becomes_a_text_or_a_sentence_with_a_place_in_it(pieces):
    text = "".join(pieces)
    try:
        filled(text)
    except (InvalidResource, NoValue) as why:
        place = str(why).removeprefix("spec.manifests: line ").split(":")[0]
        line, column = map(int, place.split(", column "))
        lines = text.split("\n")
        assert 1 <= line <= len(lines)
        assert 1 <= column <= len(lines[line - 1]) + 1


@given(value=st.recursive(
    st.none() | st.booleans() | st.integers(-9, 9) | st.text(st.characters(exclude_categories=["C"]), max_size=9),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text("abc", max_size=2), inner, max_size=3),
    max_leaves=9,
))  # fmt: skip
@settings(max_examples=examples(200), deadline=None)
def test_any_value_comes_out_as_it_went_in(value):
    assert ValueTemplate("{{ x }}", "x").fill({"x": value}) == value
    assert yaml.safe_load(TextTemplate("a: {{ x | to_json }}", "x").fill({"x": value})) == {"a": value}
    assert yaml.safe_load(TextTemplate("a:\n  - {{ [x] | to_yaml | indent(4) }}", "x").fill({"x": value})) == {
        "a": [[value]]
    }
