"""When a cluster's time is up, when that is said, and what takes it back."""

import msgspec
import pytest

from schemas.cluster import Hibernated, Placing, Provisioned, Released
from schemas.entity import Due, Wake
from schemas.inventory import ClusterSeen
from schemas.teardown import Armed, Audited, Draining, Gone, Verifying, Warned
from schemas.wish import Limits
from services.teardown.decide import decide
from services.teardown.lifetime import next_end, warn_at
from services.teardown.steps import RETRY_AFTER, STEP_LIMIT
from services.teardown.todo import todo
from tests.services.teardown.life import T0, armed, at, cluster, tell


def used(idle_since=None, **shown):
    return ClusterSeen(cluster="train-a", uid="u1", nodes=1, accelerators=8, idle_since=idle_since, **shown)


def test_time_to_live_counts_from_the_first_time_it_was_ready():
    state = tell(None, cluster(Provisioned, limits=Limits(time_to_live_seconds=3600.0)))
    assert (next_end(state), todo(state)) == (None, ())
    state = tell(state, cluster(second=100, limits=Limits(time_to_live_seconds=3600.0)))
    assert next_end(state) == (at(3700), "TimeToLive")
    again = tell(state, cluster(second=900, limits=Limits(time_to_live_seconds=3600.0)))
    assert next_end(again) == (at(3700), "TimeToLive")


def test_without_a_limit_nobody_is_woken():
    assert todo(armed()) == ()


@pytest.mark.parametrize(
    ("idle_since", "end"), [(None, None), (-50.0, 600.0), (40.0, 640.0)], ids=["in use", "never used", "let go"]
)
def test_idleness_counts_from_the_last_accelerator_let_go_and_never_from_before_it_was_ready(idle_since, end):
    state = tell(armed(idle_after_seconds=600.0), used(None if idle_since is None else at(idle_since)))
    assert next_end(state) == (None if end is None else (at(end), "Idle"))


def test_the_nearest_limit_counts():
    state = tell(armed(time_to_live_seconds=500.0, idle_after_seconds=600.0), used(at(0)))
    assert next_end(state) == (at(500), "TimeToLive")
    state = tell(armed(time_to_live_seconds=700.0, idle_after_seconds=600.0), used(at(0)))
    assert next_end(state) == (at(600), "Idle")


@pytest.mark.parametrize(("before", "warned"), [(60.0, 3540.0), (300.0, 3300.0), (1800.0, 1800.0), (9000.0, 1800.0)])
def test_it_is_warned_as_early_as_asked_but_never_in_the_first_half(before, warned):
    state = armed(time_to_live_seconds=3600.0, warn_before_seconds=before)
    assert todo(state) == (Wake(at(warned)),)
    assert warn_at(state, at(3600)) == at(warned)
    assert tell(state, Due(), warned - 1) is state
    assert tell(state, Due(), warned) == msgspec.structs.replace(state.to(Warned, reason="TimeToLive", until=at(3600)))


def test_it_goes_when_the_warned_time_has_come_and_not_before():
    state = tell(armed(time_to_live_seconds=3600.0), Due(), 3500)
    assert todo(state) == (Wake(at(3600)),)
    assert tell(state, Due(), 3599) is state
    gone = tell(state, Due(), 3600)
    assert (type(gone), gone.reason, gone.deadline) == (Draining, "TimeToLive", at(3900))


def test_a_limit_that_was_moved_takes_its_warning_back():
    state = tell(armed(time_to_live_seconds=3600.0), Due(), 3500)
    longer = tell(state, cluster(second=3500, limits=Limits(time_to_live_seconds=7200.0)))
    assert isinstance(longer, Armed)
    assert next_end(longer) == (at(7200), "TimeToLive")
    same = tell(state, cluster(second=3500, limits=Limits(time_to_live_seconds=3600.0)))
    assert isinstance(same, Warned)


