"""Reads managedFields: who owns which field, and whether an apply would change nothing."""

from collections.abc import Iterator, Mapping
from typing import Any

import msgspec

from events.kube.client import Object

Fields = Mapping[str, Any]
"""A set of fields as ``fieldsV1`` holds it: ``f:name`` a field, ``k:{..}`` and ``v:..`` an element of a list."""
SENT = ("labels", "annotations", "finalizers", "ownerReferences")
"""What a manifest may say in its metadata besides what it is called."""


def owners(seen: Object) -> Iterator[Object]:
    """The entries of managedFields that are well formed and about the object itself, not about its status."""
    listed = seen["metadata"].get("managedFields")
    for entry in listed if isinstance(listed, list) else ():
        if isinstance(entry, dict) and isinstance(entry.get("fieldsV1"), dict) and not entry.get("subresource"):
            yield entry


def is_applied_by(entry: Object, manager: str) -> bool:
    """Whether the entry is what a manager applies."""
    return entry.get("manager") == manager and entry.get("operation") == "Apply"


def settled(seen: Object, wanted: Object, manager: str) -> bool:
    """Whether the manager owns all that is wanted and nothing else, and all of it is as wanted.

    Then an apply changes nothing, whatever else others have written. False where this cannot be told.
    """
    entry = next((each for each in owners(seen) if is_applied_by(each, manager)), None)
    if entry is None or entry.get("apiVersion") != wanted["apiVersion"]:
        return False
    return _same(entry["fieldsV1"], _body(wanted), _body(seen))


def _body(whole: Object) -> Object:
    meta = {name: value for name, value in whole["metadata"].items() if name in SENT}
    return {**{k: v for k, v in whole.items() if k not in ("apiVersion", "kind")}, "metadata": meta}


def _same(fields: Fields, wanted: object, seen: object) -> bool:
    below = {name: value for name, value in fields.items() if name != "."}
    if not below:  # a single value, or a list or map that has one owner as a whole
        return wanted == seen
    if isinstance(wanted, dict) and isinstance(seen, dict):
        named = {f"f:{name}": name for name in wanted}
        return below.keys() == named.keys() and all(
            name in seen and _same(below[field], wanted[name], seen[name]) for field, name in named.items()
        )
    if isinstance(wanted, list) and isinstance(seen, list):
        return len(below) == len(wanted) and all(_same_element(*each, wanted, seen) for each in below.items())
    return False


def _same_element(name: str, fields: Fields, wanted: list[Any], seen: list[Any]) -> bool:
    kind, value = element(name)
    if kind == "v":
        return value in wanted and value in seen
    if kind != "k":
        return False
    asked, there = ([each for each in among if has_keys(each, value)] for among in (wanted, seen))
    return len(asked) == len(there) == 1 and _same(fields, asked[0], there[0])


def element(name: str) -> tuple[str, Any]:
    """What a part of a path says: ``f`` a name, ``k`` the keys of an element, ``v`` a value, ``i`` an index."""
    kind, _, text = name.partition(":")
    if kind == "f":
        return kind, text
    try:
        return kind, msgspec.json.decode(text)
    except msgspec.DecodeError:
        return "", None


def has_keys(item: object, keys: object) -> bool:
    """Whether an element of a list is the one with these keys; a key that a manifest leaves to its default counts."""
    return (
        isinstance(item, dict)
        and isinstance(keys, dict)
        and any(name in item for name in keys)
        and all(item.get(name, value) == value for name, value in keys.items())
    )
