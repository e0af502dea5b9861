"""Validates values against a schema, with the real server's messages."""

import re
from collections.abc import Callable, Iterator, Sized
from datetime import datetime
from functools import lru_cache
from typing import Any, NamedTuple

from events.kube.client import Object
from services.sandbox.api.schema.fields import json_text
from services.sandbox.api.status import FieldError

_TYPES: dict[str, tuple[type, ...]] = {
    "string": (str,),
    "integer": (int,),
    "number": (int, float),
    "boolean": (bool,),
    "object": (dict,),
    "array": (list,),
}
_TOO_MANY = ("FieldValueTooMany", "Too many: {found}: must have at most {most} items")
_NAMES = {str: "string", int: "integer", float: "number", bool: "boolean", dict: "object", list: "array"}


def validate(value: object, schema: Object, path: str, known: object = None) -> Iterator[FieldError]:
    """The errors in a value, except in parts that are identical in a `known` one.

    Those were validated when they were written. The real server also accepts unchanged parts after a schema change
    (ratcheting, https://kep.k8s.io/4008).
    """
    if value is None and schema.get("nullable"):
        return
    if wrong := _wrong_type(value, schema, path):
        yield wrong
        return
    for keyword, check in _checks(tuple(schema)):
        if isinstance(check, Below):
            yield from _fields(value, schema, path, known, check)
        else:
            yield from check(value, schema[keyword], schema, path)


def _fields(value: object, schema: Object, path: str, known: object, below: "Below") -> Iterator[FieldError]:
    if not isinstance(value, dict):
        return
    before = known if isinstance(known, dict) else {}
    for name, inner in below.named(value, schema):
        if (was := before.get(name)) is None or was is not value[name]:
            yield from validate(value[name], inner, f"{path}.{name}" if path else name, was)


def has_type(value: object, type_: str) -> bool:
    """Whether a value is of a JSON type; an integral number counts as an integer, a boolean never does."""
    if isinstance(value, bool):
        return type_ == "boolean"
    if type_ == "integer" and isinstance(value, float):
        return value.is_integer()
    return isinstance(value, _TYPES[type_])


def _wrong_type(value: object, schema: Object, path: str) -> FieldError | None:
    if schema.get("x-kubernetes-int-or-string"):
        wanted = "integer,string"
        fits = isinstance(value, int | str | float) and not isinstance(value, bool)
    else:
        wanted = schema.get("type", "")
        fits = not wanted or has_type(value, wanted)
    if fits:
        return None
    given = _NAMES.get(type(value), "null")
    text = f'Invalid value: "{given}": {path} in body must be of type {wanted}: "{given}"'
    return FieldError(path, "FieldValueTypeInvalid", text)


def _invalid(path: str, value: object, says: str) -> FieldError:
    return FieldError(path, "FieldValueInvalid", f"Invalid value: {json_text(value)}: {path} in body {says}")


def _number(compare: Callable[[Any, Any], bool], says: str, strict: str, exclusive: str) -> "SchemaCheck":
    def check(value: Any, bound: Any, schema: Object, path: str) -> Iterator[FieldError]:  # noqa: ANN401 - any JSON value
        if not isinstance(value, int | float):
            return
        out = schema.get(exclusive) is True and value == bound
        if out or compare(value, bound):
            yield _invalid(path, value, f"should be {strict if schema.get(exclusive) else says} {json_text(bound)}")

    return check


def _multiple(value: Any, of: Any, _: Object, path: str) -> Iterator[FieldError]:  # noqa: ANN401 - any JSON value
    if isinstance(value, int | float) and value % of:
        yield _invalid(path, value, f"should be a multiple of {json_text(of)}")


def _enum(value: object, allowed: list[object], _: Object, path: str) -> Iterator[FieldError]:
    if value not in allowed:
        text = f"Unsupported value: {json_text(value)}: supported values: {', '.join(map(json_text, allowed))}"
        yield FieldError(path, "FieldValueNotSupported", text)


def _pattern(value: object, pattern: str, _: Object, path: str) -> Iterator[FieldError]:
    if isinstance(value, str) and not _compiled(pattern).search(value):
        yield _invalid(path, value, f"should match '{pattern}'")


@lru_cache(maxsize=1024)
def _compiled(pattern: str) -> re.Pattern[str]:
    return re.compile(pattern)


def _format(value: object, name: str, _: Object, path: str) -> Iterator[FieldError]:
    if name == "date-time" and isinstance(value, str):
        try:
            datetime.fromisoformat(value)
        except ValueError:
            text = f"Invalid value: {json_text(value)}: {path} in body must be of type date-time: {json_text(value)}"
            yield FieldError(path, "FieldValueTypeInvalid", text)


