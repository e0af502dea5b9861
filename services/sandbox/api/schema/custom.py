"""Turns a CustomResourceDefinition into kinds; clusters with the same definition share them."""

from collections.abc import Iterator
from functools import lru_cache
from itertools import chain

import msgspec

from events.kube.client import Object
from services.sandbox.api.schema.builtin import schema_of
from services.sandbox.api.schema.kinds import PrinterColumn, Scale, ServedKind
from services.sandbox.api.status import FieldError

DEFINITIONS = ("apiextensions.k8s.io", "customresourcedefinitions")
"""Group and plural of CustomResourceDefinitions."""

Served = dict[tuple[str, str, str], ServedKind]


def kinds_of(definition: Object) -> Served:
    """The kinds of a definition, by (group, version, plural)."""
    return _kinds(msgspec.json.encode(definition["spec"], order="sorted"))


@lru_cache(maxsize=512)
def _kinds(spec: bytes) -> Served:
    decoded = msgspec.json.decode(spec)
    served = (version for version in decoded["versions"] if version.get("served"))
    return {(k.group, k.version, k.plural): k for k in (_kind(decoded, version) for version in served)}


def _kind(spec: Object, version: Object) -> ServedKind:
    names, subresources = spec["names"], version.get("subresources") or {}
    return ServedKind(
        spec["group"], version["name"], names["plural"], names["kind"], spec["scope"] == "Namespaced",
        short=tuple(names.get("shortNames", ())),
        singular=names.get("singular", names["kind"].lower()),
        categories=tuple(names.get("categories", ())),
        status="status" in subresources,
        generation=True,
        scale=_scale(subresources.get("scale")),
        custom=True,
        converted=len(spec["versions"]) > 1,
        schema=_whole(version),
        columns=tuple(map(_column, version.get("additionalPrinterColumns", ()))),
        selectable=frozenset(f["jsonPath"].lstrip(".") for f in version.get("selectableFields", ())),
    )  # fmt: skip


def _whole(version: Object) -> Object:
    own = version.get("schema", {}).get("openAPIV3Schema", {})
    always = {"apiVersion": {"type": "string"}, "kind": {"type": "string"}, "metadata": schema_of("ObjectMeta")}
    return {**own, "properties": {**own.get("properties", {}), **always}}


def _scale(scale: Object | None) -> Scale | None:
    if scale is None:
        return None
    return Scale(scale["specReplicasPath"], scale["statusReplicasPath"], scale.get("labelSelectorPath", ""))


def _column(column: Object) -> PrinterColumn:
    return PrinterColumn(
        column["name"], column["type"], column["jsonPath"], column.get("priority", 0),
        column.get("description", f"Custom resource definition column (in JSONPath format): {column['jsonPath']}"),
        column.get("format", ""),
    )  # fmt: skip


def wrong(definition: Object) -> Iterator[FieldError]:
    """Why a definition cannot be accepted."""
    spec = definition["spec"]
    name, wanted = definition["metadata"]["name"], f"{spec['names']['plural']}.{spec['group']}"
    if name != wanted:
        text = f'Invalid value: "{name}": must be spec.names.plural+"."+spec.group'
        yield FieldError("metadata.name", "FieldValueInvalid", text)
    if sum(bool(version.get("storage")) for version in spec["versions"]) != 1:
        text = "Invalid value: must have exactly one version marked as storage version"
        yield FieldError("spec.versions", "FieldValueInvalid", text)
    alone = len(spec["versions"]) == 1
    yield from chain.from_iterable(_version(i, version, alone=alone) for i, version in enumerate(spec["versions"]))


def _version(index: int, version: Object, *, alone: bool) -> Iterator[FieldError]:
    path = f"spec.versions[{index}].schema.openAPIV3Schema"
    schema = (version.get("schema") or {}).get("openAPIV3Schema")
    if schema is None:
        yield FieldError(path, "FieldValueRequired", "Required value")
    elif schema.get("type") != "object":
        text = f'Invalid value: "{schema.get("type", "")}": must be object at the root'
        yield FieldError(f"{path}.type", "FieldValueInvalid", text)
    else:
        # The schema of a single version is the one of the whole definition, and called so.
        yield from _structural(schema, "spec.validation.openAPIV3Schema" if alone else path)