def test_work_takes_a_warning_for_idleness_back_but_not_one_for_age():
    idle = tell(tell(armed(idle_after_seconds=600.0), used(at(0))), Due(), 550)
    assert isinstance(tell(idle, used(None)), Armed)
    assert tell(idle, used(None, known=False)) is idle
    old = tell(armed(time_to_live_seconds=600.0), Due(), 550)
    assert isinstance(tell(old, used(at(5))), Warned)


def asleep(second, *, hibernate, **limits):
    state = cluster(Hibernated if hibernate else Provisioned, second, limits=Limits(**limits))
    need = msgspec.structs.replace(state.wish.need, hibernate=hibernate)
    return msgspec.structs.replace(state, wish=msgspec.structs.replace(state.wish, need=need))


def test_idleness_ends_nothing_that_hibernates_and_its_time_to_live_goes_on():
    limits = {"idle_after_seconds": 600.0, "time_to_live_seconds": 3600.0}
    warned = tell(tell(armed(**limits), used(at(0))), Due(), 550)
    resting = tell(warned, asleep(560, hibernate=True, **limits))
    assert (type(resting), next_end(resting)) == (Armed, (at(3600), "TimeToLive"))


def test_a_cluster_that_woke_is_idle_from_when_its_accelerators_could_be_taken():
    limits = {"idle_after_seconds": 600.0}
    woken = tell(tell(armed(**limits), asleep(560, hibernate=True, **limits)), asleep(9000, hibernate=False, **limits))
    assert next_end(tell(woken, used(None), 9001)) is None
    assert next_end(tell(woken, used(at(9100)), 9100)) == (at(9700), "Idle")


def test_a_cluster_that_is_not_heard_is_not_taken_for_idle():
    state = armed(idle_after_seconds=600.0)
    assert tell(state, used(at(0), known=False)) is state


def test_a_deletion_ends_it_at_once_whatever_its_limits():
    for state in (None, armed(time_to_live_seconds=3600.0), tell(armed(time_to_live_seconds=3600.0), Due(), 3500)):
        gone = tell(state, cluster(second=10, deleting=True))
        assert (type(gone), gone.reason) == (Draining, "Deleted")


def test_an_old_state_of_the_cluster_makes_it_forget_nothing():
    ready = tell(None, cluster(second=50, limits=Limits(time_to_live_seconds=3600.0)))
    assert tell(ready, cluster(Placing, second=10)) is ready


def test_a_proof_that_could_not_be_had_is_looked_for_again_without_another_release():
    state = tell(armed(), cluster(Released, second=1))
    assert isinstance(state, Verifying)
    assert tell(state, Audited({"machines": 1})) is state
    stuck = tell(state, Due(), STEP_LIMIT.total_seconds())
    again = tell(stuck, Due(), (STEP_LIMIT + RETRY_AFTER).total_seconds())
    assert isinstance(again, Verifying)
    proven = tell(again, Audited({"machines": 0}))
    assert (type(proven), proven.proof) == (Gone, {"machines": 0})


def test_the_predecessors_echo_arms_nothing():
    gone = tell(tell(None, cluster(Released, second=500, uid="u2")), Audited({"machines": 0}))
    assert isinstance(gone, Gone)
    assert tell(gone, cluster(second=100, uid="u1")) is gone
    assert tell(gone, cluster(Released, second=101, uid="u1")) is gone
    assert isinstance(tell(gone, cluster(second=900, uid="u3")), Armed)


@pytest.mark.parametrize("second", [1, 2, 3], ids=["while it ends", "while that is proven", "after that"])
def test_the_proof_of_what_is_asked_for_no_more_need_not_be_kept(second):
    state = decide.decide(None, cluster(), T0)
    for place, event in enumerate((cluster(Released, 1), Audited({"machines": 0})), 1):
        state = decide.decide(state, cluster(Released, 1, deleting=True) if second == place else event, T0)
        state = decide.decide(state, event, T0)
    assert (type(state), state.needed) == (Gone, second == 3)
    assert not decide.decide(state, cluster(Released, 1, deleting=True), T0).needed
