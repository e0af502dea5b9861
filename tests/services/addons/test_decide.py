"""An add-on follows its cluster, its contents and its time, and nothing that comes late."""

from datetime import UTC, datetime, timedelta
from typing import Any

import msgspec
import pytest

from schemas.addon import (
    AddonFailed,
    AddonHealthy,
    AddonLost,
    AddonPending,
    AddonRemoved,
    AddonUnwanted,
    AddonWanted,
    Applied,
    ApplyAddon,
    Applying,
    Degraded,
    Planned,
    RetryAddon,
    WithdrawAddon,
    Withdrawing,
    Withdrawn,
)
from schemas.entity import Due, Wake
from services.addons.decide import LAST_CHECK, RETRY_AFTER, decide
from services.addons.todo import todo

T0 = datetime(2026, 1, 1, tzinfo=UTC)


def wanted(digest="d1", kubeconfig="k1", minute=0, uid="u1"):
    return AddonWanted(
        uid=uid, tenant="acme", colony="train", cluster="train-a", addon="driver", digest=digest,
        correlation="c1", kubeconfig=kubeconfig, as_of=T0 + timedelta(minutes=minute),
    )  # fmt: skip


def tell(state, *events, now=T0):
    for event in events:
        state = decide.decide(state, event, now)
    return state


def applied():
    return tell(None, wanted(), AddonHealthy("d1"))


def test_it_waits_for_its_cluster_then_is_applied():
    planned = tell(None, wanted(kubeconfig=""))
    assert (type(planned), todo(planned)) == (Planned, ())
    applying = tell(planned, wanted(minute=1))
    assert todo(applying) == (
        ApplyAddon("acme", "train", "train-a", "driver", "d1", "k1", uid="u1"),
        Wake(T0 + HEALTHY_WITHIN),
    )
    assert isinstance(tell(applying, AddonHealthy("d1")), Applied)


def test_other_contents_are_applied_and_what_the_old_ones_came_to_counts_no_more():
    state = tell(applied(), wanted("d2", minute=1))
    assert (type(state), state.digest) == (Applying, "d2")
    assert tell(state, AddonHealthy("d1")) is state
    assert tell(state, AddonFailed("d1", "bad")) is state
    assert isinstance(tell(state, AddonHealthy("d2")), Applied)


def test_a_cluster_founded_anew_gets_it_too():
    state = applied()
    assert tell(state, wanted(kubeconfig="", minute=1)) is state
    again = tell(state, wanted(kubeconfig="k2", minute=2))
    assert (type(again), again.kubeconfig) == (Applying, "k2")
    assert tell(again, wanted(kubeconfig="k1", minute=0)) is again


def test_other_contents_while_the_cluster_is_away_are_for_the_cluster_that_was():
    state = tell(applied(), wanted("d2", "", minute=1))
    assert (type(state), state.digest, state.kubeconfig) == (Applying, "d2", "k1")


HEALTHY_WITHIN = timedelta(minutes=10)
LATE = T0 + HEALTHY_WITHIN


def overdue(*told):
    return tell(tell(None, wanted(), *told), Due(), now=LATE)


def test_what_was_applied_and_is_missed_is_told_and_applied_again():
    again = tell(applied(), AddonLost("d1", "ConfigMap x is not there any more"))
    assert (type(again), again.message) == (Applying, "ConfigMap x is not there any more")
    assert again.until == T0 + HEALTHY_WITHIN
    assert isinstance(tell(again, AddonHealthy("d1")), Applied)


def test_what_is_missed_of_other_contents_is_no_news():
    assert tell(applied(), AddonLost("d0", "gone")) == applied()


def test_what_it_lacks_is_told_and_no_more_once_it_is_there():
    state = tell(None, wanted(), AddonPending("d1", "no such kind"))
    assert (type(state), state.message, state.until) == (Applying, "no such kind", LATE)
    command: Any = todo(state)[0]
    assert command.told == "no such kind"
    assert tell(state, AddonPending("d1", "no such kind")) == state
    assert tell(state, AddonPending("d2", "late")) is state
    assert tell(state, AddonPending("d1")) == tell(None, wanted())


