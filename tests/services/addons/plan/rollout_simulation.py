"""Clusters that a rollout changes, and their add-ons that become applied or fail, in virtual time."""

from collections.abc import Iterable
from datetime import UTC, datetime, timedelta

from schemas.addon import AddonState, Applied, Applying, Degraded
from schemas.crds.profile import RolloutSpec
from schemas.profile_addons import RolloutMark
from schemas.wish import AddonRef
from services.addons.plan.progress import Given, progress
from services.addons.plan.rollout import ClusterInRollout, Decision, RolloutPlan, decide, revision_of
from services.addons.plan.target import ClusterName

T0 = datetime(2026, 1, 5, 12, tzinfo=UTC)
RETRY = timedelta(minutes=5)
OLD, NEW = AddonRef("base.nfd", "old"), AddonRef("base.nfd", "new")


def cluster(number: int) -> ClusterName:
    return "acme", f"c{number}"


class Simulation:
    """As the controller does: what was decided is published cluster by cluster, and the add-ons follow it."""

    def __init__(self, spec: RolloutSpec, stages: Iterable[int], had: tuple[AddonRef, ...] = (OLD,)) -> None:
        self.now = T0
        self.spec = spec
        self.newest: tuple[AddonRef, ...] = (NEW,)
        self.approved: set[str] = set()
        self.waits = ""
        self.stages = {cluster(number): stage for number, stage in enumerate(stages)}
        self.refs = dict.fromkeys(self.stages, had)
        self.marks: dict[ClusterName, RolloutMark | None] = dict.fromkeys(self.stages)
        self.states = {name: {ref.name: self._state(Applied, name, ref) for ref in had} for name in self.stages}
        self.granted: dict[ClusterName, datetime] = {}
        self.decision = Decision()
        self.writes = 0

    def join(self, number: int, stage: int) -> None:
        """A cluster that has nothing."""
        name = cluster(number)
        self.stages[name], self.refs[name], self.marks[name], self.states[name] = stage, (), None, {}

    def decide(self) -> Decision:
        self.decision = self.computed(self.granted)
        self.granted = {
            name: turn.mark.since
            for name, turn in self.decision.turns.items()
            if turn.refs is not None and turn.mark is not None and not self.shows(name) and not turn.mark.returned
        }
        return self.decision

    def computed(self, granted: dict[ClusterName, datetime]) -> Decision:
        plan = RolloutPlan(revision_of(self.newest), self.newest, self.spec, frozenset(self.approved), self.waits)
        return decide(plan, [self.place(name) for name in self.stages], granted, self.now)

    def place(self, name: ClusterName) -> ClusterInRollout:
        given = Given("u", self.refs[name], self.marks[name])
        found = progress(given, self.states[name], self.spec, self.now)
        return ClusterInRollout(name, self.stages[name], self.refs[name], self.marks[name], found)

    def shows(self, name: ClusterName) -> bool:
        mark = self.marks[name]
        return mark is not None and mark.revision == revision_of(self.newest)

    def phases(self) -> dict[ClusterName, str]:
        """Of those that the rollout has changed, and that did not go back."""
        return {
            name: self.place(name).progress.phase.value
            for name, mark in self.marks.items()
            if mark is not None and self.shows(name) and not mark.returned
        }

    def publish(self, name: ClusterName) -> bool:
        """Write what was decided for a cluster; False if that is what it has."""
        turn = self.decision.turns[name]
        refs = self.refs[name] if turn.refs is None else turn.refs
        if (refs, turn.mark) == (self.refs[name], self.marks[name]):
            return False
        if refs != self.refs[name]:
            self.states[name] = {ref.name: self._state(Applying, name, ref, until=self._until(ref)) for ref in refs}
        self.refs[name], self.marks[name] = refs, turn.mark
        self.writes += 1
        return True

    def publish_all(self) -> int:
        """Decide and publish until nothing changes; gives how many levels were written."""
        before = self.writes
        while True:
            self.decide()
            if not sum([self.publish(name) for name in self.stages]):
                return self.writes - before

    def become(self, kind: type[AddonState], name: ClusterName) -> None:
        for ref in self.refs[name]:
            more = {"message": "no GPU", "retry_at": self.now + RETRY} if kind is Degraded else {}
            more |= {"until": self._until(ref)} if kind is Applying else {}
            self.states[name][ref.name] = self._state(kind, name, ref, **more)

    def _until(self, ref: AddonRef) -> datetime:
        return self.now + timedelta(seconds=ref.timeout_seconds)

    def _state(self, kind: type[AddonState], name: ClusterName, ref: AddonRef, **more: object) -> AddonState:
        return kind(
            uid="u",
            tenant=name[0],
            colony="",
            cluster=name[1],
            addon=ref.name,
            digest=ref.digest,
            since=self.now,
            **more,
        )
