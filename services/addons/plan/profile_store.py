"""The profiles of both kinds, watched and read once per version, and why those that cannot be read cannot."""

import asyncio
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import replace
from typing import NamedTuple

import structlog

from events.kube.client import Changed, Kube, Listed, Lost, Object, Resource, Sight
from events.kube.resources import ADDONPROFILES, CLUSTERADDONPROFILES
from schemas.addon import ALL
from schemas.crds import AddonProfileSpec, InvalidResource, read_profile
from services.addons.plan.profile import Profile, ProfileRules, ProfileSet, profile_set

PLATFORM = "alate"
"""The namespace of what a ClusterAddonProfile has and refers to: ConfigMaps, Secrets, sources, revisions."""
KINDS = (ADDONPROFILES, CLUSTERADDONPROFILES)
UNKNOWN = AddonProfileSpec(addons=[], suspend=True)
"""Stands for a spec that cannot be read: it changes nothing, and withdraws nothing."""

log = structlog.get_logger()


class ProfileName(NamedTuple):
    """A profile of either kind."""

    namespace: str
    """Empty for a ClusterAddonProfile."""
    name: str
    """The object's own name."""

    @property
    def kind(self) -> Resource:
        """Its kind."""
        return ADDONPROFILES if self.namespace else CLUSTERADDONPROFILES

    @classmethod
    def of(cls, full: str, tenant: str) -> "ProfileName":
        """From the name that `full` gives, for a cluster of a namespace."""
        return cls("", full.removeprefix(ALL)) if full.startswith(ALL) else cls(tenant, full)

    def concerns(self, tenant: str) -> bool:
        """Whether it may select clusters of a namespace."""
        return self.namespace in ("", tenant)

    @property
    def home(self) -> str:
        """The namespace of what it has and refers to."""
        return self.namespace or PLATFORM

    @property
    def full(self) -> str:
        """As `schemas.addon.full_name` takes it."""
        return self.name if self.namespace else f"{ALL}{self.name}"


class KnownProfile(NamedTuple):
    """A profile as it was watched and as it was read."""

    item: Object
    profile: Profile
    invalid: str
    """Why its spec cannot be followed; empty if it can."""


class ProfileStore:
    """Every profile, while `run` runs."""

    def __init__(
        self,
        kube: Kube,
        rules: ProfileRules,
        changed: Callable[[ProfileName], None],
    ) -> None:
        self.listed = asyncio.Event()
        """Set once every profile is known; until then nothing can be said of any cluster."""
        self._kube = kube
        self._rules = rules
        self._changed = changed
        self._known: dict[ProfileName, KnownProfile] = {}
        self._unlisted = set(KINDS)
        self._sets: dict[str, ProfileSet] = {}
        """By namespace, made when it is first asked for."""

    def __iter__(self) -> Iterator[ProfileName]:
        return iter(tuple(self._known))

    def get(self, name: ProfileName) -> KnownProfile | None:
        """A profile; None if there is none."""
        return self._known.get(name)

    def of(self, tenant: str) -> ProfileSet:
        """The profiles that may select clusters of a namespace."""
        if tenant not in self._sets:
            self._sets[tenant] = profile_set(
                (each.profile for each in self._known.values()), tenant, self._rules.expand
            )
        return self._sets[tenant]

    def resolve(self, name: ProfileName, generation: int, sources: Mapping[str, str]) -> None:
        """What the sources of a profile hold, as it was written in this generation."""
        known = self._known.get(name)
        if known is None or known.profile.generation != generation or known.profile.sources == sources:
            return
        self._known[name] = known._replace(profile=replace(known.profile, sources=sources))
        self._sets.clear()
        self._changed(name)

    def unread(self, name: ProfileName, generation: int, why: str) -> None:
        """The sources of a profile cannot be read; what they held before counts as long as that is known."""
        known = self._known.get(name)
        if known is None or known.profile.generation != generation:
            return
        if known.profile.undecided and known.profile.unread != why:
            self._known[name] = known._replace(profile=replace(known.profile, unread=why))
            self._changed(name)

    async def run(self) -> None:
        """Watch until cancelled."""
        async with asyncio.TaskGroup() as group:
            for kind in KINDS:
                group.create_task(self._watch(kind))

    async def _watch(self, kind: Resource) -> None:
        async for sight in self._kube.watch(kind):
            self._take(kind, sight)

    def _take(self, kind: Resource, sight: Sight) -> None:
        match sight:
            case Listed(items):
                here = {_name(item): item for item in items}
                for gone in [name for name in self._known if name.kind == kind and name not in here]:
                    self._drop(gone)
                self._keep(here.items())
                self._unlisted.discard(kind)
                if not self._unlisted:
                    self.listed.set()
            case Changed(item, gone):
                self._drop(_name(item)) if gone else self._keep([(_name(item), item)])
            case Lost(reason):
                log.warning("kubernetes.watch_lost", reason=reason)

    def _keep(self, items: Iterable[tuple[ProfileName, Object]]) -> None:
        for name, item in items:
            before = self._known.get(name)
            if before is not None and _version(before.item) == _version(item):
                self._known[name] = before._replace(item=item)
                continue
            self._known[name] = self._read(name, item)
            self._sets.clear()
            self._changed(name)

    def _drop(self, name: ProfileName) -> None:
        if self._known.pop(name, None) is not None:
            self._sets.clear()
            self._changed(name)

    def _read(self, name: ProfileName, item: Object) -> KnownProfile:
        generation = item["metadata"].get("generation", 0)
        try:
            spec = read_profile({key: value for key, value in item.items() if key != "status"}).spec
        except InvalidResource as why:
            return KnownProfile(item, Profile(name.full, name.namespace, UNKNOWN, generation), str(why))
        profile = Profile(name.full, name.namespace, spec, generation)
        if wrong := self._rules.check(profile.spec):
            return KnownProfile(item, Profile(name.full, name.namespace, UNKNOWN, generation), wrong)
        return KnownProfile(item, profile, "")


def _name(item: Object) -> ProfileName:
    meta = item["metadata"]
    return ProfileName(meta.get("namespace", ""), meta["name"])


def _version(item: Object) -> tuple[object, ...]:
    meta = item["metadata"]
    return meta.get("uid"), meta.get("generation"), meta.get("annotations")
