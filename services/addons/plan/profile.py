"""A profile that was read, the releases of Helm that its add-ons claim, and what they need of other profiles."""

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property

import msgspec

from schemas.addon import ALL, full_name, profile_of
from schemas.crds import AddonProfileSpec, AddonSpec, ClusterSelectorSpec, addon_ref
from schemas.crds.addons import Mode, Renderer
from schemas.wish import AddonRef
from services.addons.plan.rollout import revision_of
from services.addons.releases import release_name
from services.expressions.evaluation import EvaluationFailure
from services.expressions.facts import ClusterFacts

ReleaseName = str
"""A Helm release, as namespace/name."""


@dataclass(frozen=True)
class Profile:
    """A profile of either kind."""

    name: str
    """Its name, as `schemas.addon.full_name` takes it: one of no namespace begins with ``all/``."""
    namespace: str
    """Empty for a ClusterAddonProfile."""
    spec: AddonProfileSpec
    generation: int = 0
    sources: Mapping[str, str] | None = None
    """Of a profile with a rollout: the digest of what each add-on's sources hold; None: that is not known yet."""
    unread: str = ""
    """Why that is not known."""

    @property
    def leaves(self) -> bool:
        """What it put on a cluster stays there when it selects the cluster no longer."""
        return self.spec.on_unmatch == "Leave"

    @cached_property
    def refs(self) -> tuple[AddonRef, ...]:
        """Its add-ons as messages name them."""
        held = self.sources or {}
        refs = ((addon.name, addon_ref(addon, self.name)) for addon in self.spec.addons)
        return tuple(msgspec.structs.replace(ref, sources=held.get(name, "")) for name, ref in refs)

    @cached_property
    def dry_runs(self) -> tuple[AddonRef, ...]:
        """Those that are not applied: only what an apply would change is reported."""
        modes = zip(self.refs, self.spec.addons, strict=True)
        return tuple(ref for ref, addon in modes if addon.mode is Mode.DRY_RUN)

    @cached_property
    def revision(self) -> str:
        """The digest of its add-ons, and of what their sources hold."""
        return revision_of(self.refs)

    @property
    def undecided(self) -> bool:
        """It has a rollout, and what its sources hold is not known: its clusters keep what they have."""
        return self.spec.rollout is not None and self.sources is None

    def concerns(self, tenant: str) -> bool:
        """Whether it may select clusters of a namespace."""
        return self.name.startswith(ALL) or self.namespace == tenant


@dataclass(frozen=True)
class ProfileRules:
    """How profiles are read, and which clusters they select."""

    expand: Callable[[AddonSpec], AddonSpec]
    """Fills in what the catalog knows of an add-on. Raises InvalidResource."""
    matches: Callable[[ClusterSelectorSpec, ClusterFacts], bool | EvaluationFailure]
    """Whether a selector selects a cluster; a failure says nothing about it."""
    check: Callable[[AddonProfileSpec], str]
    """What is wrong with a spec that its model takes; empty if nothing is."""


@dataclass(frozen=True)
class ProfileSet:
    """The profiles that may select clusters of one namespace."""

    by_name: Mapping[str, Profile]
    claims: Mapping[str, ReleaseName]
    """The releases that their add-ons install, by the add-on's full name."""

    @cached_property
    def dry_runs(self) -> Mapping[str, AddonRef]:
        """The add-ons that are only rehearsed, by their full name."""
        return {ref.name: ref for each in self.by_name.values() for ref in each.dry_runs}


def profile_set(profiles: Iterable[Profile], tenant: str, expand: Callable[[AddonSpec], AddonSpec]) -> ProfileSet:
    """The profiles that concern a namespace; `expand` fills in what the catalog knows of an add-on."""
    known = {each.name: each for each in profiles if each.concerns(tenant)}
    return ProfileSet(known, dict(claim for each in known.values() for claim in _claims(each, expand)))


def _claims(profile: Profile, expand: Callable[[AddonSpec], AddonSpec]) -> Iterator[tuple[str, ReleaseName]]:
    for addon in profile.spec.addons:
        known = expand(addon)
        if _is_release(known):
            yield (
                full_name(addon.name, profile.name),
                release_name(known.namespace or "default", known.release or addon.name),
            )


def _is_release(addon: AddonSpec) -> bool:
    """Whether its description says that it is a chart; what another source holds shows once it is fetched."""
    chart = addon.source is not None and addon.source.chart is not None
    return chart or addon.renderer is Renderer.HELM or addon.release is not None or addon.helm is not None


def prerequisites(
    wanted: Mapping[str, AddonRef], profiles: ProfileSet, keeping: Collection[str]
) -> dict[str, AddonRef]:
    """What `wanted` depends on, directly or not, and lacks; it goes when no add-on depends on it any more.

    An AddonProfile brings no add-on of a ClusterAddonProfile: those decide themselves which clusters they select.
    Profiles that change nothing now (`keeping`), and those with a rollout, are not added to.
    """
    found: dict[str, AddonRef] = {}
    todo = list(wanted.values())
    while todo:
        dependent = todo.pop()
        for name in dependent.after:
            profile = profile_of(name)
            same_kind = profile.startswith(ALL) == profile_of(dependent.name).startswith(ALL)
            if same_kind and name not in wanted and name not in found and profile not in keeping:
                new = _offered(name, profiles)
                found |= new
                todo += new.values()
    return found


def _offered(name: str, profiles: ProfileSet) -> dict[str, AddonRef]:
    profile = profiles.by_name.get(profile_of(name))
    if profile is None or profile.spec.rollout is not None:
        return {}
    return {ref.name: ref for ref in profile.refs if ref.name == name}
