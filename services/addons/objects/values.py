"""Compares values as an API server takes them: quantities by what they amount to, and with its own defaults."""

from typing import Any

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
        return True
    return within in AMOUNTS and (amount := _amount(one)) is not None and amount == _amount(other)


def as_defaulted(wanted: object, seen: object) -> bool:
    """Whether a value of a built-in kind is as wanted, but for what its API server always adds."""
    if isinstance(wanted, dict) and isinstance(seen, dict):
        return all(name in seen for name in wanted if wanted[name] is not None) and all(
            as_defaulted(wanted[name], value) if wanted.get(name) is not None else (name, value) in DEFAULTS
            for name, value in seen.items()
        )
    if isinstance(wanted, list) and isinstance(seen, list):
        return len(wanted) == len(seen) and all(map(as_defaulted, wanted, seen))
    return wanted == seen


def _amount(value: object) -> int | None:
    try:
        return milli(str(value))
    except InvalidQuantity:
        return None
