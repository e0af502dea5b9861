"""A rollout over many clusters: stages, approval, clusters in flight, failures, roll-back, windows, promotion."""

from datetime import timedelta

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from schemas.addon import Applied, Applying, Degraded
from schemas.crds import ClusterSelectorSpec
from schemas.crds.profile import RolloutSpec, StageSpec
from schemas.profile_addons import RolloutMark
from schemas.wish import AddonRef
from services.addons.plan.progress import RolloutPhase
from services.addons.plan.rollout import revision_of
from tests.services.addons.plan.rollout_simulation import NEW, OLD, T0, Simulation, cluster

MINUTE = timedelta(minutes=1)
REVISION = revision_of([NEW])


def spec(stages=(), **written) -> RolloutSpec:
    read = [StageSpec(name=name, clusters=ClusterSelectorSpec(), approval=approval) for name, approval in stages]
    return RolloutSpec(stages=read, **written)


def changed(run: Simulation) -> set[int]:
    return {number for number in range(len(run.stages)) if run.refs[cluster(number)] == (NEW,)}


def settle(run: Simulation, *numbers: int) -> None:
    for number in numbers:
        run.become(Applied, cluster(number))
    run.publish_all()


def test_without_limits_every_cluster_changes_at_once():
    run = Simulation(spec(), [0] * 5)
    run.publish_all()
    assert changed(run) == {0, 1, 2, 3, 4}


def test_the_next_cluster_changes_when_one_has_been_healthy_for_long_enough():
    run = Simulation(spec(max_in_flight=1, soak=5 * MINUTE), [0] * 3)
    run.publish_all()
    (first,) = changed(run)
    run.now += MINUTE
    settle(run, first)
    assert (changed(run), run.decision.wake) == ({first}, run.now + 5 * MINUTE)
    run.now += 5 * MINUTE
    run.publish_all()
    assert len(changed(run)) == 2


def test_the_order_within_a_stage_is_another_for_each_revision():
    firsts = set()
    for digest in "abcdefgh":
        run = Simulation(spec(max_in_flight=1), [0] * 8)
        run.newest = (AddonRef("base.nfd", digest),)
        run.publish_all()
        firsts |= {name for name in run.stages if run.refs[name] == run.newest}
    assert len(firsts) > 3


def test_a_stage_begins_when_the_one_before_is_done():
    run = Simulation(spec([("canary", False)]), [0, 1, 1])
    run.publish_all()
    assert changed(run) == {0}
    assert run.decision.message == ("stage canary: 0 of 1 clusters done, 1 in flight; next is the last stage")
    settle(run, 0)
    assert changed(run) == {0, 1, 2}


def test_a_stage_with_approval_waits_for_that_of_this_revision():
    run = Simulation(spec([("canary", False), ("prod", True)]), [0, 1])
    run.publish_all()
    settle(run, 0)
    assert changed(run) == {0}
    assert run.decision.waits == f"stage prod waits for the annotation alate.dev/approved=prod@{REVISION}"
    run.approved.add("prod")
    run.publish_all()
    assert changed(run) == {0, 1}


def test_more_failures_than_allowed_stop_the_rollout():
    run = Simulation(spec(max_in_flight=1), [0] * 3)
    run.publish_all()
    (first,) = changed(run)
    run.become(Degraded, cluster(first))
    run.publish_all()
    assert changed(run) == {first}
    assert run.decision.stopped == (
        f"0 of 3 clusters done, 1 failed: acme/c{first}: nfd: no GPU; stopped as 1 cluster failed"
    )


def test_a_failure_that_is_tried_again_stays_one_until_the_cluster_is_well():
    run = Simulation(spec(max_in_flight=1), [0] * 3)
    run.publish_all()
    (first,) = changed(run)
    run.become(Degraded, cluster(first))
    run.publish_all()
    run.become(Applying, cluster(first))
    run.publish_all()
    assert (changed(run), bool(run.decision.stopped)) == ({first}, True)
    settle(run, first)
    assert (len(changed(run)), run.decision.stopped) == (2, "")


def test_allowed_failures_give_their_place_to_others():
    run = Simulation(spec(max_in_flight=1, max_failures=1), [0] * 3)
    run.publish_all()
    run.become(Degraded, cluster(next(iter(changed(run)))))
    run.publish_all()
    assert len(changed(run)) == 2


def test_a_cluster_that_is_not_ready_within_the_deadline_has_failed():
    run = Simulation(spec(max_in_flight=1, deadline=3 * MINUTE), [0] * 2)
    run.publish_all()
    assert run.decision.wake == T0 + 3 * MINUTE
    run.now += 3 * MINUTE
    run.publish_all()
    assert "nfd: not ready within 3m" in run.decision.stopped


