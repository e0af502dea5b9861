"""Converts JSON Schema to the structural schema of a CRD: no references, no unions, every value typed."""

from collections.abc import Mapping
from typing import Any

from pydantic import BaseModel

Schema = dict[str, Any]
"""A JSON Schema, or a part of one."""

_KEPT = (
    "type",
    "format",
    "description",
    "enum",
    "pattern",
    "minimum",
    "maximum",
    "minLength",
    "maxLength",
    "minItems",
    "maxItems",
    "maxProperties",
    "required",
    "x-kubernetes-list-type",
    "x-kubernetes-list-map-keys",
    "x-kubernetes-preserve-unknown-fields",
)
"""What means the same on both sides, in the order it is written."""


def structural(model: type[BaseModel]) -> Schema:
    """The structural schema of a model: what the API server checks and fills in before any of ours looks."""
    schema = model.model_json_schema(by_alias=True)
    return _narrowed(schema, schema.get("$defs", {}))


def _narrowed(schema: Schema, models: Mapping[str, Schema]) -> Schema:
    flat = _flat(schema, models)
    narrow = {key: flat[key] for key in _KEPT if key in flat}
    if "exclusiveMinimum" in flat:  # OpenAPI 3.0, and so a CRD, has it as a flag
        narrow |= {"minimum": flat["exclusiveMinimum"], "exclusiveMinimum": True}
    if flat.get("default"):  # not null, not empty: an API server would write those into every object
        narrow["default"] = flat["default"]
    for key in ("items", "additionalProperties"):
        if isinstance(flat.get(key), dict):
            narrow[key] = _narrowed(flat[key], models)
    if "patternProperties" in flat:  # what keys may be, a CRD cannot say
        (values,) = flat["patternProperties"].values()
        narrow["additionalProperties"] = _narrowed(values, models)
    if "properties" in flat:
        narrow["properties"] = {name: _narrowed(part, models) for name, part in flat["properties"].items()}
    return narrow


def _flat(schema: Schema, models: Mapping[str, Schema]) -> Schema:
    """One schema without references and without the choice of null; what is said at the place of use wins."""
    said = {key: value for key, value in schema.items() if key not in {"$ref", "anyOf"}}
    if "$ref" in schema:
        return _flat(models[schema["$ref"].rsplit("/", 1)[-1]], models) | said
    if "anyOf" in schema:
        (only,) = (choice for choice in schema["anyOf"] if choice.get("type") != "null")
        return _flat(only, models) | said
    return said
