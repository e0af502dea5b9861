"""Decides the rollouts again whenever something changes: a profile, a cluster, an add-on, an approval, the time."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from datetime import datetime

import structlog

from events.errors import Fault
from schemas.addon import AddonState, Withdrawn, profile_of
from schemas.crds.profile import RolloutSpec
from schemas.profile_addons import ProfileAddons
from services.addons.plan.members import Member, Members
from services.addons.plan.profile import Profile, ProfileRules
from services.addons.plan.profile_store import KnownProfile, ProfileName, ProfileStore
from services.addons.plan.progress import Given, progress
from services.addons.plan.revisions import AGAIN, Revisions
from services.addons.plan.rollout import ClusterInRollout, Decision, RolloutPlan, Turn, decide
from services.addons.plan.target import ClusterName, KnownCluster
from services.runtime.context import Context
from services.runtime.workqueue import WorkQueue

APPROVED = "alate.dev/approved"
"""Annotation of a profile: the stages that may begin, each as <stage>@<revision>."""
SOON = 0.05
"""Seconds from a change to the decision, as more changes mostly follow."""
CLUSTERS_PER_SECOND = 5_000
"""With many clusters decisions come less often: so many are looked at."""
LONGEST = 86_400.0
"""Seconds between two decisions while something waits for its time."""

log = structlog.get_logger()


@dataclass(frozen=True)
class RolloutPorts:
    """What rollouts are decided by, and who follows them."""

    profiles: ProfileStore
    rules: ProfileRules
    revisions: Revisions
    clusters: Callable[[], Iterable[ClusterName]]
    target: Callable[[ClusterName], KnownCluster | None]
    level: Callable[[ClusterName], ProfileAddons | None]
    """What a cluster shall have."""
    changed: Callable[[ClusterName], None]
    """Called with each cluster whose turn has changed."""
    decided: Callable[[ProfileName], None]
    """Called with each profile of whose rollout something new is to be said."""


class Rollouts:
    """The rollouts of all profiles; nothing of them is kept but what levels and states say."""

    def __init__(self, ports: RolloutPorts, context: Context) -> None:
        self._ports = ports
        self._clock = context.clock
        self._decisions: dict[ProfileName, tuple[str, Decision]] = {}
        """With the revision that each is about."""
        self._members: dict[ProfileName, Members] = {}
        self._states: dict[ClusterName, dict[str, AddonState]] = {}
        """By full name: add-ons that are not withdrawn."""
        self._queue: WorkQueue[ProfileName] = WorkQueue(self._reconcile, "rollout", context.jitter)

    def running(self) -> AbstractAsyncContextManager[None]:
        """Decide while the block runs."""
        for name in self._ports.profiles:
            self._queue.add(name)
        return self._queue.running()

    def turns(self, cluster: ClusterName) -> Mapping[str, Turn]:
        """What was decided for a cluster, by profile."""
        found = ((name, each.turns.get(cluster)) for name, (_, each) in self._decisions.items())
        return {name.full: turn for name, turn in found if turn is not None}

    def decision(self, name: ProfileName) -> Decision | None:
        """The last decision about a profile that has a rollout."""
        known = self._ports.profiles.get(name)
        has = known is not None and known.profile.spec.rollout is not None
        return self._decisions[name][1] if has and name in self._decisions else None

    def on_profile(self, name: ProfileName) -> None:
        """A profile has changed."""
        self._queue.add_after(name, SOON)

    def on_cluster(self, cluster: ClusterName) -> None:
        """Something of a cluster has changed."""
        for name, members in self._members.items():
            if name.concerns(cluster[0]):
                members.touch(cluster)
                self._again(name)

    def on_addon(self, state: AddonState) -> None:
        """An add-on of a profile has changed."""
        known = self._states.setdefault((state.tenant, state.cluster), {})
        if isinstance(state, Withdrawn):
            known.pop(state.addon, None)
        else:
            known[state.addon] = state
        self._again(ProfileName.of(profile_of(state.addon), state.tenant))

    def on_level(self, level: ProfileAddons) -> None:
        """What a cluster shall have has changed."""
        for profile in {profile_of(ref.name) for ref in level.addons} | level.rollouts.keys():
            self._again(ProfileName.of(profile, level.tenant))

    def _again(self, name: ProfileName) -> None:
        if name in self._members:
            clusters = len(self._decisions[name][1].turns) if name in self._decisions else 0
            self._queue.add_after(name, max(SOON, clusters / CLUSTERS_PER_SECOND))

    async def _reconcile(self, name: ProfileName) -> None:
        known = self._ports.profiles.get(name)
        if known is None or not (known.profile.spec.rollout or self._is_awaited(name)):
            self._forget(name)
            return
        if known.profile.spec.suspend:
            return
        if known.profile.undecided:
            self._wait(name, known)
            return
        try:
            if known.profile.spec.rollout is not None:
                await self._ports.revisions.ensure(name, known)
        except Fault as why:
            log.warning("profile.revision_unwritten", tenant=name.namespace, name=name.name, reason=str(why))
            stopped = f"stopped as its revision cannot be written: {why}"
            self._decisions[name] = known.profile.revision, Decision(stopped=stopped, message=stopped)
            self._ports.decided(name)
            self._queue.add_after(name, AGAIN)
            return
        self._decide(name, known)

    def _wait(self, name: ProfileName, known: KnownProfile) -> None:
        """All clusters keep what they have until it is known what the sources hold."""
        if known.profile.unread and name not in self._decisions:
            waits = f"its sources cannot be read: {known.profile.unread}"
            self._decisions[name] = known.profile.revision, Decision(waits=waits, message=waits)
            self._ports.decided(name)

    def _decide(self, name: ProfileName, known: KnownProfile) -> None:
        profile, now = known.profile, self._clock()
        _, before = self._decisions.get(name, ("", Decision()))
        spec = profile.spec.rollout or RolloutSpec()
        plan = RolloutPlan(
            profile.revision, profile.refs, spec, _approved(known, profile.revision), self._awaited(name, spec)
        )
        found = decide(plan, self._places(name, profile, spec, now), _granted(before, profile.revision), now)
        self._decisions[name] = profile.revision, found
        self._follow(name, before, found)
        if found.wake is not None:
            self._queue.add_after(name, min(max((found.wake - now).total_seconds(), SOON), LONGEST))

    def _follow(self, name: ProfileName, before: Decision, found: Decision) -> None:
        for cluster in before.turns.keys() | found.turns.keys():
            if before.turns.get(cluster) != found.turns.get(cluster):
                self._ports.changed(cluster)
        if found.message != before.message or found.complete != before.complete:
            self._ports.decided(name)
        if found.complete != before.complete or before.message == "":
            for other in self._ports.profiles:
                if name in self._after(other):
                    self._queue.add_after(other, SOON)

    def _forget(self, name: ProfileName) -> None:
        self._members.pop(name, None)
        if name in self._decisions:
            del self._decisions[name]
            self._ports.decided(name)

    def _places(
        self, name: ProfileName, profile: Profile, spec: RolloutSpec, now: datetime
    ) -> Iterator[ClusterInRollout]:
        if name not in self._members:
            self._members[name] = Members(self._ports.rules, self._ports.clusters, self._ports.target)
        for cluster, member in self._members[name].of(profile).items():
            given = self._given(cluster, member, profile)
            found = progress(given, self._states.get(cluster, {}), spec, now)
            yield ClusterInRollout(cluster, member.stage, tuple(given.refs), given.mark, found)

    def _given(self, cluster: ClusterName, member: Member, profile: Profile) -> Given:
        level = self._ports.level(cluster)
        if level is None or level.uid != member.uid:
            return Given(member.uid, (), None)
        refs = tuple(ref for ref in level.addons if profile_of(ref.name) == profile.name)
        return Given(member.uid, refs, level.rollouts.get(profile.name))

    def _after(self, name: ProfileName) -> tuple[ProfileName, ...]:
        """The profiles that must be complete first."""
        known = self._ports.profiles.get(name)
        spec = known.profile.spec.rollout if known else None
        return tuple(ProfileName.of(each, name.namespace) for each in spec.after) if spec else ()

    def _is_awaited(self, name: ProfileName) -> bool:
        return any(name in self._after(other) for other in self._ports.profiles)

    def _awaited(self, name: ProfileName, spec: RolloutSpec) -> str:
        """Which profiles a rollout waits for, one sentence; empty: none."""
        waiting = [
            text for text, each in zip(spec.after, self._after(name), strict=True) if not self._is_complete(each)
        ]
        return f"waits for profile {', '.join(waiting)}" if waiting else ""

    def _is_complete(self, name: ProfileName) -> bool:
        known, (revision, found) = self._ports.profiles.get(name), self._decisions.get(name, ("", Decision()))
        return known is not None and not known.invalid and revision == known.profile.revision and found.complete


def _approved(known: KnownProfile, revision: str) -> frozenset[str]:
    written = str((known.item["metadata"].get("annotations") or {}).get(APPROVED, ""))
    pairs = (each.strip().partition("@") for each in written.split(","))
    return frozenset(stage for stage, _, of in pairs if of == revision)


def _granted(before: Decision, revision: str) -> dict[ClusterName, datetime]:
    turns = ((cluster, turn) for cluster, turn in before.turns.items() if turn.revision == revision)
    return {cluster: turn.mark.since for cluster, turn in turns if turn.refs is not None and turn.mark is not None}
