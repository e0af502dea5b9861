"""What a Colony asks for on a cluster is read from the Colony itself, for manifests are too large for a message."""

from collections.abc import Mapping

from events.errors import NotFound, TryLater
from events.kube.client import Kube, Object
from events.kube.resources import COLONIES
from schemas.addon import ApplyAddon, CheckAddon, WithdrawAddon
from schemas.crds.manifests import objects
from schemas.wish import cluster_name
from services.addons.owned_objects import Belonging, belonging

About = ApplyAddon | CheckAddon | WithdrawAddon
"""Each names the add-on, its cluster and its Colony."""


class Unreadable(TryLater):
    """Manifests that nobody can read: of these nothing was ever written to a cluster."""


async def manifests(management: Kube, about: About) -> str:
    """What the add-on is made of. Raises NotFound."""
    listed = _listed(await _colony(management, about), about)
    if about.addon not in listed:
        where = f"{about.tenant}/{about.colony}"
        raise NotFound(f"the Colony {where} has no add-on {about.addon} on {about.cluster} any more")
    return listed[about.addon]


async def others(management: Kube, about: About) -> Mapping[str, tuple[Belonging, ...]]:
    """All that each other add-on is made of; none where the Colony goes. Raises TryLater if that cannot be told."""
    try:
        colony = await _colony(management, about)
    except NotFound:
        return {}
    going = "deletionTimestamp" in colony["metadata"]
    listed = {} if going else _listed(colony, about)
    return {
        name: tuple(map(belonging, documents(about, name, text)))
        for name, text in listed.items()
        if name != about.addon
    }


def documents(about: About, addon: str, text: str) -> list[Object]:
    """The objects of an add-on, in the order they are written. Raises Unreadable until people have mended them."""
    try:
        return objects(text)
    except ValueError as wrong:
        raise Unreadable(f"add-on {addon} of the Colony {about.tenant}/{about.colony} {wrong}") from wrong


async def _colony(management: Kube, about: About) -> Object:
    return await management.get(COLONIES, about.colony, about.tenant)


def _listed(colony: Object, about: About) -> dict[str, str]:
    """The cluster's add-ons, each with its manifests."""
    named = (each for each in colony["spec"]["clusters"] if cluster_name(about.colony, each["name"]) == about.cluster)
    return {one["name"]: str(one["manifests"]) for each in named for one in each.get("addons", ())}
