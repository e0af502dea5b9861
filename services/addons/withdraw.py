"""Deletes what an add-on created on a cluster, except what others need."""

from collections.abc import Awaitable, Callable, Iterable, Mapping
from dataclasses import dataclass

from events.errors import Denied, NotFound
from events.kube.client import Kube, Object, Resource
from events.kube.discovery import served
from events.kube.resources import CRDS, NAMESPACES
from services.addons.objects.apply_set import PART_OF
from services.addons.owned_objects import LABEL, OwnedObject, owner, owner_label, read_object
from services.addons.record import InventoryRecord

TRANSIENT_KINDS = frozenset({"Endpoints", "Event", "Lease"})
"""Kinds that hold nobody's work and are created again where they are needed."""
DEFAULT_OBJECTS = frozenset({("ServiceAccount", "default"), ("ConfigMap", "kube-root-ca.crt")})
"""What Kubernetes itself creates in every namespace."""
TOKEN = "kubernetes.io/service-account-token"  # noqa: S105 - a type of Secret
"""Created for a ServiceAccount, and deleted with it."""


@dataclass(frozen=True)
class Withdrawal:
    """One add-on, and what limits its deletion."""

    kube: Kube
    addon: str
    stays: bool
    """The cluster goes on: what others' objects depend on is kept as long as there are any."""
    staying: Mapping[str, tuple[OwnedObject, ...]]
    """The objects of each add-on that stays, including this one if it loses only a part."""
    notes: Mapping[str, InventoryRecord]
    """What every add-on has on the cluster; those that do not stay are being deleted themselves."""

    async def delete_all(self, has: Iterable[OwnedObject]) -> list[str]:
        """Delete all, the last first. Returns why each object is kept, and an empty text for each being deleted.

        A namespace is looked into once all else is gone.
        """
        last_first = tuple(reversed(tuple(has)))
        reasons = await self._delete_each(one for one in last_first if one.kind != NAMESPACES.kind)
        if "" not in reasons:
            reasons += await self._delete_each(one for one in last_first if one.kind == NAMESPACES.kind)
        return reasons

    async def leave_all(self, has: Iterable[OwnedObject]) -> list[str]:
        """Make all of them nobody's. Returns what is left, each as a sentence."""
        return [await self._leave(one) for one in has]

    async def _leave(self, one: OwnedObject) -> str:
        try:
            resource, there = await read_object(self.kube, one)
        except NotFound:
            return f"{one} was not there any more"
        if owner(there) in ("", owner_label(self.addon)):
            await self._remove_label(resource, there)
        return f"{one} is left as it is"

    async def _delete_each(self, has: Iterable[OwnedObject]) -> list[str]:
        return [why for one in has if (why := await self._delete(one)) is not None]

    async def _delete(self, one: OwnedObject) -> str | None:
        """None once it is gone."""
        try:
            resource, there = await read_object(self.kube, one)
        except NotFound:
            return None
        why = await self._why_kept(one, resource, there)
        if why is not None:
            return why
        meta = there["metadata"]
        try:
            await self.kube.delete(resource, meta["name"], meta.get("namespace"), uid=meta["uid"])
        except NotFound:
            return None
        except Denied as denied:  # another incarnation bears the name: it is looked at the next time
            if denied.reason != "Conflict":
                raise
        return ""

    async def _why_kept(self, one: OwnedObject, resource: Resource, there: Object) -> str | None:
        """Why it is kept, empty while others are being deleted first; None if it is to be deleted now."""
        if self._shared(one, resource):
            return f"{one} belongs to another add-on as well"
        if any(one in note.found for note in self.notes.values()):
            await self._remove_label(resource, there)
            return f"{one} is left: it was there before"
        if not owner(there):
            return f"{one} is left: it bears the label of no add-on"
        if not self.stays or one.kind not in CASCADES:
            return None
        inner, where = CASCADES[one.kind]
        stay = set(map(owner_label, self.staying))
        users = map(owner, await inner(self.kube, there))
        others = [user for user in users if user != owner_label(self.addon) or user in stay]
        if not others:
            return None
        waits = all(user in self.notes and user not in stay for user in others)
        return "" if waits else f"{one} is left: {len(others)} objects {where} are others'"

    def _shared(self, one: OwnedObject, resource: Resource) -> bool:
        """Whether another add-on that stays has it, or something in it."""
        theirs = [each for has in self.staying.values() for each in has]
        inside = one.kind == NAMESPACES.kind and any(one.name == each.namespace for each in theirs)
        return inside or any(one.same(each, namespaced=resource.namespaced) for each in theirs)

    async def _remove_label(self, resource: Resource, there: Object) -> None:
        """Make it no add-on's object."""
        meta = there["metadata"]
        if owner(there):
            no_label = {"metadata": {"labels": {LABEL: None, PART_OF: None}}}
            await self.kube.patch(resource, meta["name"], meta.get("namespace"), no_label)


async def _of_kind(kube: Kube, definition: Object) -> Iterable[Object]:
    """Every object of a kind."""
    spec = definition["spec"]
    version = next(each["name"] for each in spec["versions"] if each["served"])
    names, namespaced = spec["names"], spec["scope"] == "Namespaced"
    try:
        return (await kube.list(Resource(spec["group"], version, names["plural"], names["kind"], namespaced))).items
    except NotFound:  # it is not served yet, or no more
        return ()


async def namespace_contents(kube: Kube, namespace: Object) -> list[Object]:
    """The objects in a namespace that were created for their own sake and are not being deleted."""
    name = namespace["metadata"]["name"]
    kinds = [
        kind for kind in await served(kube, "list", "delete") if kind.namespaced and kind.kind not in TRANSIENT_KINDS
    ]
    return [each for kind in kinds for each in await _listed(kube, kind, name) if _matters(each)]


async def _listed(kube: Kube, kind: Resource, namespace: str) -> tuple[Object, ...]:
    try:
        return (await kube.list(kind, namespace)).items
    except NotFound:  # its kind is served no more
        return ()


def _matters(each: Object) -> bool:
    meta = each["metadata"]
    follows = meta.get("ownerReferences") or "deletionTimestamp" in meta or each.get("type") == TOKEN
    return not follows and (each["kind"], meta["name"]) not in DEFAULT_OBJECTS


CASCADES: Mapping[str, tuple[Callable[[Kube, Object], Awaitable[Iterable[Object]]], str]] = {
    CRDS.kind: (_of_kind, "of that kind"),
    NAMESPACES.kind: (namespace_contents, "in it"),
}
"""What is deleted together with an object of a kind, and how to say where it is."""
