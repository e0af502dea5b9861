"""Which clusters a profile selects, and in which stage of its rollout each is; found out again when one changes."""

from collections.abc import Callable, Iterable, Mapping
from typing import NamedTuple

from services.addons.plan.profile import Profile, ProfileRules
from services.addons.plan.target import ClusterName, KnownCluster


class Member(NamedTuple):
    """A cluster that can be changed now."""

    uid: str
    stage: int
    """Its place in the order of stages; one more than the last for clusters of none."""


class Members:
    """The clusters of one profile."""

    def __init__(
        self,
        rules: ProfileRules,
        clusters: Callable[[], Iterable[ClusterName]],
        target: Callable[[ClusterName], KnownCluster | None],
    ) -> None:
        """`clusters`: every one that is known; `target`: what is known of it."""
        self._rules = rules
        self._clusters = clusters
        self._target = target
        self._of: Profile | None = None
        self._known: dict[ClusterName, Member] = {}
        self._dirty: set[ClusterName] = set()

    def touch(self, name: ClusterName) -> None:
        """Something of a cluster has changed."""
        self._dirty.add(name)

    def of(self, profile: Profile) -> Mapping[ClusterName, Member]:
        """Its clusters now, by name."""
        if self._of is not profile:
            self._of, self._dirty, self._known = profile, set(self._clusters()), {}
        for name in self._dirty:
            self._known.pop(name, None)
            if (member := self._member(profile, name)) is not None:
                self._known[name] = member
        self._dirty = set()
        return self._known

    def _member(self, profile: Profile, name: ClusterName) -> Member | None:
        target = self._target(name) if profile.concerns(name[0]) else None
        if target is None or target.ending or target.lost or not target.kubeconfig:
            return None
        if self._rules.matches(profile.spec.clusters, target.facts) is not True:
            return None
        stages = profile.spec.rollout.stages if profile.spec.rollout else ()
        told = (self._rules.matches(each.clusters, target.facts) for each in stages)
        found = (place for place, holds in enumerate(told) if holds is True)
        return Member(target.uid, next(found, len(stages)))
