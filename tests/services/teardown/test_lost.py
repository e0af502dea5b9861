"""What is lost cannot be cleaned: what may be left of it is named until the end, whoever comes after it."""

import pytest

from schemas.cluster import Pending, Placing, Ready, Released
from schemas.teardown import Armed, Draining, Gone, Skipped, Stuck, TeardownReleasing, Verifying
from services.gateway.status.colony import cluster_status
from services.gateway.status.facts import Facts
from services.gateway.status.previous import PreviousConditions
from tests.services.teardown.life import T0, armed, at, cluster, tell

LOST = Skipped(
    step="Cleaning", reason="the cluster was lost meanwhile", left="load balancers and volumes of the cluster"
)


def ending(kind, **more):
    state = tell(armed(), cluster(second=1, deleting=True), 1)
    return state.to(kind, deadline=at(900), **more)


def test_what_may_be_left_of_a_cluster_that_was_lost_while_it_lived_is_named_to_the_end():
    lost = tell(armed(), cluster(Placing, 9), 9)
    again = tell(tell(lost, cluster(Ready, 20), 20), cluster(Placing, 30), 30)
    gone = tell(again, cluster(Released, 40), 40).to(Gone, proof={})
    assert lost.skipped == again.skipped == gone.skipped == (LOST,)


@pytest.mark.parametrize("state", [armed(), ending(Draining)], ids=["living", "draining"])
def test_what_may_be_left_of_a_cluster_that_vanished_is_named(state):
    state = tell(state, cluster(Released, 9), 9)
    assert (type(state), state.skipped) == (Verifying, (LOST,))


def test_what_is_given_up_of_a_cluster_that_was_lost_once_is_named_beside_it_and_can_be_shown():
    lost = tell(tell(armed(), cluster(Placing, 9), 9), cluster(Ready, 20), 20)
    forced = tell(tell(lost, cluster(Ready, 30, deleting=True), 30), cluster(Ready, 31, deleting=True, force=True), 31)
    assert [each.step for each in forced.skipped] == ["Cleaning", "Draining", "Cleaning"]
    shown = cluster_status(
        Facts(forced.wish, cluster=cluster(Ready, 30), teardown=forced), PreviousConditions(3)
    ).teardown
    assert [each.step for each in shown.skipped] == ["Cleaning", "Draining", "Cleaning"]


def test_a_cluster_that_never_was_up_leaves_nothing_to_name():
    state = tell(tell(None, cluster(Placing)), cluster(Released, 9), 9)
    assert (type(state), state.skipped) == (Verifying, ())


@pytest.mark.parametrize(
    "before",
    [
        ending(TeardownReleasing),
        ending(Verifying),
        ending(Stuck, step="Verifying", message="Verifying has taken longer than 15 minutes"),
    ],
    ids=["releasing", "verifying", "stuck"],
)
def test_a_cluster_that_is_founded_anew_waits_for_no_proof_of_the_one_before(before):
    state = tell(before, cluster(Pending, 9, uid="u2"), 9)
    assert (type(state), state.uid) == (Armed, "u2")


def test_what_was_left_of_the_one_before_stays_named():
    state = tell(ending(Verifying, skipped=(LOST,)), cluster(Pending, 9, uid="u2"), 9)
    assert state.skipped == (LOST,)


def test_a_late_word_of_an_earlier_incarnation_ends_no_proof():
    before = ending(Verifying)
    assert before.as_of > T0
    assert tell(before, cluster(Ready, -9, uid="u0"), 9) is before
