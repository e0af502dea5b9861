"""Readers for raw Kubernetes objects."""

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from hashlib import sha256

from events.kube.client import Object, Resource
from services.sandbox.clouds.model.actions import Action, PatchObject
from services.sandbox.clouds.model.annotations import SINCE

ALPHABET = "bcdfghjklmnpqrstvwxz2456789"
"""The alphabet of Kubernetes' random names: no vowels, so no words."""


def name(of: Object) -> str:
    return str(of["metadata"]["name"])


def deleting(of: Object) -> bool:
    return bool(of["metadata"].get("deletionTimestamp"))


def annotation(of: Object, key: str, default: str = "") -> str:
    return str(of["metadata"].get("annotations", {}).get(key, default))


def label(of: Object, key: str) -> str:
    return str(of["metadata"].get("labels", {}).get(key, ""))


def status(of: Object) -> Object:
    found: Object = of.get("status") or {}
    return found


def replicas(of: Object) -> int:
    """The wanted replicas; Kubernetes' default is 1."""
    wanted = of.get("spec", {}).get("replicas")
    return 1 if wanted is None else int(wanted)


def written(at: datetime) -> str:
    """RFC 3339 with microseconds."""
    return at.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")


def stamp(at: datetime) -> str:
    """RFC 3339 in seconds, as Kubernetes writes times."""
    return at.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def when(text: str) -> datetime:
    """Parse either format."""
    return datetime.fromisoformat(text)


def marked(of: Object, key: str) -> datetime | None:
    """The time an annotation holds."""
    text = annotation(of, key)
    return when(text) if text else None


def since(of: Object) -> datetime:
    """When its controller first saw it, else its creation time."""
    return marked(of, SINCE) or when(of["metadata"]["creationTimestamp"])


def after(start: datetime, seconds: float) -> datetime:
    return start + timedelta(seconds=seconds)


def suffix(*parts: object) -> str:
    """A five-letter hash of the parts."""
    number = int.from_bytes(sha256("/".join(map(str, parts)).encode()).digest()[:8])
    return "".join(ALPHABET[number // len(ALPHABET) ** place % len(ALPHABET)] for place in range(5))


def owner(of: Object, *, controls: bool = True) -> Object:
    """The reference to an owner."""
    found = {"apiVersion": of["apiVersion"], "kind": of["kind"], "name": name(of), "uid": of["metadata"]["uid"]}
    return found | ({"controller": True, "blockOwnerDeletion": True} if controls else {})


def owned(of: Object, by: Object) -> bool:
    owners = of["metadata"].get("ownerReferences", ())
    return any(one["uid"] == by["metadata"]["uid"] for one in owners)


def add_finalizer(resource: Resource, of: Object, finalizer: str, now: datetime) -> Iterator[Action]:
    """Add the finalizer and record when the object was first seen."""
    held = of["metadata"].get("finalizers", [])
    if finalizer in held or deleting(of):
        return
    yield PatchObject(
        resource,
        of,
        {"metadata": {"finalizers": [*held, finalizer], "annotations": {SINCE: written(now)}}},
    )


def remove_finalizer(resource: Resource, of: Object, finalizer: str) -> Iterator[Action]:
    """Remove the finalizer."""
    held = of["metadata"].get("finalizers", [])
    if finalizer in held:
        kept = [one for one in held if one != finalizer]
        yield PatchObject(resource, of, {"metadata": {"finalizers": kept or None}})
