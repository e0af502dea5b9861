"""Finds an add-on's description: in its Colony or its profile, as it is too large for a message."""

from collections import OrderedDict
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

from events.errors import NotFound, TryLater
from events.kube.client import Kube, Object
from events.kube.impersonation import account_user
from events.kube.resources import COLONIES
from schemas.addon import ApplyAddon, CheckAddon, WithdrawAddon, profile_of
from schemas.crds import AddonSpec, InvalidResource
from schemas.crds.manifests import objects
from schemas.crds.model import read
from schemas.wish import cluster_name
from services.addons.catalog.build import canaries
from services.addons.owned_objects import OwnedObject, owned_object
from services.addons.plan.profile_store import ProfileName, ProfileStore
from services.addons.plan.revisions import Revisions
from services.addons.record import DEFAULT_PRIORITY

AddonCommand = ApplyAddon | CheckAddon | WithdrawAddon
"""Each names the add-on, its cluster and its Colony."""
UNKNOWN_YET = 1.0
"""Seconds until it is asked again for what a process that begins does not know yet."""
REMEMBERED = 4096
"""Colonies whose add-ons are remembered until the next version of each."""


class UnreadableDescription(TryLater):
    """A description that cannot be read: nothing of it was ever written to a cluster."""


@dataclass(frozen=True)
class Description:
    """An add-on as it is described, and for whom."""

    spec: AddonSpec
    digest: str
    """Of the description as it is written."""
    namespace: str
    """Of what it refers to in the management cluster."""
    priority: int = DEFAULT_PRIORITY
    user: str = ""
    """The user, a ServiceAccount of the cluster, whose rights count; empty: our own."""
    suspended: bool = False
    sources: str = ""
    """Digest of what its sources must hold, by the rollout of its profile; empty: whatever they hold."""
    cluster_wide: bool = False
    """It is of a ClusterAddonProfile, which may name sources of any namespace."""
    canaries: tuple[Mapping[str, Any], ...] = ()
    """Objects that the cluster's API server must accept in a dry run before it is ready."""
    approved: str = ""
    """The digest of the description whose deletions were approved."""


OnFound = Callable[[AddonCommand, Description], None]


