"""Fields of built-in kinds that an update may not change, with the real server's messages."""

from collections.abc import Callable, Iterator, Mapping

from events.kube.client import Object
from services.sandbox.api.schema.fields import json_text
from services.sandbox.api.schema.kinds import ServedKind
from services.sandbox.api.status import FieldError

_FROZEN = "Forbidden: field is immutable when `immutable` is set"


def unchangeable(kind: ServedKind, old: Object, new: Object) -> Iterator[FieldError]:
    """The immutable fields that an update would change."""
    if kind.kind in _RULES and not kind.custom:
        yield from _RULES[kind.kind](old, new)


def _data(old: Object, new: Object) -> Iterator[FieldError]:
    if not old.get("immutable"):
        return
    if not new.get("immutable"):
        yield FieldError("immutable", "FieldValueForbidden", _FROZEN)
    for name in ("data", "binaryData"):
        if old.get(name) != new.get(name):
            yield FieldError(name, "FieldValueForbidden", _FROZEN)


def _selector(old: Object, new: Object) -> Iterator[FieldError]:
    selector = new["spec"].get("selector")
    if old["spec"].get("selector") != selector:
        text = f"Invalid value: {json_text(selector)}: field is immutable"
        yield FieldError("spec.selector", "FieldValueInvalid", text)


_RULES: Mapping[str, Callable[[Object, Object], Iterator[FieldError]]] = {
    "ConfigMap": _data,
    "Secret": _data,
    "Deployment": _selector,
    "DaemonSet": _selector,
    "ReplicaSet": _selector,
}