def test_what_takes_too_long_is_asked_once_more_what_it_waits_for():
    state = tell(None, wanted())
    assert tell(state, Due(), now=LATE - timedelta(seconds=1)) is state
    last = overdue()
    assert isinstance(last, Applying)
    assert todo(last) == (
        ApplyAddon("acme", "train", "train-a", "driver", "d1", "k1", overdue=True, uid="u1"), Wake(LATE + LAST_CHECK),
    )  # fmt: skip
    assert tell(last, Due(), now=LATE) is last
    assert isinstance(tell(last, AddonHealthy("d1"), now=LATE), Applied)


def test_what_is_not_healthy_in_time_is_degraded_for_what_it_waits_for_and_tried_again_later():
    degraded = tell(overdue(), AddonPending("d1", "0 of 1 ready"), now=LATE)
    assert (type(degraded), degraded.message) == (Degraded, "not healthy within 10 minutes: 0 of 1 ready")
    assert tell(degraded, Due(), now=LATE) is degraded
    again = tell(degraded, Due(), now=LATE + RETRY_AFTER)
    assert (type(again), again.message, again.overdue) == (Applying, "", False)


@pytest.mark.parametrize(("told", "why"), [("", ""), ("no such kind", ": no such kind")])
def test_where_nobody_can_say_what_it_waits_for_it_is_degraded_all_the_same(told, why):
    degraded = tell(overdue(AddonPending("d1", told)), Due(), now=LATE + LAST_CHECK)
    assert (type(degraded), degraded.message) == (Degraded, f"not healthy within 10 minutes{why}")


def test_other_contents_lack_nothing_yet_and_have_all_their_time():
    state = tell(overdue(AddonPending("d1", "no such kind")), wanted("d2", minute=11), now=LATE)
    assert (state.message, state.overdue, state.until) == ("", False, LATE + HEALTHY_WITHIN)


@pytest.mark.parametrize("told", [AddonPending("d1", "no such kind"), AddonFailed("d1", "bad")])
def test_of_what_is_lost_with_its_cluster_nothing_was_left(told):
    assert tell(None, wanted(), told, AddonUnwanted("u1", lost=True)).message == ""


def test_what_cannot_be_applied_says_why_and_is_tried_again_later():
    degraded = tell(None, wanted(), AddonFailed("d1", "no such kind"))
    retry = RetryAddon("acme", "train-a", "driver", "d1")
    assert (degraded.message, todo(degraded)) == ("no such kind", (Wake(T0 + RETRY_AFTER), retry))


def test_a_degraded_addon_is_applied_again_once_what_it_refers_to_has_changed():
    again = tell(None, wanted(), AddonFailed("d1", "bad"), AddonLost("d1", "the values have changed"))
    assert (type(again), again.message) == (Applying, "the values have changed")


@pytest.mark.parametrize("state", [tell(None, wanted()), applied(), tell(None, wanted(), AddonFailed("d1", "bad"))])
def test_it_is_taken_away_and_then_gone(state):
    going = tell(state, AddonUnwanted("u1"))
    assert todo(going) == (WithdrawAddon("acme", "train", "train-a", "driver", "k1", uid="u1", digest="d1"),)
    assert isinstance(tell(going, AddonRemoved()), Withdrawn)


def dropped(minute):
    return AddonUnwanted("u1", dropped=True, stays=True, as_of=T0 + timedelta(minutes=minute))


def test_what_the_colony_asks_for_no_more_is_taken_away_while_the_cluster_goes_on():
    going = tell(applied(), dropped(2))
    assert todo(going) == (
        WithdrawAddon("acme", "train", "train-a", "driver", "k1", dropped=True, stays=True, uid="u1", digest="d1"),
    )
    gone = tell(going, AddonRemoved("a kind is left"))
    assert (type(gone), gone.message) == (Withdrawn, "a kind is left")
    assert tell(gone, wanted(minute=1), dropped(2)) == gone
    assert isinstance(tell(gone, wanted(minute=3)), Applying)


