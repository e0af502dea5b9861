"""The objects of an add-on on a cluster, as its manifests name them."""

import hashlib
from collections.abc import Iterable
from typing import NamedTuple

from events.errors import NotFound
from events.kube.client import Kube, Object, Resource
from events.kube.discovery import find
from events.kube.resources import CRDS
from services.kubernetes.labels import GROUP

LABEL = f"{GROUP}/addon"
"""On every object of an add-on, with the add-on's name as `owner_label` writes it."""
LONGEST_LABEL = 63
"""Characters of a label's value."""


class OwnedObject(NamedTuple):
    """One object, as the add-on's manifests name it."""

    api_version: str
    kind: str
    namespace: str
    """``default`` if none is written; ignored for kinds without namespaces."""
    name: str

    @property
    def group(self) -> str:
        """The API group; empty for the core."""
        return self.api_version.rpartition("/")[0]

    def same(self, other: "OwnedObject", *, namespaced: bool) -> bool:
        """Whether both name the same object, in any version of its kind."""
        within = self.namespace == other.namespace or not namespaced
        return within and (self.group, self.kind, self.name) == (other.group, other.kind, other.name)

    def __str__(self) -> str:
        return f"{self.kind} {self.name}"


def owned_object(document: Object) -> OwnedObject:
    """The object that a manifest describes."""
    meta = document.get("metadata") or {}
    return OwnedObject(
        document["apiVersion"], document["kind"], meta.get("namespace", "default"), str(meta.get("name", ""))
    )


def own_groups(has: Iterable[OwnedObject]) -> frozenset[str]:
    """The API groups whose kinds the add-on itself defines."""
    return frozenset(one.name.partition(".")[2] for one in has if one.kind == CRDS.kind)


def owner_label(addon: str) -> str:
    """An add-on's full name as a label's value; the end of one that is too long is a digest of it."""
    if len(addon) <= LONGEST_LABEL:
        return addon
    digest = hashlib.sha256(addon.encode()).hexdigest()[:12]
    return f"{addon[: LONGEST_LABEL - len(digest) - 1]}-{digest}"


def owner(seen: Object) -> str:
    """The add-on that owns an object, as `owner_label` writes it; empty if none does."""
    return str((seen["metadata"].get("labels") or {}).get(LABEL, ""))


async def read_object(kube: Kube, one: OwnedObject) -> tuple[Resource, Object]:
    """The object and its kind. Raises NotFound."""
    resource = await find(kube, one.api_version, one.kind)
    return resource, await kube.get(resource, one.name, one.namespace if resource.namespaced else None)


async def read_existing(kube: Kube, one: OwnedObject) -> Object | None:
    """The object; None if it or its kind does not exist. Raises TryLater, Denied."""
    try:
        return (await read_object(kube, one))[1]
    except NotFound:
        return None