_FORBIDDEN = ("$ref", "definitions", "dependencies", "patternProperties", "uniqueItems", "additionalItems")
_JUNCTORS = ("allOf", "anyOf", "oneOf", "not")
_EMPTY_INSIDE = ("type", "default", "additionalProperties", "nullable", "description", "title")


def _structural(schema: Object, path: str) -> Iterator[FieldError]:
    for keyword in _FORBIDDEN:
        if schema.get(keyword):
            yield FieldError(f"{path}.{keyword}", "FieldValueForbidden", f"Forbidden: {keyword} is not supported")
    free = schema.get("x-kubernetes-int-or-string") or schema.get("x-kubernetes-preserve-unknown-fields")
    if not schema.get("type") and not free:
        text = "Required value: must not be empty for specified object fields"
        yield FieldError(f"{path}.type", "FieldValueRequired", text)
    if not schema.get("x-kubernetes-int-or-string"):
        yield from _junctors(schema, path)
    if schema.get("properties") and schema.get("additionalProperties"):
        text = "Forbidden: additionalProperties and properties are mutual exclusive"
        yield FieldError(f"{path}.additionalProperties", "FieldValueForbidden", text)
    yield from _lists(schema, path)
    for below, where in _below(schema, path):
        yield from _structural(below, where)


def _junctors(schema: Object, path: str) -> Iterator[FieldError]:
    for keyword in _JUNCTORS:
        found = schema.get(keyword) or []
        for index, inner in enumerate([found] if isinstance(found, dict) else found):
            where = f"{path}.{keyword}" if isinstance(found, dict) else f"{path}.{keyword}[{index}]"
            yield from _inside(inner, where)


def _inside(schema: Object, path: str) -> Iterator[FieldError]:
    for keyword in _EMPTY_INSIDE:
        if keyword in schema:
            yield FieldError(f"{path}.{keyword}", "FieldValueForbidden", "Forbidden: must be empty to be structural")
    for below, where in _below(schema, path):
        yield from _inside(below, where)


def _lists(schema: Object, path: str) -> Iterator[FieldError]:
    if schema.get("type") == "array" and not isinstance(schema.get("items"), dict):
        yield FieldError(f"{path}.items", "FieldValueRequired", "Required value: must be specified")
    if schema.get("x-kubernetes-list-type") == "map" and not schema.get("x-kubernetes-list-map-keys"):
        text = "Required value: must not be empty if x-kubernetes-list-type is map"
        yield FieldError(f"{path}.x-kubernetes-list-map-keys", "FieldValueRequired", text)


def _below(schema: Object, path: str) -> Iterator[tuple[Object, str]]:
    for name, inner in (schema.get("properties") or {}).items():
        yield inner, f"{path}.properties[{name}]"
    for keyword in ("items", "additionalProperties"):
        if isinstance(inner := schema.get(keyword), dict):
            yield inner, f"{path}.{keyword}"


def established(definition: Object, taken: bool, now: str) -> Object:  # noqa: FBT001 - a fact, not a switch
    """The status of a new definition."""
    names = definition["spec"]["names"]
    names = {"listKind": f"{names['kind']}List", "singular": names["kind"].lower(), **names}
    definition["spec"]["names"] = names
    old = {c["type"]: c for c in definition.get("status", {}).get("conditions", ())}
    accepted = ("NamesAccepted", "False", "NamesConflict") if taken else ("NamesAccepted", "True", "NoConflicts")
    ready = ("Established", "False", "NotAccepted") if taken else ("Established", "True", "InitialNamesAccepted")
    stored = [v["name"] for v in definition["spec"]["versions"] if v.get("storage")]
    return {
        "conditions": [_condition(*facts, old.get(facts[0]), now) for facts in (accepted, ready)],
        "acceptedNames": {} if taken else names,
        "storedVersions": stored,
    }


_SAYS = {
    "NoConflicts": "no conflicts found",
    "InitialNamesAccepted": "the initial names have been accepted",
    "NamesConflict": "a name is already in use",
    "NotAccepted": "not all names are accepted",
}


def _condition(type_: str, status: str, reason: str, old: Object | None, now: str) -> Object:
    since = old["lastTransitionTime"] if old and old["status"] == status else now
    message = _SAYS[reason]
    return {"lastTransitionTime": since, "message": message, "reason": reason, "status": status, "type": type_}
