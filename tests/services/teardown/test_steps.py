"""Every end comes: what cannot be done in the cluster is given up in time and named, what gives it back never is."""

import msgspec
import pytest

from schemas.addon import Withdrawn
from schemas.cluster import Placing, Ready, Released
from schemas.cluster import Releasing as BeingReleased
from schemas.entity import Due, Wake
from schemas.teardown import (
    Audited,
    Blocked,
    CleanedUp,
    Cleaning,
    Drained,
    Draining,
    Gone,
    Skipped,
    Stuck,
    TeardownReleasing,
    Verifying,
)
from schemas.wish import AddonRef, Adopt, Limits
from services.teardown.steps import REPORT_INTERVAL, RETRY_AFTER, STEP_LIMIT
from services.teardown.todo import todo
from tests.services.teardown.life import ATTEMPT, T0, armed, at, cluster, tell

WORK = "work that was not asked to end, or did not"
OUTSIDE = "load balancers and volumes of the cluster"
LATER = REPORT_INTERVAL.total_seconds()


def written(state, second):
    """As the ledger stores a state."""
    return msgspec.structs.replace(state, since=at(second))


def draining(*, addons=(), **limits):
    state = tell(armed(**limits), cluster(second=1, deleting=True, limits=Limits(**limits), addons=addons))
    assert isinstance(state, Draining)
    return written(state, 0)


def cleaning(*addons, **limits):
    state = tell(draining(addons=tuple(AddonRef(name, "d") for name in addons), **limits), Drained())
    assert isinstance(state, Cleaning)
    return written(state, 0)


def withdrawn(name):
    return Withdrawn(uid="u1", tenant="acme", colony="train", cluster="train-a", addon=name, digest="d")


def wake(state):
    return next(command.at for command in todo(state) if isinstance(command, Wake))


def test_an_end_in_order_skips_nothing_and_says_so():
    state = tell(tell(cleaning("driver"), CleanedUp()), withdrawn("driver"))
    state = tell(tell(state, cluster(Released, 2)), Audited({"machines": 0}))
    assert (type(state), state.skipped) == (Gone, ())


def test_work_that_does_not_end_keeps_no_machine_past_the_drain_timeout():
    state = tell(draining(), Blocked("Draining", "Job default/train still has 2 pods"), LATER)
    assert (state.blocked, wake(state)) == ("Job default/train still has 2 pods", at(300))
    assert tell(state, Due(), 299) is state
    given_up = tell(state, Due(), 300)
    assert (type(given_up), given_up.blocked, given_up.deadline) == (Cleaning, "", at(600))
    why = "not done within 5m: Job default/train still has 2 pods"
    assert given_up.skipped == (Skipped(step="Draining", reason=why, left=WORK),)


def test_what_cannot_be_cleaned_keeps_no_machine_past_the_clean_timeout():
    state = tell(tell(cleaning("driver", "metrics"), withdrawn("driver")), Due(), 300)
    assert isinstance(state, TeardownReleasing)
    left = f"{OUTSIDE}; what add-on metrics made outside the cluster"
    why = "not done within 5m: add-on metrics is not withdrawn yet"
    assert state.skipped == (Skipped(step="Cleaning", reason=why, left=left),)


def test_only_what_was_not_cleaned_is_named_as_left():
    swept = tell(cleaning("driver"), CleanedUp())
    (skipped,) = tell(swept, Due(), 300).skipped
    assert skipped.left == "what add-on driver made outside the cluster"
    off = tell(cleaning("driver"), withdrawn("driver"))
    (skipped,) = tell(off, Due(), 300).skipped
    assert skipped.left == OUTSIDE


def test_how_long_each_step_may_take_is_the_colonys_to_say():
    state = draining(drain_timeout_seconds=60.0, clean_timeout_seconds=90.0)
    assert wake(state) == at(60)
    given_up = tell(state, Due(), 60)
    assert wake(given_up) == at(150)
    assert isinstance(tell(given_up, Due(), 150), TeardownReleasing)


def test_a_limit_that_is_changed_while_the_end_goes_on_counts():
    state = tell(draining(), cluster(second=9, deleting=True, limits=Limits(drain_timeout_seconds=3600.0)), 9)
    assert wake(state) == at(3600)
    again = tell(state, cluster(second=9, deleting=True, limits=Limits(drain_timeout_seconds=3600.0)), 20)
    assert again is state
    assert wake(tell(state, cluster(second=30, deleting=True, limits=Limits(drain_timeout_seconds=60.0)), 30)) == at(60)


def test_an_api_that_never_answers_keeps_its_machines_for_two_minutes_and_no_more():
    state = tell(
        draining(), Blocked("Draining", "the cluster's API cannot be reached: refused", reachable=False), LATER
    )
    assert (state.unreachable, wake(state)) == (True, at(120))
    given_up = tell(state, Due(), 120)
    assert isinstance(given_up, TeardownReleasing)
    why = "its API has not answered for 2m: the cluster's API cannot be reached: refused"
    assert given_up.skipped == (
        Skipped(step="Draining", reason=why, left=WORK), Skipped(step="Cleaning", reason=why, left=OUTSIDE),
    )  # fmt: skip


def test_an_api_that_has_answered_once_gets_the_whole_time():
    for said in ((True, False), (False, True)):
        state = draining()
        for place, heard in enumerate(said, 1):
            state = written(tell(state, Blocked("Draining", f"look {place}", heard), place * LATER), place * LATER)
        assert (state.unreachable, wake(state)) == (False, at(300))


