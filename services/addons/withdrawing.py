"""Of what an add-on has on a cluster each object is taken away, but for what others need where the cluster goes on."""

from collections.abc import Mapping
from dataclasses import dataclass

from events.faults import NotFound
from events.kinds import CRDS, find
from events.kube import Kube, Object, Resource
from services.addons.belongings import Belonging
from services.clouds.marks import GROUP

LABEL = f"{GROUP}/addon"
"""On every object of an add-on; its value is the add-on."""


@dataclass(frozen=True)
class Withdrawal:
    """One add-on, and what to heed while it is taken off."""

    kube: Kube
    addon: str
    stays: bool
    """The cluster goes on: a kind of objects that others have is left, for it would take these with it."""
    asked: Mapping[str, tuple[Belonging, ...]]
    """The add-ons that stay, each with all it is made of."""
    known: frozenset[str]
    """The add-ons that have anything on the cluster; of those, what does not stay is going by itself."""

    async def left(self, one: Belonging) -> str | None:
        """Ask for one object's end. None once it is gone, empty while it is going; why, if it is left."""
        try:
            resource = await find(self.kube, one.api_version, one.kind)
            namespace = one.namespace if resource.namespaced else None
            there = await self.kube.get(resource, one.name, namespace)
            if self._shared(one, resource):
                return f"{one} belongs to another add-on as well"
            if one.kind == CRDS.kind and self.stays and (users := await self._users(there)):
                waits = all(user in self.known and user not in self.asked for user in users)
                return "" if waits else f"{one} is left: {len(users)} objects of that kind are others'"
            await self.kube.delete(resource, one.name, namespace, uid=there["metadata"]["uid"])
        except NotFound:
            return None
        return ""

    def _shared(self, one: Belonging, resource: Resource) -> bool:
        theirs = (each for has in self.asked.values() for each in has)
        return any(one.same(each, namespaced=resource.namespaced) for each in theirs)

    async def _users(self, definition: Object) -> list[str]:
        """Of each object of a kind that is not this add-on's: whose it is, empty if no add-on's."""
        spec = definition["spec"]
        version = next(each["name"] for each in spec["versions"] if each["served"])
        names, namespaced = spec["names"], spec["scope"] == "Namespaced"
        kind = Resource(spec["group"], version, names["plural"], names["kind"], namespaced)
        try:
            listed = (await self.kube.list(kind)).items
        except NotFound:  # it is not served yet, or no more
            return []
        owners = [each["metadata"].get("labels", {}).get(LABEL, "") for each in listed]
        return [owner for owner in owners if owner != self.addon]
