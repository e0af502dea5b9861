"""Of what an add-on has on a cluster is taken away what it brought and needs no more, but for what others need."""

from collections.abc import Awaitable, Callable, Iterable, Mapping
from dataclasses import dataclass

from events.errors import Denied, NotFound
from events.kube.client import Kube, Object, Resource
from events.kube.discovery import served
from events.kube.resources import CRDS, NAMESPACES
from services.addons.owned_objects import LABEL, Belonging, look, owner
from services.addons.record import Note

PASSING = frozenset({"Endpoints", "Event", "Lease"})
"""Kinds that hold nobody's work, and come again by themselves where they are needed."""
GIVEN = frozenset({("ServiceAccount", "default"), ("ConfigMap", "kube-root-ca.crt")})
"""What Kubernetes puts into every namespace itself."""
TOKEN = "kubernetes.io/service-account-token"  # noqa: S105 - a type of Secret
"""Made of a ServiceAccount, and gone with it."""


@dataclass(frozen=True)
class Withdrawal:
    """One add-on, and what to heed while it is taken off."""

    kube: Kube
    addon: str
    stays: bool
    """The cluster goes on: what would take others' objects with it is left as long as there are any."""
    asked: Mapping[str, tuple[Belonging, ...]]
    """The add-ons that stay, each with all it is made of; with this one, where it loses but a part."""
    notes: Mapping[str, Note]
    """What every add-on has on the cluster; those that do not stay are going by themselves."""

    async def left(self, has: Iterable[Belonging]) -> list[str]:
        """Ask for the end of all, the last first. Why each is left that is; an empty word for each that is going.

        A namespace is looked into once all else is gone.
        """
        last_first = tuple(reversed(tuple(has)))
        told = await self._told(one for one in last_first if one.kind != NAMESPACES.kind)
        if "" not in told:
            told += await self._told(one for one in last_first if one.kind == NAMESPACES.kind)
        return told

    async def _told(self, has: Iterable[Belonging]) -> list[str]:
        return [why for one in has if (why := await self._end(one)) is not None]

    async def _end(self, one: Belonging) -> str | None:
        """None once it is gone."""
        try:
            resource, there = await look(self.kube, one)
        except NotFound:
            return None
        why = await self._kept(one, resource, there)
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

    async def _kept(self, one: Belonging, resource: Resource, there: Object) -> str | None:
        """Why it is not ended, empty if others' end is waited for; None if it shall end now."""
        if self._shared(one, resource):
            return f"{one} belongs to another add-on as well"
        if any(one in note.found for note in self.notes.values()):
            await self._hand_back(resource, there)
            return f"{one} is left: it was there before"
        if not owner(there):
            return f"{one} is left: it bears the label of no add-on"
        if not self.stays or one.kind not in TAKES_ALONG:
            return None
        inner, where = TAKES_ALONG[one.kind]
        users = map(owner, await inner(self.kube, there))
        others = [user for user in users if user != self.addon or user in self.asked]
        if not others:
            return None
        waits = all(user in self.notes and user not in self.asked for user in others)
        return "" if waits else f"{one} is left: {len(others)} objects {where} are others'"

    def _shared(self, one: Belonging, resource: Resource) -> bool:
        """Another one that stays has it as well, or something in it."""
        theirs = [each for has in self.asked.values() for each in has]
        inside = one.kind == NAMESPACES.kind and any(one.name == each.namespace for each in theirs)
        return inside or any(one.same(each, namespaced=resource.namespaced) for each in theirs)

    async def _hand_back(self, resource: Resource, there: Object) -> None:
        """It is no add-on's any more."""
        meta = there["metadata"]
        if owner(there):
            no_label = {"metadata": {"labels": {LABEL: None}}}
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


async def within(kube: Kube, namespace: Object) -> list[Object]:
    """All in it that was made for its own sake, and is not going."""
    name = namespace["metadata"]["name"]
    kinds = [kind for kind in await served(kube, "list", "delete") if kind.namespaced and kind.kind not in PASSING]
    return [each for kind in kinds for each in await _listed(kube, kind, name) if _matters(each)]


async def _listed(kube: Kube, kind: Resource, namespace: str) -> tuple[Object, ...]:
    try:
        return (await kube.list(kind, namespace)).items
    except NotFound:  # its kind is served no more
        return ()


def _matters(each: Object) -> bool:
    meta = each["metadata"]
    follows = meta.get("ownerReferences") or "deletionTimestamp" in meta or each.get("type") == TOKEN
    return not follows and (each["kind"], meta["name"]) not in GIVEN


TAKES_ALONG: Mapping[str, tuple[Callable[[Kube, Object], Awaitable[Iterable[Object]]], str]] = {
    CRDS.kind: (_of_kind, "of that kind"),
    NAMESPACES.kind: (within, "in it"),
}
"""What ends with an object of a kind, and how that is said."""
