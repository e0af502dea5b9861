"""Reads managedFields: who owns which field, and whether an apply would change nothing."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import msgspec

from events.kube.client import Object
from services.addons.objects.order import is_built_in
from services.addons.objects.values import alike, as_defaulted

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
    return _Owned(is_built_in(wanted)).same("", entry["fieldsV1"], _body(wanted), _body(seen))


def _body(whole: Object) -> Object:
    meta = {name: value for name, value in whole["metadata"].items() if name in SENT}
    return {**{k: v for k, v in whole.items() if k not in ("apiVersion", "kind")}, "metadata": meta}


class _Owned(NamedTuple):
    """Compares what is wanted with what there is, along the fields that one manager owns."""

    built_in: bool

    def same(self, within: str, fields: Fields, wanted: object, seen: object) -> bool:
        """Whether all below a field is wanted, owned and there; `within` is the field that it lies in."""
        below = {name: value for name, value in fields.items() if name != "."}
        if not below:  # a single value, or a list or map that has one owner as a whole
            return alike(within, wanted, seen) or (self.built_in and as_defaulted(wanted, seen))
        if isinstance(wanted, dict) and isinstance(seen, dict):
            return self._same_map(within, below, wanted, seen)
        if isinstance(wanted, list) and isinstance(seen, list):
            return len(below) == len(wanted) and all(self._same_element(*each, wanted, seen) for each in below.items())
        return False

    def _same_map(self, within: str, below: Fields, wanted: Object, seen: Object) -> bool:
        named = {f"f:{name}": name for name in wanted}
        inside = {field: name if isinstance(wanted[name], dict) else within for field, name in named.items()}
        return below.keys() == named.keys() and all(
            self.same(inside[field], below[field], wanted[name], seen.get(name)) for field, name in named.items()
        )

    def _same_element(self, name: str, fields: Fields, wanted: list[Any], seen: list[Any]) -> bool:
        kind, value = element(name)
        if kind == "v":
            return value in wanted and value in seen
        if kind != "k":
            return False
        asked, there = with_keys(wanted, value), with_keys(seen, value)
        return len(asked) == len(there) == 1 and self.same("", fields, wanted[asked[0]], seen[there[0]])


def element(name: str) -> tuple[str, Any]:
    """What a part of a path says: ``f`` a name, ``k`` the keys of an element, ``v`` a value, ``i`` an index."""
    kind, _, text = name.partition(":")
    if kind == "f":
        return kind, text
    try:
        return kind, msgspec.json.decode(text)
    except msgspec.DecodeError:
        return "", None


def with_keys(among: Sequence[Any], keys: object) -> list[int]:
    """Where the elements of a list are that have these keys; else those that leave some of them to their defaults."""
    if not isinstance(keys, dict):
        return []
    maps = [(at, item) for at, item in enumerate(among) if isinstance(item, dict)]
    whole = [at for at, item in maps if all(name in item and item[name] == value for name, value in keys.items())]
    return whole or [
        at
        for at, item in maps
        if any(name in item for name in keys) and all(item.get(name, value) == value for name, value in keys.items())
    ]
