"""Makes an example of a message from its declaration."""

from datetime import UTC, datetime
from functools import singledispatch

import msgspec
from msgspec import inspect

ExampleValue = object

MOMENT = datetime(2026, 1, 31, 12, tzinfo=UTC)
NAMES = {
    "tenant": "acme",
    "name": "train-gpu",
    "cluster": "train-gpu",
    "colony": "train",
    "accelerator": "H100",
    "cloud": "aws",
    "region": "us-east-1",
    "currency": "USD",
}
"""Example values by field name; any other text field gets its own name."""


def example(struct: type[msgspec.Struct]) -> ExampleValue:
    """As JSON would have it."""
    return msgspec.to_builtins(_of(inspect.type_info(struct), ""))


@singledispatch
def _of(_kind: inspect.Type, _name: str) -> ExampleValue:
    """Of a kind without a row: what fits is said elsewhere."""
    return {}


@_of.register
def _(kind: inspect.StructType, _name: str) -> ExampleValue:
    tag = {kind.tag_field: kind.tag} if kind.tag_field else {}
    return tag | {field.encode_name: _of(field.type, field.encode_name) for field in kind.fields}


@_of.register
def _(_kind: inspect.StrType, name: str) -> ExampleValue:
    return NAMES.get(name, name.replace("_", " ") or "text")


@_of.register
def _(_kind: inspect.DateTimeType, _name: str) -> ExampleValue:
    return MOMENT


@_of.register
def _(_kind: inspect.BoolType, _name: str) -> ExampleValue:
    return False


@_of.register
def _(kind: inspect.IntType, _name: str) -> ExampleValue:
    return kind.ge if kind.ge is not None else 1


@_of.register
def _(_kind: inspect.FloatType, _name: str) -> ExampleValue:
    return 1.5


@_of.register(inspect.LiteralType)
def _(kind: inspect.LiteralType, _name: str) -> ExampleValue:
    return kind.values[0]


@_of.register
def _(kind: inspect.EnumType, _name: str) -> ExampleValue:
    return next(iter(kind.cls))


@_of.register
def _(kind: inspect.UnionType, name: str) -> ExampleValue:
    return _of(next(each for each in kind.types if not isinstance(each, inspect.NoneType)), name)


@_of.register(inspect.ListType)
@_of.register(inspect.VarTupleType)
@_of.register(inspect.FrozenSetType)
def _(kind: inspect.ListType | inspect.VarTupleType | inspect.FrozenSetType, name: str) -> ExampleValue:
    return [_of(kind.item_type, name.removesuffix("s"))]


@_of.register
def _(kind: inspect.TupleType, name: str) -> ExampleValue:
    return [_of(each, name) for each in kind.item_types]


@_of.register
def _(kind: inspect.DictType, name: str) -> ExampleValue:
    return {str(_of(kind.key_type, "key")): _of(kind.value_type, name)}