class Descriptions:
    """Reads descriptions of add-ons."""

    def __init__(
        self,
        management: Kube,
        profiles: ProfileStore,
        revisions: Revisions,
        expand: Callable[[AddonSpec], AddonSpec],
        found: OnFound = lambda *_: None,
    ) -> None:
        """`expand` fills in what the catalog knows of an add-on. Raises InvalidResource.

        `found` is called with each description that somebody looks for.
        """
        self._found = found
        self._management = management
        self._profiles = profiles
        self._revisions = revisions
        self._expand = expand
        self._read: OrderedDict[tuple[str, str, str], tuple[object, dict[str, AddonSpec]]] = OrderedDict()
        """By namespace, Colony and cluster: the Colony's version, and the cluster's add-ons by name."""

    async def find(self, about: AddonCommand) -> Description:
        """The add-on's description. Raises NotFound, UnreadableDescription, TryLater."""
        profile = profile_of(about.addon)
        found = self._in_profile(about, profile) if profile else await self._in_colony(about)
        try:
            pinned = "" if isinstance(about, WithdrawAddon) else about.sources
            spec = self._expand(found.spec)
            whole = replace(found, spec=spec, canaries=canaries(found.spec), sources=pinned)
        except InvalidResource as wrong:
            raise UnreadableDescription(f"add-on {about.addon} {wrong}") from wrong
        self._found(about, whole)
        return whole

    def _in_profile(self, about: AddonCommand, profile: str) -> Description:
        if not (self._profiles.listed.is_set() and self._revisions.listed.is_set()):
            raise TryLater("profiles are not known yet", UNKNOWN_YET)
        name = ProfileName.of(profile, about.tenant)
        known = self._profiles.get(name)
        if known is not None and known.invalid:
            raise UnreadableDescription(f"the profile {profile} cannot be read: {known.invalid}")
        own = about.addon.rpartition(".")[2]
        spec = next((each for each in known.profile.spec.addons if each.name == own), None) if known else None
        if known is not None and (spec is None or spec.digest != about.digest):
            spec = self._revisions.find(name, own, about.digest) or spec
        if known is None or spec is None:
            raise NotFound(f"the profile {profile} has no add-on {own} any more")
        namespace, settings = name.home, known.profile.spec
        account = settings.service_account_name
        return Description(
            spec,
            spec.digest,
            namespace,
            settings.priority,
            account_user(namespace, account) if account else "",
            settings.suspend,
            cluster_wide=not name.namespace,
            approved=_approved(known.item, own),
        )

    async def _in_colony(self, about: AddonCommand) -> Description:
        colony = await self._management.get(COLONIES, about.colony, about.tenant)
        listed = self._addons(colony, about)
        if about.addon not in listed:
            where = f"{about.tenant}/{about.colony}"
            raise NotFound(f"the Colony {where} has no add-on {about.addon} on {about.cluster} any more")
        spec = listed[about.addon]
        return Description(spec, spec.digest, about.tenant, approved=_approved(colony, about.addon))

    def _addons(self, colony: Object, about: AddonCommand) -> dict[str, AddonSpec]:
        key, version = (about.tenant, about.colony, about.cluster), _version(colony)
        kept = self._read.get(key)
        if kept is None or kept[0] != version:
            kept = self._read[key] = (version, dict(_read_addons(colony, about)))
            if len(self._read) > REMEMBERED:
                self._read.popitem(last=False)
        return kept[1]

    async def of_colony(self, about: WithdrawAddon | ApplyAddon) -> Mapping[str, AddonSpec]:
        """Every add-on of the cluster that its Colony asks for; none if that is being deleted, or there is none.

        Raises TryLater if they cannot be read.
        """
        if not about.colony:
            return {}
        try:
            colony = await self._management.get(COLONIES, about.colony, about.tenant)
        except NotFound:
            return {}
        return {} if "deletionTimestamp" in colony["metadata"] else self._addons(colony, about)


def inline(addons: Mapping[str, AddonSpec]) -> Mapping[str, tuple[OwnedObject, ...]]:
    """The objects of those that are written inline. Raises UnreadableDescription."""
    return {
        name: tuple(map(owned_object, inline_objects(name, spec.manifests)))
        for name, spec in addons.items()
        if spec.manifests is not None and not spec.templated
    }


def _version(colony: Object) -> tuple[Any, ...]:
    meta = colony["metadata"]
    return meta.get("uid"), meta.get("generation"), meta.get("resourceVersion")


def _read_addons(colony: Object, about: AddonCommand) -> Iterator[tuple[str, AddonSpec]]:
    """The add-ons of the cluster. Raises UnreadableDescription."""
    for cluster in colony["spec"]["clusters"]:
        if cluster_name(about.colony, cluster["name"]) != about.cluster:
            continue
        for written in cluster.get("addons", ()):
            try:
                yield written["name"], read(AddonSpec, written)
            except InvalidResource as wrong:
                where = f"add-on {written['name']} of the Colony {about.tenant}/{about.colony}"
                raise UnreadableDescription(f"{where}: {wrong}") from wrong


def inline_objects(name: str, manifests: str) -> list[Object]:
    """The objects of inline manifests. Raises UnreadableDescription."""
    try:
        return objects(manifests)
    except ValueError as wrong:
        raise UnreadableDescription(f"add-on {name} {wrong}") from wrong


def _approved(item: Object, addon: str) -> str:
    """What the annotation ``approve.alate.dev/<add-on>`` says."""
    return str((item["metadata"].get("annotations") or {}).get(f"approve.alate.dev/{addon}", ""))
