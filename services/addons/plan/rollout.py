"""The rollout of a profile: which clusters get its newest add-ons now, and which keep or get back what they had."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from hashlib import blake2b
from typing import NamedTuple

import msgspec

from schemas.crds.profile import RolloutSpec
from schemas.entity import EPOCH
from schemas.profile_addons import RolloutMark
from schemas.wish import AddonRef
from services.addons.plan.progress import RolloutPhase, RolloutProgress
from services.addons.plan.target import ClusterName
from services.addons.plan.windows import closed_until


@dataclass(frozen=True)
class ClusterInRollout:
    """A cluster that the profile selects, and what it has of it."""

    cluster: ClusterName
    stage: int
    """Its place in the order of stages; one more than the last for clusters of none."""
    refs: tuple[AddonRef, ...]
    mark: RolloutMark | None
    progress: RolloutProgress
    """Of what it has now."""


@dataclass(frozen=True)
class RolloutPlan:
    """What is rolled out, and how."""

    revision: str
    newest: tuple[AddonRef, ...]
    spec: RolloutSpec
    approved: frozenset[str] = frozenset()
    """Stages that may begin though they need an approval."""
    waits: str = ""
    """What it waits for before it begins on any cluster, one sentence."""


class Turn(NamedTuple):
    """What a cluster gets."""

    revision: str
    """The revision that this was decided for."""
    refs: tuple[AddonRef, ...] | None
    """None: what it has."""
    mark: RolloutMark | None


@dataclass(frozen=True)
class Decision:
    """What every cluster gets, and how far the rollout has come."""

    turns: Mapping[ClusterName, Turn] = field(default_factory=dict)
    updated: int = 0
    """Clusters that have the newest add-ons, or are given them now."""
    in_flight: int = 0
    failed: int = 0
    stopped: str = ""
    """Why no other cluster changes, one sentence; empty: others do."""
    waits: str = ""
    """What those whose turn has not come wait for, one sentence."""
    message: str = ""
    """How far it has come, one sentence."""
    wake: datetime | None = None
    """When time alone changes something."""
    ended: bool = False
    """No cluster waits for its turn, and none is changing."""
    complete: bool = False
    """Every cluster has the newest add-ons, and they are healthy for long enough."""

    def holds(self, cluster: ClusterName, newest: tuple[AddonRef, ...]) -> bool:
        """Whether a cluster keeps or gets back something else than the newest add-ons."""
        turn = self.turns.get(cluster)
        return turn is None or turn.refs != newest


def revision_of(refs: Iterable[AddonRef]) -> str:
    """The digest of a profile's add-ons."""
    return blake2b(msgspec.json.encode(sorted(refs, key=lambda ref: ref.name)), digest_size=5).hexdigest()


def decide(
    plan: RolloutPlan, places: Iterable[ClusterInRollout], granted: Mapping[ClusterName, datetime], now: datetime
) -> Decision:
    """Decide for every cluster; `granted`: when the turn of a cluster has come that does not show it yet."""

    def order(place: ClusterInRollout) -> tuple[int, bool, bytes]:
        """By stage, and within it another order for each revision."""
        text = f"{plan.revision}/{'/'.join(place.cluster)}"
        return place.stage, place.cluster not in granted, blake2b(text.encode(), digest_size=8).digest()

    return _Rollout(plan, tuple(sorted(places, key=order)), granted, now).decide()


