"""Each wrong value is named in the real server's words."""

import pytest

from services.sandbox.api.schema.validate import validate

WIDGETS = "/apis/demo.io/v1/namespaces/default/widgets"


def says(value, **schema):
    return [str(cause) for cause in validate(value, schema, "spec.x")]


@pytest.mark.parametrize(
    ("value", "schema", "reason", "message"),
    [
        ("s", {"type": "integer"}, "TypeInvalid", 'Invalid value: "string": {} must be of type integer: "string"'),
        (True, {"type": "integer"}, "TypeInvalid", 'Invalid value: "boolean": {} must be of type integer: "boolean"'),
        (None, {"type": "string"}, "TypeInvalid", 'Invalid value: "null": {} must be of type string: "null"'),
        (11, {"maximum": 10}, "Invalid", "Invalid value: 11: {} should be less than or equal to 10"),
        (9, {"maximum": 9, "exclusiveMaximum": True}, "Invalid", "Invalid value: 9: {} should be less than 9"),
        (-1, {"minimum": 0}, "Invalid", "Invalid value: -1: {} should be greater than or equal to 0"),
        (7, {"multipleOf": 2}, "Invalid", "Invalid value: 7: {} should be a multiple of 2"),
        ("Q", {"enum": ["S", "M"]}, "NotSupported", 'Unsupported value: "Q": supported values: "S", "M"'),
        ("123456789", {"maxLength": 8}, "TooLong", "Too long: may not be more than 8 bytes"),
        ("", {"minLength": 1}, "Invalid", 'Invalid value: "": {} should be at least 1 chars long'),
        ("b", {"pattern": "^a$"}, "Invalid", "Invalid value: \"b\": {} should match '^a$'"),
        ([1, 2, 3, 4], {"maxItems": 3}, "TooMany", "Too many: 4: must have at most 3 items"),
        (
            "no",
            {"format": "date-time"},
            "TypeInvalid",
            'Invalid value: "no": {} must be of type date-time: "no"',
        ),
    ],
)
def test_a_wrong_value_is_named(value, schema, reason, message):
    (cause,) = validate(value, schema, "spec.x")
    assert cause == ("spec.x", f"FieldValue{reason}", message.format("spec.x in body"))


@pytest.mark.parametrize(
    ("value", "schema"),
    [
        (None, {"type": "string", "nullable": True}),
        (3.0, {"type": "integer"}),
        (3, {"type": "number"}),
        ("25%", {"x-kubernetes-int-or-string": True}),
        (3, {"x-kubernetes-int-or-string": True}),
        ("2030-01-01T00:00:00Z", {"format": "date-time"}),
        ([{"name": "a"}, {"name": "b"}], {"x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["name"]}),
        ([1, 1], {"x-kubernetes-list-type": "atomic"}),
    ],
)
def test_a_right_value_is_let_through(value, schema):
    assert says(value, **schema) == []


def test_a_missing_field_is_named_with_its_path():
    assert says({}, required=["name"]) == ["spec.x.name: Required value"]


def test_items_and_fields_are_named_with_their_paths():
    schema = {"properties": {"a": {"items": {"type": "integer"}}}, "additionalProperties": {"type": "string"}}
    assert [cause.field for cause in validate({"a": [1, "x"], "b": 2}, schema, "spec")] == ["spec.a[1]", "spec.b"]


def test_duplicates_of_a_set_and_of_keys_are_named():
    keyed = {"x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["name"]}
    assert says([{"name": "a", "v": 1}, {"name": "a"}], **keyed) == ['spec.x[1]: Duplicate value: {"name":"a"}']
    assert says(["a", "a"], **{"x-kubernetes-list-type": "set"}) == ['spec.x[1]: Duplicate value: "a"']


@pytest.mark.parametrize(
    ("junctor", "value", "text"),
    [
        ("anyOf", 3, "must validate at least one schema (anyOf)"),
        ("oneOf", 3, "must validate one and only one schema (oneOf). Found none valid"),
        ("oneOf", 15, "must validate one and only one schema (oneOf). Found 2 valid alternatives"),
    ],
)
def test_junctors_are_held(junctor, value, text):
    (said,) = says(value, **{junctor: [{"minimum": 10}, {"multipleOf": 5}]})
    assert said.endswith(text)


def test_what_must_not_be_is_named():
    assert says(3, **{"not": {"minimum": 1}}) == [
        "spec.x: Invalid value: 3: spec.x in body must not validate the schema (not)"
    ]


async def test_all_that_is_wrong_is_said_at_once(client):
    body = {"metadata": {"name": "w1"}, "spec": {"replicas": 11, "size": "Q"}}
    refused = await client.create(WIDGETS, body)
    assert (refused.status, refused["reason"], refused["details"]["kind"]) == (422, "Invalid", "Widget")
    assert refused.said == (
        'Widget.demo.io "w1" is invalid: [spec.replicas: Invalid value: 11: spec.replicas in body should be less '
        'than or equal to 10, spec.size: Unsupported value: "Q": supported values: "S", "M"]'
    )


async def test_null_counts_as_absent(client):
    made = await client.create(WIDGETS, {"metadata": {"name": "a"}, "spec": {"size": None, "color": None}})
    assert made["spec"] == {"size": "S"}


async def test_what_may_be_anything_is_kept(client):
    made = await client.create(WIDGETS, {"metadata": {"name": "a"}, "spec": {"free": {"any": [1, {"x": None}]}}})
    assert made["spec"]["free"] == {"any": [1, {"x": None}]}


def test_a_field_that_is_the_very_one_known_is_not_held_against_the_schema_again():
    schema = {"properties": {"a": {"properties": {"n": {"type": "integer"}}}, "b": {"type": "integer"}}}
    known = {"a": {"n": "x"}, "b": "y"}
    fields = [cause.field for cause in validate({**known, "b": "z"}, schema, "spec", known)]
    assert fields == ["spec.b"]
    fields = [cause.field for cause in validate({"a": dict(known["a"], m=1)}, schema, "spec", known)]
    assert fields == []
    fields = [cause.field for cause in validate({"a": {"n": 1.5}}, schema, "spec", known)]
    assert fields == ["spec.a.n"]


def test_what_is_known_elsewhere_is_not_known_here():
    schema = {"additionalProperties": {"type": "integer"}}
    part = "x"
    assert [cause.field for cause in validate({"b": part}, schema, "spec", {"a": part})] == ["spec.b"]