def test_a_correction_long_after_the_change_has_all_of_its_time():
    run = Simulation(spec(deadline=3 * MINUTE), [0])
    run.publish_all()
    settle(run, 0)
    run.now += timedelta(days=1)
    run.become(Applying, cluster(0))
    assert run.place(cluster(0)).progress.phase is RolloutPhase.CHANGING


def test_clusters_that_changed_go_back_when_the_rollout_stops():
    run = Simulation(spec(max_in_flight=1, roll_back=True), [0] * 3)
    run.publish_all()
    (first,) = changed(run)
    settle(run, first)
    (second,) = changed(run) - {first}
    run.become(Degraded, cluster(second))
    run.publish_all()
    settle(run, 0, 1, 2)
    assert changed(run) == set()
    assert {run.refs[name] for name in run.stages} == {(OLD,)}
    assert f"2 rolled back, 1 failed: acme/c{second}: nfd: no GPU" in run.decision.stopped


def test_a_new_revision_begins_after_a_stop_and_goes_back_to_what_was_healthy():
    run = Simulation(spec(max_in_flight=1, roll_back=True), [0])
    run.spec = spec(max_in_flight=1)
    run.publish_all()
    run.become(Degraded, cluster(0))
    run.publish_all()
    run.newest = (AddonRef("base.nfd", "newer"),)
    run.publish_all()
    assert run.refs[cluster(0)] == run.newest
    mark = run.marks[cluster(0)]
    assert mark is not None
    assert mark.before == (OLD,)


def test_going_back_to_the_old_revision_changes_only_clusters_that_had_changed():
    run = Simulation(spec(max_in_flight=1), [0] * 3)
    run.publish_all()
    run.newest = (OLD,)
    assert run.publish_all() == 1
    assert changed(run) == set()


def test_an_unchanged_cluster_that_is_ill_stops_nothing():
    run = Simulation(spec(), [0, 0])
    run.refs[cluster(0)] = run.newest
    run.become(Degraded, cluster(0))
    run.publish_all()
    assert (changed(run), run.decision.stopped, run.decision.complete) == ({0, 1}, "", False)


def test_changes_begin_only_within_a_window():
    run = Simulation(spec(windows=["0 2 * * 1-5 4h"]), [0])
    run.publish_all()
    assert (changed(run), run.decision.waits) == (set(), "its next window opens at 2026-01-06 02:00 UTC")
    assert run.decision.wake is not None
    run.now = run.decision.wake
    run.publish_all()
    assert changed(run) == {0}


def test_nothing_begins_before_another_profile_is_done():
    run = Simulation(spec(), [0])
    run.waits = "waits for profile staging"
    run.publish_all()
    assert (changed(run), run.decision.waits) == (set(), "waits for profile staging")


@pytest.mark.parametrize("had", [(), (OLD,)])
def test_a_rollout_is_complete_when_all_clusters_are_done(had):
    run = Simulation(spec(), [0, 0], had)
    run.publish_all()
    assert not run.decision.complete
    settle(run, 0, 1)
    assert (run.decision.complete, run.decision.message) == (True, "2 of 2 clusters done")


def completed(had=(OLD,), **written) -> Simulation:
    run = Simulation(spec(**written), [0] * 3, had)
    run.publish_all()
    for _ in run.stages:
        settle(run, 0, 1, 2)
    return run


def test_once_a_rollout_is_complete_a_failure_stops_nothing_and_nothing_goes_back():
    run = completed(roll_back=True)
    run.become(Degraded, cluster(1))
    run.publish_all()
    assert (changed(run), run.decision.stopped, run.decision.failed) == ({0, 1, 2}, "", 1)


def test_a_new_cluster_gets_what_is_rolled_out_completely_at_once():
    run = completed(max_in_flight=1, windows=["0 12 * * * 1h"], had=())
    run.now += timedelta(hours=5)
    run.join(3, stage=0)
    run.publish_all()
    assert run.refs[cluster(3)] == (NEW,)


def test_a_new_cluster_gets_what_was_complete_before_while_a_change_waits():
    run = completed()
    run.newest = (AddonRef("base.nfd", "newer"),)
    run.waits = "waits for profile staging"
    run.join(3, stage=0)
    run.publish_all()
    assert run.refs[cluster(3)] == (NEW,)
    run.waits = ""
    run.publish_all()
    assert run.refs[cluster(3)] == run.newest


def test_clusters_that_an_earlier_revision_is_changing_are_in_flight_and_come_first():
    run = Simulation(spec(max_in_flight=1), [0] * 8)
    run.publish_all()
    (first,) = changed(run)
    run.newest = (AddonRef("base.nfd", "newer"),)
    run.publish_all()
    assert [name for name in run.stages if run.refs[name] == run.newest] == [cluster(first)]