def test_what_blocks_is_written_no_more_often_than_every_few_seconds_and_only_if_it_is_another():
    fresh = draining()
    assert tell(fresh, Blocked("Draining", "2 pods"), LATER - 1) is fresh
    state = written(tell(fresh, Blocked("Draining", "2 pods"), LATER), LATER)
    assert tell(state, Blocked("Draining", "2 pods"), 99) == state
    assert tell(state, Blocked("Draining", "1 pod"), 2 * LATER - 1) is state
    assert tell(state, Blocked("Draining", "1 pod"), 2 * LATER).blocked == "1 pod"
    assert tell(state, Blocked("Cleaning", "an echo"), 99) is state


@pytest.mark.parametrize("step", [draining, lambda: cleaning("driver")], ids=["Draining", "Cleaning"])
def test_force_ends_what_goes_on_in_the_cluster_at_once(step):
    state = tell(step(), cluster(second=9, deleting=True, force=True), 9)
    assert isinstance(state, TeardownReleasing)
    assert {each.reason for each in state.skipped} == {"its end was forced"}
    assert OUTSIDE in state.skipped[-1].left


@pytest.mark.parametrize("before", [None, "armed", "warned"])
def test_what_is_forced_from_the_start_is_given_back_at_once(before):
    known = {None: None, "armed": armed(), "warned": tell(armed(time_to_live_seconds=600.0), Due(), 550)}[before]
    state = tell(known, cluster(second=600, deleting=True, force=True), 600)
    assert (type(state), state.began) == (TeardownReleasing, at(600))
    if known is not None:
        assert [each.step for each in state.skipped] == ["Draining", "Cleaning"]


def test_force_names_nothing_where_nothing_was_ever_up():
    state = tell(None, cluster(Placing, second=1, deleting=True, force=True), 1)
    assert (type(state), state.skipped) == (TeardownReleasing, ())


def test_forcing_what_others_go_on_with_names_no_more_than_the_add_ons_in_it():
    kept, known = Adopt(name="theirs"), (AddonRef("driver", "d"),)
    state = tell(tell(None, cluster(adopt=kept)), cluster(second=1, deleting=True, adopt=kept, addons=known))
    state = tell(state, cluster(second=2, deleting=True, adopt=kept, force=True), 2)
    why = "its end was forced"
    assert state.skipped == (Skipped(step="Cleaning", reason=why, left="what add-on driver put into the cluster"),)


def test_a_cluster_that_is_lost_while_it_drains_is_not_waited_for():
    state = tell(draining(), cluster(Placing, 9, deleting=True), 9)
    assert (type(state), state.skipped[0].reason) == (TeardownReleasing, "the cluster was lost meanwhile")


def test_whoever_asks_for_it_again_meanwhile_asks_for_the_next_one():
    state = draining()
    again = cluster(second=9, limits=Limits(drain_timeout_seconds=60.0))
    again = msgspec.structs.replace(again, wish=msgspec.structs.replace(again.wish, asked_at=at(9)))
    assert tell(state, again, 9).wish.asked_at is None


def releasing():
    return tell(tell(cleaning(), CleanedUp()), Due())


def test_giving_back_cannot_be_skipped_and_is_tried_again_where_it_is_stuck():
    state = releasing()
    assert isinstance(state, TeardownReleasing)
    stuck = tell(state, Due(), STEP_LIMIT.total_seconds())
    assert (type(stuck), stuck.step) == (Stuck, "Releasing")
    assert stuck.message == "Releasing has taken longer than 15 minutes"
    rested = (STEP_LIMIT + RETRY_AFTER).total_seconds()
    assert tell(stuck, Due(), rested - 1) is stuck
    again = tell(stuck, Due(), rested)
    assert (type(again), again.began, again.deadline) == (TeardownReleasing, T0, at(rested) + STEP_LIMIT)


@pytest.mark.parametrize("step", ["Draining", "Cleaning"])
def test_what_an_earlier_release_left_stuck_in_the_cluster_is_given_back(step):
    stuck = draining().to(Stuck, step=step, message=f"{step} has taken longer than 15 minutes", deadline=at(600))
    assert isinstance(tell(stuck, Due(), 600), TeardownReleasing)


def test_why_it_cannot_be_given_back_is_told_and_taken_back():
    def being(second, held):
        known = cluster(second=second, deleting=True)
        return known.to(BeingReleased, reason="Deleted", blocked=held, attempt=ATTEMPT, billed_since=T0)

    held = tell(releasing(), being(5, "no Cluster API"))
    assert held.blocked == "no Cluster API"
    assert tell(held, being(5, "no Cluster API")) is held
    stuck = tell(held, Due(), STEP_LIMIT.total_seconds())
    assert stuck.blocked == "no Cluster API"
    assert tell(stuck, being(6, "")).blocked == ""
    assert tell(stuck, being(4, "")).blocked == "no Cluster API"


def test_the_proof_names_what_was_given_up():
    state = tell(tell(draining(), Due(), 300), Due(), 600)
    assert [each.step for each in state.skipped] == ["Draining", "Cleaning"]
    verifying = tell(state, cluster(Released, 601), 601)
    assert isinstance(verifying, Verifying)
    gone = tell(verifying, Audited({"machines": 0}), 602)
    assert (type(gone), gone.skipped) == (Gone, state.skipped)


def test_the_next_cluster_of_the_name_begins_with_nothing_skipped():
    gone = tell(tell(tell(draining(), Due(), 300), cluster(Released, 301), 301), Audited({}), 302)
    anew = tell(gone, cluster(Ready, 900, uid="u2"), 900)
    ended = tell(anew, cluster(Ready, 901, uid="u2", deleting=True), 901)
    assert (gone.skipped != (), type(ended), ended.skipped) == (True, Draining, ())