class _Rollout:
    """One decision."""

    def __init__(
        self,
        plan: RolloutPlan,
        places: Sequence[ClusterInRollout],
        granted: Mapping[ClusterName, datetime],
        now: datetime,
    ) -> None:
        self.plan = plan
        self.now = now
        self.places = places
        self.since = granted
        self.moved = [each for each in places if self._is_newest(each)]
        self.returned = [each for each in places if each.mark is not None and self._has_returned(each.mark)]
        self.newcomers = dict(self._newcomers())
        shown = {*(each.cluster for each in (*self.moved, *self.returned)), *self.newcomers}
        self.pending = [each for each in places if each.cluster not in shown]
        self.failed = [each for each in self.moved if each.progress.phase is RolloutPhase.FAILED]
        self.flying = [
            each for each in self.moved if each.progress.phase in (RolloutPhase.CHANGING, RolloutPhase.SOAKING)
        ]

    def _is_newest(self, place: ClusterInRollout) -> bool:
        mark = place.mark
        if mark is not None and mark.revision == self.plan.revision:
            return not mark.returned
        return bool(place.refs) and set(place.refs) == set(self.plan.newest)

    def _own(self, place: ClusterInRollout) -> RolloutMark | None:
        """The cluster's mark if this rollout has changed it, and has not ended."""
        mark = place.mark
        return mark if mark is not None and mark.revision == self.plan.revision and not mark.complete else None

    def _has_returned(self, mark: RolloutMark) -> bool:
        return mark.revision == self.plan.revision and mark.returned

    def decide(self) -> Decision:
        """See `decide`."""
        gone_back = [each for each in self.returned if each.mark and each.mark.failed]
        own = [each for each in (*self.failed, *gone_back) if self._own(each)]
        begun: list[ClusterInRollout] = []
        waits, stopped = "", ""
        if self.returned or len(own) > self.plan.spec.max_failures:
            stopped = f"stopped as {len(own)} cluster{'' if len(own) == 1 else 's'} failed"
        else:
            begun, waits = self._begin()
        ended = not (stopped or self.pending or self.flying or self.newcomers)
        failures = [f"{'/'.join(each.cluster)}: {_why(each)}" for each in (*self.failed, *gone_back)]
        message = self._message(len(begun), failures, stopped or waits)
        return Decision(
            dict(self._turns(begun, stopped=bool(stopped), ended=ended)),
            updated=len(self.moved) + len(begun),
            in_flight=len(self.flying) + len(begun),
            failed=len(failures),
            stopped=message if stopped else "",
            waits=waits,
            message=message,
            wake=self._wake(stopped=bool(stopped)),
            ended=ended,
            complete=bool(self.places)
            and ended
            and all(each.progress.phase is RolloutPhase.DONE for each in self.moved),
        )

    def _newcomers(self) -> Iterator[tuple[ClusterName, Turn]]:
        """Clusters that have nothing of the profile get at once what was rolled out completely last."""
        revision = self.plan.revision
        complete = {mark.revision: each.refs for each in self.places if (mark := each.mark) and mark.complete}
        complete |= {revision: self.plan.newest} if revision in complete else {}
        known = [name for name, refs in complete.items() if revision_of(refs) == name]
        best = revision if revision in known else next(iter(known), "")
        for each in self.places if best else ():
            if not each.refs and each.mark is None:
                mark = RolloutMark(revision=best, since=self.since.get(each.cluster, self.now), complete=True)
                yield each.cluster, Turn(revision, complete[best], mark)

    def _begin(self) -> tuple[list[ClusterInRollout], str]:
        """The clusters whose turn it is, and what the others wait for."""
        if not self.pending:
            return [], ""
        if waits := self._closed():
            return [], waits
        following = self.pending[0].stage
        stage = min(each.stage for each in (self.pending[0], *self.flying))
        if stage < following:
            return [], f"next is {self._stage_name(following)}"
        if waits := self._unapproved(stage):
            return [], waits
        here = [each for each in self.pending if each.stage == stage]
        disturbed = sum(map(_is_disturbed, self.pending))
        most = self.plan.spec.max_in_flight
        free = len(here) if most is None else max(0, most - len(self.flying) - disturbed)
        fresh = [each for each in here if not _is_disturbed(each)]
        return [each for each in here if _is_disturbed(each)] + fresh[:free], ""

    def _closed(self) -> str:
        if self.plan.waits:
            return self.plan.waits
        opens = closed_until(self.plan.spec.windows, self.now)
        return f"its next window opens at {opens:%Y-%m-%d %H:%M} UTC" if opens else ""

    def _unapproved(self, stage: int) -> str:
        stages = self.plan.spec.stages
        if stage >= len(stages) or not stages[stage].approval or stages[stage].name in self.plan.approved:
            return ""
        name = stages[stage].name
        return f"stage {name} waits for the annotation alate.dev/approved={name}@{self.plan.revision}"

    def _turns(
        self, begun: Sequence[ClusterInRollout], *, stopped: bool, ended: bool
    ) -> Iterator[tuple[ClusterName, Turn]]:
        revision, newest, back = self.plan.revision, self.plan.newest, stopped and self.plan.spec.roll_back
        yield from ((each.cluster, Turn(revision, None, each.mark)) for each in self.places)
        for each in self.moved:
            own = self._own(each)
            if ended:
                since = each.mark.since if each.mark is not None and each.mark.revision == revision else EPOCH
                yield each.cluster, Turn(revision, newest, RolloutMark(revision=revision, since=since, complete=True))
            elif own is None:
                yield each.cluster, Turn(revision, newest, each.mark)
            else:
                noted = own.but(failed=_noted(each), returned=back)
                yield each.cluster, Turn(revision, own.before if back else newest, noted)
        for each in begun:
            since = self.since.get(each.cluster, self.now)
            yield each.cluster, Turn(revision, newest, RolloutMark(revision=revision, since=since, before=_good(each)))
        yield from self.newcomers.items()

    def _wake(self, *, stopped: bool) -> datetime | None:
        times = [at for each in self.moved if (at := each.progress.until) is not None]
        if self.pending and not stopped and (opens := closed_until(self.plan.spec.windows, self.now)):
            times.append(opens)
        return min(times, default=None)

    def _message(self, begun: int, failures: Sequence[str], more: str) -> str:
        """How far the first stage that is not done has come, or all if every one is."""
        open_ = [each.stage for each in (*self.flying, *self.pending)]
        stage = min(open_) if open_ and self.plan.spec.stages else None
        here = sum(stage in (None, each.stage) for each in self.places)
        done = sum(stage in (None, each.stage) and each.progress.phase is RolloutPhase.DONE for each in self.moved)
        flying = len(self.flying) + begun
        parts = [f"{done} of {here} clusters done"]
        parts += [f"{flying} in flight"] if flying else []
        parts += [f"{len(self.returned)} rolled back"] if self.returned else []
        parts += [f"{len(failures)} failed: {failures[0]}"] if failures else []
        text = ", ".join(parts)
        return f"{f'{self._stage_name(stage)}: ' if stage is not None else ''}{text}{f'; {more}' if more else ''}"

    def _stage_name(self, stage: int) -> str:
        stages = self.plan.spec.stages
        return f"stage {stages[stage].name}" if stage < len(stages) else "the last stage"


def _why(place: ClusterInRollout) -> str:
    """Why a cluster has failed: its mark says it of one that went back, and has other add-ons now."""
    return place.mark.failed if place.mark is not None and place.mark.returned else place.progress.message


def _is_disturbed(place: ClusterInRollout) -> bool:
    """An earlier revision has changed the cluster, which is not done with it."""
    ongoing = place.progress.phase in (RolloutPhase.CHANGING, RolloutPhase.SOAKING)
    return ongoing and place.mark is not None and not place.mark.complete


def _noted(place: ClusterInRollout) -> str:
    """What the cluster's mark says: a failure is forgotten once it is well."""
    return place.progress.message if place.progress.phase is RolloutPhase.FAILED else ""


def _good(place: ClusterInRollout) -> tuple[AddonRef, ...]:
    """What the cluster goes back to: what it has if that was healthy, or else what it had before that."""
    healthy = place.progress.phase in (RolloutPhase.DONE, RolloutPhase.SOAKING)
    return place.refs if healthy or place.mark is None or place.mark.complete else place.mark.before
