"""Prunes and defaults objects by a structural schema."""

import copy
from collections.abc import Iterator

from events.kube.client import Object

_META = ("apiVersion", "kind", "metadata")


def child(schema: Object, name: str) -> Object | None:
    """The schema of a field; {} if anything is allowed, None if the field is not declared."""
    declared: Object | None = schema.get("properties", {}).get(name)
    if declared is not None:
        return declared
    more = schema.get("additionalProperties")
    if isinstance(more, dict):
        return more
    return {} if more is True or loose(schema) else None


def loose(schema: Object) -> bool:
    """Whether undeclared fields are preserved."""
    return not schema or bool(schema.get("x-kubernetes-preserve-unknown-fields"))


def prune(value: object, schema: Object, path: str = "") -> Iterator[str]:
    """Drop undeclared fields, in place; returns their paths. Nulls count as absent."""
    if not schema:
        return  # anything may be there, however deep
    if isinstance(value, dict) and not _is_scalar(schema):
        yield from _prune_fields(value, schema, path)
    elif isinstance(value, list) and "items" in schema:
        for index, item in enumerate(value):
            yield from prune(item, schema["items"], f"{path}[{index}]")


def _prune_fields(value: Object, schema: Object, path: str) -> Iterator[str]:
    embedded = schema.get("x-kubernetes-embedded-resource")
    for name in list(value):
        if embedded and name in _META:
            continue
        below = child(schema, name)
        where = f"{path}.{name}" if path else name
        if below is None:
            del value[name]
            yield where
        elif value[name] is None and below and not below.get("nullable") and not loose(below):
            del value[name]
        else:
            yield from prune(value[name], below, where)


def _is_scalar(schema: Object) -> bool:
    return schema.get("type") in ("string", "integer", "number", "boolean")


def lean(value: object, schema: Object) -> None:
    """Drop empty lists and maps, in place: Go's types leave them out of built-in objects."""
    if isinstance(value, list):
        for item in value:
            lean(item, schema.get("items", {}))
        return
    if not isinstance(value, dict):
        return
    for name, below in list(value.items()):
        inner = child(schema, name) or {}
        lean(below, inner)
        if below in ({}, []) and ("additionalProperties" in inner or "items" in inner) and "x-alate-zero" not in inner:
            del value[name]


def zero(schema: Object) -> Object:
    """The zero value of a built-in type."""
    found = {name: below for name, below in schema.get("properties", {}).items() if "x-alate-zero" in below}
    return {name: zero(below) if below["x-alate-zero"] == {} else [] for name, below in found.items()}


def default(value: object, schema: Object) -> None:
    """Fill in the defaults of what is absent, in place; a quantity written as a number becomes a string."""
    if isinstance(value, dict):
        _default_fields(value, schema)
    elif isinstance(value, list) and (below := schema.get("items")):
        for item in value:
            default(item, below)


def _default_fields(value: Object, schema: Object) -> None:
    for name, below in schema.get("properties", {}).items():
        if name not in value and "default" in below:
            value[name] = copy.deepcopy(below["default"])
        if name in value:
            _default_value(value, name, below)
    if isinstance(more := schema.get("additionalProperties"), dict):
        for name in value:
            _default_value(value, name, more)


def _default_value(holder: Object, name: str, schema: Object) -> None:
    value = holder[name]
    if schema.get("format") == "quantity" and isinstance(value, int | float):
        holder[name] = str(value)
    elif schema.get("type") == "integer" and isinstance(value, float) and value.is_integer():
        holder[name] = int(value)
    elif isinstance(value, dict | list):
        default(value, schema)
