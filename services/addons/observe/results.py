"""What is published of an object, and when: once for each result, however often it is listed."""

from datetime import datetime
from typing import NamedTuple

import msgspec

from events.kube.client import Object
from schemas.observed_object import ObjectSeen
from services.addons.observe.watched import SeenObject, WatchName

LARGEST = 16_384
"""Bytes of an object within a message."""
_LAST_APPLIED = "kubectl.kubernetes.io/last-applied-configuration"
_KEPT = ("name", "namespace", "uid", "resourceVersion", "generation", "creationTimestamp", "deletionTimestamp")
"""Metadata of an object that is too large."""


class LastResult(NamedTuple):
    """The last result that was published of an object."""

    holds: bool
    version: str


class BoundedObject(NamedTuple):
    """An object as it is told to others."""

    item: Object
    is_truncated: bool
    """It was too large, and has nothing but metadata."""


def is_news(last: LastResult | None, version: str, *, holds: bool, compares: bool) -> bool:
    """Whether a result is to be published; `compares`: it is about a change, and not about the object."""
    if compares:
        return holds and (last is None or last.version != version)
    return holds != (last is not None and last.holds)


def seen_object(name: WatchName, seen: SeenObject, now: datetime, *, holds: bool) -> ObjectSeen:
    """The message about an object."""
    meta, told = seen.item["metadata"], bounded(seen.item)
    return ObjectSeen(
        cluster=name.cluster,
        trigger=name.trigger,
        watch=name.watch,
        api_version=told.item.get("apiVersion", ""),
        kind=told.item.get("kind", ""),
        name=meta["name"],
        namespace=meta.get("namespace", ""),
        uid=meta["uid"],
        holds=holds,
        gone=seen.gone,
        version=version_of(seen.item),
        object=told.item,
        truncated=told.is_truncated,
        as_of=now,
    )


def version_of(item: Object) -> str:
    """Its resourceVersion."""
    return str(item["metadata"].get("resourceVersion", ""))


def bounded(item: Object) -> BoundedObject:
    """The object, or its metadata if it is too large."""
    small = trimmed(item)
    is_large = len(msgspec.json.encode(small)) > LARGEST
    return BoundedObject(_without_content(small) if is_large else small, is_large)


def trimmed(item: Object) -> Object:
    """The object without what only field managers and kubectl read."""
    meta = {name: value for name, value in item["metadata"].items() if name != "managedFields"}
    notes = meta.get("annotations")
    if isinstance(notes, dict) and _LAST_APPLIED in notes:
        meta["annotations"] = {name: value for name, value in notes.items() if name != _LAST_APPLIED}
    return {**item, "metadata": meta}


def _without_content(item: Object) -> Object:
    meta = {name: value for name, value in item["metadata"].items() if name in _KEPT}
    return {"apiVersion": item.get("apiVersion", ""), "kind": item.get("kind", ""), "metadata": meta}