ROLLOUTS = st.builds(
    spec,
    stages=st.sampled_from([(), (("a", False),), (("a", False), ("b", False))]),
    max_in_flight=st.none() | st.integers(1, 4),
    soak=st.sampled_from([None, 2 * MINUTE]),
    deadline=st.sampled_from([None, 3 * MINUTE]),
    max_failures=st.integers(0, 3),
    roll_back=st.booleans(),
)
STEPS = st.lists(
    st.tuples(
        st.sampled_from(["publish", "applied", "failed", "retried", "wait", "restart", "change", "join"]),
        st.integers(0, 7),
    ),
    max_size=60,
)


class Checked(Simulation):
    """A rollout of which every new change is held against what must be true then."""

    def publish(self, name: tuple[str, str]) -> bool:
        before, begins = self.phases(), not self.shows(name)
        newcomer = self.marks[name] is None and not self.refs[name]
        written = super().publish(name)
        mark = self.marks[name]
        if written and begins and self.shows(name) and not (newcomer and mark and mark.complete):
            self._check_begun(before, name)
        return written

    def _check_begun(self, before: dict[tuple[str, str], str], name: tuple[str, str]) -> None:
        most = self.spec.max_in_flight
        assert most is None or len(self.ongoing() - {name}) < most
        for earlier in (each for each in self.stages if self.stages[each] < self.stages[name]):
            assert before.get(earlier) in (RolloutPhase.DONE, RolloutPhase.FAILED)
        marks = [self.marks[each] for each in self.stages if self.shows(each)]
        assert sum(mark is not None and bool(mark.failed or mark.returned) for mark in marks) <= self.spec.max_failures

    def ongoing(self) -> set[tuple[str, str]]:
        """Clusters that are changing, except those that came after all others were done."""
        marked = {name for name, mark in self.marks.items() if mark is not None and not mark.complete}
        return {
            name for name in marked if self.place(name).progress.phase in (RolloutPhase.CHANGING, RolloutPhase.SOAKING)
        }

    def restart(self) -> None:
        self.granted = {}
        self.decide()


def take(run: Checked, step: str, number: int) -> None:
    name = cluster(number % len(run.stages))
    if step == "wait":
        run.now += timedelta(minutes=number)
    elif step == "change":
        run.newest = (AddonRef("base.nfd", f"new{number}"),)
    elif step == "join" and len(run.stages) < 12:
        run.join(len(run.stages), stage=0)
    elif step == "restart":
        run.restart()
    elif run.marks[name] is not None and step in ("applied", "failed", "retried"):
        run.become({"applied": Applied, "failed": Degraded, "retried": Applying}[step], name)
    run.decide()
    if step == "publish":
        run.publish(name)


@given(rollout=ROLLOUTS, stages=st.lists(st.integers(0, 2), min_size=1, max_size=8), steps=STEPS)
@settings(max_examples=300, deadline=None)
def test_in_any_history_limits_hold_and_everything_ends(rollout, stages, steps):
    run = Checked(rollout, [min(stage, len(rollout.stages)) for stage in stages])
    run.decide()
    for step, number in steps:
        take(run, step, number)
    run.publish_all()
    assert run.computed({}) == run.decision, "a restart decides the same"
    for _ in range(2 * len(run.stages)):
        for name in run.stages:
            if run.place(name).progress.phase is RolloutPhase.CHANGING:
                run.become(Applied, name)
        run.now += 2 * MINUTE
        run.publish_all()
    assert run.decision.complete or run.decision.stopped or run.decision.failed
    assert not run.decision.in_flight
    run.restart()
    assert run.publish_all() == 0, "a restart writes nothing"


@given(rollout=ROLLOUTS, steps=STEPS)
@settings(max_examples=100, deadline=None)
def test_after_the_stop_nobody_begins(rollout, steps):
    run = Checked(rollout, [0] * 8)
    run.publish_all()
    for name in run.phases():
        run.become(Degraded, name)
    run.publish_all()
    if not run.decision.stopped:
        return
    begun = {name for name in run.stages if run.shows(name)}
    for step, number in steps:
        if step not in ("applied", "change"):
            take(run, step, number)
    assert begun == {name for name in run.stages if run.shows(name)}


def test_the_mark_of_a_cluster_says_what_it_was_given_and_what_it_had():
    run = Simulation(spec(), [0])
    run.publish_all()
    assert run.marks[cluster(0)] == RolloutMark(revision=REVISION, since=T0, before=(OLD,))
