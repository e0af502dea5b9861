"""Compares values as an API server takes them: quantities by what they amount to, and with its own defaults."""

from typing import Any

import msgspec

from services.kubernetes.resources import InvalidQuantity, milli

AMOUNTS = frozenset({"limits", "requests", "capacity", "hard", "min", "max", "default", "defaultRequest", "overhead"})
"""Fields whose values are quantities: 1000m and 1 are the same."""
DEFAULTS: tuple[tuple[str, Any], ...] = (
    ("apiGroup", "rbac.authorization.k8s.io"),
    ("apiVersion", "v1"),
    ("defaultMode", 420),
    ("divisor", "0"),
    ("expirationSeconds", 3600),
    ("kind", "PersistentVolumeClaim"),
    ("protocol", "TCP"),
    ("scope", "*"),
    ("status", {"phase": "Pending"}),
    ("volumeMode", "Filesystem"),
)
"""What built-in kinds get in lists and maps that have one owner as a whole; whoever leaves it out gets it again."""


def alike(within: str, one: object, other: object) -> bool:
    """Whether two values of a field mean the same; `within` is the name of the field that they lie in."""
    if one == other:
        return _written(one) == _written(other)
    return within in AMOUNTS and (amount := _amount(one)) is not None and amount == _amount(other)


def as_defaulted(wanted: object, seen: object) -> bool:
    """Whether a value of a built-in kind is as wanted, but for what its API server always adds."""
    if isinstance(wanted, dict) and isinstance(seen, dict):
        return all(as_defaulted(value, seen.get(name)) for name, value in wanted.items()) and all(
            name in wanted or (name, value) in DEFAULTS for name, value in seen.items()
        )
    if isinstance(wanted, list) and isinstance(seen, list):
        return len(wanted) == len(seen) and all(map(as_defaulted, wanted, seen))
    return alike("", wanted, seen) or (seen is None and not wanted)  # zero and empty values are not stored


def _written(value: object) -> bytes:
    """As JSON: to Python, true and 1 are the same."""
    return msgspec.json.encode(value, order="deterministic")


def without_nulls(value: object) -> object:
    """The same without fields that are null, which built-in kinds take as left out."""
    if isinstance(value, dict):
        return {name: without_nulls(each) for name, each in value.items() if each is not None}
    return [without_nulls(each) for each in value] if isinstance(value, list) else value


def _amount(value: object) -> int | None:
    try:
        return milli(str(value))
    except InvalidQuantity:
        return None
