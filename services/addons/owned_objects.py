"""What an add-on has on a cluster is told object by object, as its manifests name them."""

from collections.abc import Iterable
from typing import NamedTuple

from events.kube.client import Kube, Object, Resource
from events.kube.discovery import find
from events.kube.resources import CRDS
from services.kubernetes.labels import GROUP

LABEL = f"{GROUP}/addon"
"""On every object of an add-on; its value is the add-on."""


class Belonging(NamedTuple):
    """One object, as the add-on's manifests name it."""

    api_version: str
    kind: str
    namespace: str
    """``default`` where none is written; means nothing to kinds without namespaces."""
    name: str

    def same(self, other: "Belonging", *, namespaced: bool) -> bool:
        """Whether both name one object: by any version of its kind."""
        group, theirs = (one.api_version.rpartition("/")[0] for one in (self, other))
        within = self.namespace == other.namespace or not namespaced
        return within and (group, self.kind, self.name) == (theirs, other.kind, other.name)

    def __str__(self) -> str:
        return f"{self.kind} {self.name}"


def belonging(document: Object) -> Belonging:
    """What a manifest is about."""
    meta = document.get("metadata") or {}
    return Belonging(
        document["apiVersion"], document["kind"], meta.get("namespace", "default"), str(meta.get("name", ""))
    )


def groups(has: Iterable[Belonging]) -> frozenset[str]:
    """The API groups of which it brings kinds itself: a definition's name is that of its kind and its group."""
    return frozenset(one.name.partition(".")[2] for one in has if one.kind == CRDS.kind)


def owner(seen: Object) -> str:
    """Whose an object is; empty if no add-on's."""
    return str((seen["metadata"].get("labels") or {}).get(LABEL, ""))


async def look(kube: Kube, one: Belonging) -> tuple[Resource, Object]:
    """The object as it is. Raises NotFound."""
    resource = await find(kube, one.api_version, one.kind)
    return resource, await kube.get(resource, one.name, one.namespace if resource.namespaced else None)
