"""Schemas of the built-in kinds, read from data files.

``data/types.json`` holds the field names and types of Kubernetes 1.36 as the models of kubernetes-asyncio 36
(Apache-2.0) name them; ``data/listkeys.json`` holds list types, merge keys and patch strategies as the OpenAPI
document of kube-apiserver 1.36 gives them; ``data/defaults.json`` holds the constants the API server fills in;
``data/zeros.json`` holds the fields that Go's types cannot leave out (they are shown empty and belong to nobody).
"""

import json
from functools import cache
from importlib.resources import files
from typing import Any

from events.kube.client import Object

ZERO = "x-alate-zero"
"""Zero values of fields that Go's types always write."""
_SCALARS: dict[str, Object] = {
    "string": {"type": "string"},
    "integer": {"type": "integer"},
    "number": {"type": "number"},
    "boolean": {"type": "boolean"},
    "date-time": {"type": "string", "format": "date-time"},
    "quantity": {"x-kubernetes-int-or-string": True, "format": "quantity"},
    "any": {"x-kubernetes-preserve-unknown-fields": True},
}


@cache
def data(name: str) -> Any:  # noqa: ANN401 - each file has its own shape
    """One of the data files beside this module."""
    return json.loads((files(__package__) / "data" / f"{name}.json").read_text())


@cache
def schema_of(type_: str) -> Object:
    """The schema of a built-in type; recursive types are cycles, so do not print it whole."""
    properties: Object = {}
    made: Object = {"type": "object", "properties": properties, "x-alate-type": type_, **_atomic(type_)}
    _OPEN[type_] = made
    for name, of in data("types")[type_].items():
        properties[name] = {**_refer(of), **_field(f"{type_}.{name}")}
    return made


_OPEN: dict[str, Object] = {}
"""Schemas that exist or are being built, so that recursive types find themselves."""


def _refer(of: str) -> Object:
    if of.startswith("[]"):
        return {"type": "array", "items": _named(of[2:])}
    if of.startswith("{}"):
        return {"type": "object", "additionalProperties": _named(of[2:])}
    return _named(of)


def _named(of: str) -> Object:
    if of[:2] in ("[]", "{}"):
        return _refer(of)
    return _SCALARS.get(of) or _OPEN.get(of) or schema_of(of)


def _atomic(name: str) -> Object:
    return {"x-kubernetes-map-type": "atomic"} if name in data("listkeys")["atomic"] else {}


def _field(name: str) -> Object:
    facts = data("listkeys")
    found = _atomic(name)
    match facts["lists"].get(name):
        case "set":
            found["x-kubernetes-list-type"] = "set"
        case [*keys]:
            found |= {"x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": keys}
    if name in facts["psm"]:
        strategy, key = facts["psm"][name]
        found |= {"x-kubernetes-patch-strategy": strategy, "x-kubernetes-patch-merge-key": key}
    zeros = data("zeros")
    if name in zeros["objects"]:
        found |= {"default": {}, ZERO: {}}
    if name in zeros["lists"]:
        found[ZERO] = []
    if name in data("defaults"):
        found["default"] = data("defaults")[name]
    return found