def _longest(of: type[Sized], reason: str, says: str) -> "SchemaCheck":
    def check(value: object, most: int, _: Object, path: str) -> Iterator[FieldError]:
        if isinstance(value, of) and len(value) > most:
            yield FieldError(path, reason, says.format(found=len(value), most=most))

    return check


def _shortest(of: type[Sized], what: str, shown: Callable[[Any], object] = len) -> "SchemaCheck":
    def check(value: object, least: int, _: Object, path: str) -> Iterator[FieldError]:
        if isinstance(value, of) and len(value) < least:
            yield _invalid(path, shown(value), f"should {what.format(least=least)}")

    return check


def _required(value: object, names: list[str], _: Object, path: str) -> Iterator[FieldError]:
    if isinstance(value, dict):
        for name in names:
            if name not in value:
                yield FieldError(f"{path}.{name}" if path else name, "FieldValueRequired", "Required value")


def _declared(value: Object, schema: Object) -> Iterator[tuple[str, Object]]:
    return ((name, below) for name, below in schema["properties"].items() if name in value)


def _others(value: Object, schema: Object) -> Iterator[tuple[str, Object]]:
    if isinstance(below := schema["additionalProperties"], dict):
        for name in value.keys() - schema.get("properties", {}).keys():
            yield name, below


def _items(value: object, below: Object, _: Object, path: str) -> Iterator[FieldError]:
    if isinstance(value, list):
        for index, item in enumerate(value):
            yield from validate(item, below, f"{path}[{index}]")


def _unique(value: object, kind: str, schema: Object, path: str) -> Iterator[FieldError]:
    if not isinstance(value, list) or kind == "atomic":
        return
    keys, seen = schema.get("x-kubernetes-list-map-keys", ()), set()
    for index, item in enumerate(value):
        shown = {k: item[k] for k in keys if k in item} if keys and isinstance(item, dict) else item
        if (text := json_text(shown)) in seen:
            yield FieldError(f"{path}[{index}]", "FieldValueDuplicate", f"Duplicate value: {text}")
        seen.add(text)


def _fits(value: object, schemas: list[Object], path: str) -> int:
    return sum(not any(validate(value, schema, path)) for schema in schemas)


def _all_of(value: object, schemas: list[Object], _: Object, path: str) -> Iterator[FieldError]:
    for schema in schemas:
        yield from validate(value, schema, path)


def _any_of(value: object, schemas: list[Object], _: Object, path: str) -> Iterator[FieldError]:
    if not _fits(value, schemas, path):
        yield _invalid(path, value, "must validate at least one schema (anyOf)")


def _one_of(value: object, schemas: list[Object], _: Object, path: str) -> Iterator[FieldError]:
    found = _fits(value, schemas, path)
    if found != 1:
        which = "Found none valid" if not found else f"Found {found} valid alternatives"
        yield _invalid(path, value, f"must validate one and only one schema (oneOf). {which}")


def _not(value: object, schema: Object, _: Object, path: str) -> Iterator[FieldError]:
    if _fits(value, [schema], path):
        yield _invalid(path, value, "must not validate the schema (not)")


SchemaCheck = Callable[[Any, Any, Object, str], Iterator[FieldError]]


class Below(NamedTuple):
    """A keyword that gives fields a schema."""

    named: Callable[[Object, Object], Iterator[tuple[str, Object]]]
    """The fields of a value, each with its schema."""


_CHECKS: tuple[tuple[str, SchemaCheck | Below], ...] = (
    ("maximum", _number(lambda v, b: v > b, "less than or equal to", "less than", "exclusiveMaximum")),
    ("minimum", _number(lambda v, b: v < b, "greater than or equal to", "greater than", "exclusiveMinimum")),
    ("multipleOf", _multiple),
    ("maxLength", _longest(str, "FieldValueTooLong", "Too long: may not be more than {most} bytes")),
    ("minLength", _shortest(str, "be at least {least} chars long", str)),
    ("pattern", _pattern),
    ("format", _format),
    ("enum", _enum),
    ("maxItems", _longest(list, *_TOO_MANY)),
    ("minItems", _shortest(list, "have at least {least} items")),
    ("maxProperties", _longest(dict, *_TOO_MANY)),
    ("minProperties", _shortest(dict, "have at least {least} properties")),
    ("required", _required),
    ("properties", Below(_declared)),
    ("additionalProperties", Below(_others)),
    ("items", _items),
    ("x-kubernetes-list-type", _unique),
    ("allOf", _all_of),
    ("anyOf", _any_of),
    ("oneOf", _one_of),
    ("not", _not),
)


@lru_cache(maxsize=1024)
def _checks(keywords: tuple[str, ...]) -> tuple[tuple[str, SchemaCheck | Below], ...]:
    """The checks for these schema keywords."""
    return tuple(each for each in _CHECKS if each[0] in keywords)