def test_how_it_comes_along_is_told_at_most_every_fifteen_seconds():
    begun, first = tell(None, wanted()), AddonPending("d1", "1 of 3", progress=True)
    early, late = (begun.since + timedelta(seconds=seconds) for seconds in (14, 15))
    assert tell(begun, first, now=early) == begun
    told = tell(begun, first, now=late)
    assert told.message == "1 of 3"
    assert tell(told, first, now=late + timedelta(minutes=1)) == told


def test_what_written_objects_wait_for_is_told_from_the_first_check_and_then_every_fifteen_seconds():
    begun, first = tell(None, wanted()), AddonPending("d1", "0 of 3", progress=True, written=True)
    second = first.but(message="1 of 3")
    at = [begun.since + timedelta(seconds=seconds) for seconds in (0.5, 1)]
    assert tell(begun, first, now=at[0]) == begun
    told = tell(begun, first, now=at[1])
    assert told.message == "0 of 3"
    assert tell(told, second, now=told.since + timedelta(seconds=14)) == told
    assert tell(told, second, now=told.since + timedelta(seconds=15)).message == "1 of 3"


def test_while_it_waits_for_others_its_time_does_not_run():
    gated = tell(None, wanted(), AddonPending("d1", "waits for nfd", gated=True))
    still = tell(gated, Due(), now=LATE)
    assert (type(still), still.overdue, still.until) == (Applying, False, LATE + HEALTHY_WITHIN)
    begun = tell(still, AddonPending("d1"), now=LATE)
    assert (begun.gated, begun.message, begun.until) == (False, "", LATE + HEALTHY_WITHIN)


def test_its_own_limit_counts():
    slow = decide.decide(None, msgspec.structs.replace(wanted(), timeout_seconds=1260.0), T0)
    assert slow.until == T0 + timedelta(minutes=21)


def test_what_a_withdrawal_waits_for_is_kept():
    going = tell(applied(), dropped(2), AddonPending("d1", "waits until jobs is withdrawn"))
    assert (type(going), going.message) == (Withdrawing, "waits until jobs is withdrawn")
    (command,) = todo(going)
    assert isinstance(command, WithdrawAddon)
    assert command.told == going.message


def test_what_is_asked_for_again_while_it_goes_is_put_on_once_it_is_gone():
    going = tell(applied(), dropped(2), wanted("d2", minute=3))
    assert isinstance(going, Withdrawing)
    assert tell(going, wanted(minute=1), dropped(2)) == going
    again = tell(going, AddonRemoved())
    assert (type(again), again.digest) == (Applying, "d2")
    assert isinstance(tell(going, dropped(4), AddonRemoved()), Withdrawn)
    assert isinstance(tell(going, AddonUnwanted("u1"), wanted("d2", minute=5), AddonRemoved()), Withdrawn)


def test_a_late_word_that_it_is_not_asked_for_takes_nothing_away():
    state = tell(applied(), wanted("d2", minute=5))
    assert tell(state, dropped(4)) == state


def test_what_is_not_on_yet_is_not_put_on_by_a_late_word():
    never = tell(None, wanted(kubeconfig=""), dropped(2))
    assert isinstance(never, Withdrawn)
    assert tell(never, wanted(minute=1)) == never


def test_without_a_cluster_there_is_nothing_to_take_away():
    lost = AddonUnwanted("u1", lost=True)
    assert isinstance(tell(applied(), lost), Withdrawn)
    assert isinstance(tell(tell(applied(), AddonUnwanted("u1")), lost), Withdrawn)
    assert isinstance(tell(tell(None, wanted(kubeconfig="")), AddonUnwanted("u1")), Withdrawn)
    assert isinstance(tell(applied(), AddonUnwanted("u1")), Withdrawing)


def test_the_next_incarnation_begins_anew_the_last_ones_echo_does_not():
    gone = tell(applied(), AddonUnwanted("u1", lost=True))
    assert tell(gone, wanted(minute=9)) is gone
    new = tell(gone, wanted(minute=9, uid="u2"))
    assert (type(new), new.uid) == (Applying, "u2")
    over = tell(new, AddonUnwanted("u2", lost=True))
    assert tell(over, wanted(minute=3, uid="u1")) is over
