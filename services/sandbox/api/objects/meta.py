"""Validates metadata: labels, annotations, finalizers and owner references, with the real server's messages."""

import re
from collections.abc import Iterator
from functools import lru_cache

from events.kube.client import Object
from services.sandbox.api.schema.fields import json_text
from services.sandbox.api.status import FieldError

_WORD = r"([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]"
_VALUE = rf"({_WORD})?"
_WORDS, _VALUES = re.compile(_WORD), re.compile(_VALUE)
_PREFIX = re.compile(r"[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*")
_NAME = (
    "name part must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric "
    f"character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is '{_WORD}')"
)
_LABEL = (
    "a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', and must start and "
    f"end with an alphanumeric character (e.g. 'MyValue',  or 'my_value',  or '12345', regex used for validation is "
    f"'{_VALUE}')"
)
_STANDARD = ("orphan", "foregroundDeletion", "kubernetes")
"""Finalizers of Kubernetes' own, which need no domain."""


def wrong(meta: Object, *, custom: bool = False) -> Iterator[FieldError]:
    """The errors in labels, annotations, finalizers and owners.

    A custom resource's finalizer needs no slash: Cluster API's is called ``cluster.cluster.x-k8s.io``.
    """
    for key, value in (meta.get("labels") or {}).items():
        yield from _key("metadata.labels", key)
        if isinstance(value, str) and (not _VALUES.fullmatch(value) or len(value) > 63):
            yield _invalid("metadata.labels", value, _LABEL)
    for key in meta.get("annotations") or {}:
        yield from _key("metadata.annotations", key.lower())
    for index, finalizer in enumerate(meta.get("finalizers") or ()):
        field = f"metadata.finalizers[{index}]"
        yield from _key(field, finalizer) if custom else _finalizer(field, finalizer)
    for owner in meta.get("ownerReferences") or ():
        yield from _owner("metadata.ownerReferences", owner)


def advice(meta: Object, *, custom: bool) -> Iterator[str]:
    """Warnings about accepted values."""
    for finalizer in meta.get("finalizers") or ():
        if custom and "/" not in finalizer:
            yield (
                f"metadata.finalizers: {json_text(finalizer)}: prefer a domain-qualified finalizer name including a "
                "path (/) to avoid accidental conflicts with other finalizer writers"
            )


def _key(field: str, key: str) -> Iterator[FieldError]:
    if not _is_key(key):
        yield _invalid(field, key, _NAME)


@lru_cache(maxsize=1024)  # a few dozen keys are written again and again
def _is_key(key: str) -> bool:
    prefix, slash, name = key.rpartition("/")
    return bool(_WORDS.fullmatch(name)) and len(name) <= 63 and (not slash or bool(_PREFIX.fullmatch(prefix)))


def _finalizer(field: str, finalizer: str) -> Iterator[FieldError]:
    if "/" in finalizer:
        yield from _key(field, finalizer)
    elif finalizer not in _STANDARD:
        yield _invalid(field, finalizer, "name is neither a standard finalizer name nor is it fully qualified")


def _owner(path: str, owner: Object) -> Iterator[FieldError]:
    for name, text in (
        ("apiVersion", "version must not be empty"),
        ("kind", "must not be empty"),
        ("name", "must not be empty"),
        ("uid", "must not be empty"),
    ):
        if not owner.get(name):
            yield _invalid(f"{path}.{name}", "", text)


def _invalid(field: str, value: str, says: str) -> FieldError:
    return FieldError(field, "FieldValueInvalid", f"Invalid value: {json_text(value)}: {says}")
