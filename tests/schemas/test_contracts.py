"""Whatever this build says, the readers of every earlier release can read: none of what they need is gone or changed.

A release adds a file of its JSON Schemas, by type of message; none is ever changed.
"""

import json
from pathlib import Path
from typing import Literal

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from jsonschema import Draft202012Validator, FormatChecker, ValidationError
from msgspec import inspect

from schemas.discover import lifecycles
from schemas.generate.example import example
from schemas.registry import named
from tests.corpus import RELEASES
from tests.examples import examples

lifecycles()
FOLDER = Path(__file__).parents[1] / "data" / "contracts"
CONTRACTS = {path.stem: json.loads(path.read_text()) for path in sorted(FOLDER.glob("*.json"))}
KEPT = [pytest.param(kind, schema, id=f"{release} {kind}") for release, kinds in CONTRACTS.items()
        for kind, schema in kinds.items()]  # fmt: skip
EVERY = pytest.mark.parametrize(("kind", "schema"), KEPT)


def drawn(kind: inspect.Type) -> st.SearchStrategy:  # noqa: PLR0911 - a table, a row for each kind
    """Whatever a declared type can hold."""
    match kind:
        case inspect.StructType():
            fields = {field.encode_name: drawn(field.type) for field in kind.fields}
            tag = {kind.tag_field: st.just(kind.tag)} if kind.tag_field else {}
            return st.fixed_dictionaries(tag | fields)
        case inspect.IntType():
            return st.integers(kind.ge if kind.ge is not None else 0, 2**31)
        case inspect.FloatType():
            return st.floats(0, 1e9, allow_nan=False)
        case inspect.LiteralType():
            return st.sampled_from(kind.values)
        case inspect.EnumType():
            return st.sampled_from([each.value for each in kind.cls])
        case inspect.UnionType():
            return st.one_of([drawn(each) for each in kind.types])
        case inspect.ListType() | inspect.VarTupleType() | inspect.FrozenSetType():
            return st.lists(drawn(kind.item_type), max_size=2)
        case inspect.TupleType():
            return st.tuples(*map(drawn, kind.item_types)).map(list)
        case inspect.DictType():
            return st.dictionaries(st.text(max_size=3), drawn(kind.value_type), max_size=2)
    return LEAVES[type(kind)]


LEAVES = {
    inspect.StrType: st.text(max_size=5),
    inspect.BoolType: st.booleans(),
    inspect.NoneType: st.none(),
    inspect.DateTimeType: st.datetimes().map(lambda time: f"{time.isoformat()}Z"),
    inspect.AnyType: st.none() | st.booleans() | st.text(max_size=3),
    inspect.CustomType: st.none() | st.booleans() | st.text(max_size=3),
}


def said(shape: type[msgspec.Struct], written: object) -> object:
    """As this build puts it on the wire."""
    return json.loads(msgspec.json.encode(msgspec.convert(written, shape)))


def read(schema: object, value: object) -> None:
    """As the earlier release's readers took it. Raises ValidationError."""
    Draft202012Validator(schema, format_checker=FormatChecker()).validate(value)


def test_every_release_with_a_corpus_has_its_contracts():
    assert list(CONTRACTS) == RELEASES


@EVERY
def test_what_was_said_once_is_still_said(kind, schema):
    assert named(kind) is not None


@EVERY
@settings(max_examples=examples(25), deadline=None)
@given(data=st.data())
def test_earlier_readers_read_whatever_this_build_says(kind, schema, data):
    shape = named(kind).struct
    read(schema, said(shape, data.draw(drawn(inspect.type_info(shape)))))


@EVERY
def test_earlier_readers_read_the_example_on_the_events_page(kind, schema):
    read(schema, said(named(kind).struct, example(named(kind).struct)))


class Before(msgspec.Struct):
    name: str
    nodes: int
    spot: Literal["never", "always"] = "never"


class Gone(msgspec.Struct):
    name: str


class Changed(msgspec.Struct):
    name: str
    nodes: float


class Wider(msgspec.Struct):
    name: str
    nodes: int
    spot: Literal["also", "never"] = "also"


class More(msgspec.Struct):
    name: str
    nodes: int
    new: str


@pytest.mark.parametrize("after", [Gone, Changed, Wider])
def test_what_earlier_readers_need_and_do_not_find_is_noticed(after):
    with pytest.raises(ValidationError):
        read(msgspec.json.schema(Before), said(after, example(after)))


def test_what_earlier_readers_do_not_know_they_pass_over():
    read(msgspec.json.schema(Before), said(More, example(More)))
