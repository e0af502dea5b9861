"""Reads an add-on's manifests from its Colony, as they are too large for a message."""

from collections.abc import Mapping

from events.errors import NotFound, TryLater
from events.kube.client import Kube, Object
from events.kube.resources import COLONIES
from schemas.addon import ApplyAddon, CheckAddon, WithdrawAddon
from schemas.crds.manifests import objects
from schemas.wish import cluster_name
from services.addons.owned_objects import OwnedObject, owned_object

AddonCommand = ApplyAddon | CheckAddon | WithdrawAddon
"""Each names the add-on, its cluster and its Colony."""


class UnreadableManifests(TryLater):
    """Manifests that cannot be parsed: nothing of them was ever written to a cluster."""


async def manifests(management: Kube, about: AddonCommand) -> str:
    """The add-on's manifests. Raises NotFound."""
    listed = _manifests_by_addon(await _colony(management, about), about)
    if about.addon not in listed:
        where = f"{about.tenant}/{about.colony}"
        raise NotFound(f"the Colony {where} has no add-on {about.addon} on {about.cluster} any more")
    return listed[about.addon]


async def other_addons(management: Kube, about: AddonCommand) -> Mapping[str, tuple[OwnedObject, ...]]:
    """The objects of every other add-on; empty if the Colony is being deleted. Raises TryLater if unreadable."""
    try:
        colony = await _colony(management, about)
    except NotFound:
        return {}
    going = "deletionTimestamp" in colony["metadata"]
    listed = {} if going else _manifests_by_addon(colony, about)
    return {
        name: tuple(map(owned_object, documents(about, name, text)))
        for name, text in listed.items()
        if name != about.addon
    }


def documents(about: AddonCommand, addon: str, text: str) -> list[Object]:
    """The objects of an add-on, in the order they are written. Raises UnreadableManifests until they are mended."""
    try:
        return objects(text)
    except ValueError as wrong:
        raise UnreadableManifests(f"add-on {addon} of the Colony {about.tenant}/{about.colony} {wrong}") from wrong


async def _colony(management: Kube, about: AddonCommand) -> Object:
    return await management.get(COLONIES, about.colony, about.tenant)


def _manifests_by_addon(colony: Object, about: AddonCommand) -> dict[str, str]:
    """The manifests of each add-on of the cluster."""
    named = (each for each in colony["spec"]["clusters"] if cluster_name(about.colony, each["name"]) == about.cluster)
    return {one["name"]: str(one["manifests"]) for each in named for one in each.get("addons", ())}
