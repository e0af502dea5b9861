"""Money is lost where a cluster is forgotten: no attempt ever is, whatever happens in whatever order."""

from datetime import UTC, datetime, timedelta
from itertools import pairwise

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from schemas.attempts import AttemptBlocked, AttemptGone, LaunchFailed, MarketChanged, Observe, Rank, Release
from schemas.cluster import Launching, Pending, Placed, Placing, Provisioned, Ready, Released, Stalled, Waiting
from schemas.entity import Due, Wake
from schemas.infra import InfraSeen
from schemas.inventory import REFUSED, ClusterSeen, Trouble
from schemas.placement import Lot, Placement, Ranked
from schemas.teardown import TeardownReleasing
from schemas.wish import AddonRef, Adopt, Limits, Need, Pool, Wish
from services.provisioning.lifecycle.decide import decide
from services.provisioning.lifecycle.launch import JOIN_LIMIT, LAUNCH_LIMIT
from services.provisioning.lifecycle.request import SETTLE_TIME
from services.provisioning.lifecycle.todo import todo
from tests.examples import examples

T0 = datetime(2026, 1, 1, tzinfo=UTC)
NEED = Need(pools=(Pool(name="gpu", accelerator="H100", accelerators_per_node=8, nodes=2),))
WISH = Wish(tenant="acme", colony="train", cluster="a", uid="c1", generation=1, need=NEED)


def place(cloud: str, price: float) -> Placement:
    lot = Lot(
        pool="gpu", instance="x8", zone="", accelerator="H100", accelerators_per_node=8,
        nodes=2, price_per_hour=price, spot=False,
    )  # fmt: skip
    return Placement(cloud=cloud, region="r", lots=(lot,))


SPOT_LOT = msgspec.structs.replace(place("aws", 1.0).lots[0], spot=True)
OFFERS = Ranked((place("aws", 1.5), place("gcp", 2.0)))
NONE = Ranked((), "NoOfferFits", "no offer has it")


def tell(state, *events, now=T0):
    for event in events:
        state = decide.decide(state, event, now)
    return state


def seen(state, *, attempt=None, **shown) -> InfraSeen:
    number = attempt or state.attempt.number
    return InfraSeen(cluster="train-a", uid=state.uid, attempt=number, **shown)


def counted(state, nodes, attempt=None, **shown) -> ClusterSeen:
    number = attempt or state.attempt.number
    return ClusterSeen(cluster="train-a", uid=state.uid, attempt=number, nodes=nodes, accelerators=8 * nodes, **shown)


def order(state) -> TeardownReleasing:
    return TeardownReleasing(uid=state.uid, wish=WISH, reason="Deleted", deadline=T0)


def launching():
    return tell(None, WISH, OFFERS)


def provisioned():
    state = launching()
    return tell(state, seen(state, reachable=True))


def ready():
    state = provisioned()
    return tell(state, counted(state, 2))


def refounded():
    state = ready()
    state = tell(state, seen(state, present=False), OFFERS)
    return tell(state, seen(state, reachable=True))


def test_a_wish_is_placed_on_the_best_offer_and_knows_the_next_best():
    state = launching()
    assert isinstance(state, Launching)
    assert (state.attempt.placement.cloud, state.next_best_per_hour) == ("aws", 4.0)
    assert state.deadline == T0 + LAUNCH_LIMIT


@pytest.mark.parametrize("reason", ["BadTemplate", "OnePool", "UnknownBackend", "BadConfiguration"])
def test_what_is_wrongly_configured_stalls_until_another_wish_comes(reason):
    state = tell(None, WISH, Ranked((), reason, "no such thing"))
    assert isinstance(state, Stalled)
    assert todo(state) == ()
    assert tell(state, WISH) is state
    newer = msgspec.structs.replace(WISH, generation=2)
    assert isinstance(tell(state, newer), Pending)


@pytest.mark.parametrize("asked", ["theirs", ""])
def test_what_was_found_for_a_wish_that_took_in_another_cluster_or_none_is_no_answer(asked):
    adopt = Adopt(name=asked) if asked else None
    waiting = tell(None, msgspec.structs.replace(WISH, need=msgspec.structs.replace(WISH.need, adopt=adopt)))
    for other in {"", "theirs", "others"} - {asked}:
        for found in ((), OFFERS.placements):
            assert tell(waiting, Ranked(found, "NothingToAdopt", "there is none", other)) is waiting
    assert tell(waiting, Ranked(OFFERS.placements, adopts=asked)).attempt.adopts == asked


def test_what_failed_is_released_before_the_next_offer_is_asked_for():
    state = launching()
    state = tell(state, LaunchFailed(1, "NoCapacity", "none there"))
    assert todo(state) == (Release(WISH, state.attempt),)
    state = tell(state, AttemptGone(1), now=T0 + timedelta(hours=2))
    assert [(a.number, a.reason) for a in state.failed_attempts] == [(1, "NoCapacity")]
    assert state.cost_usd == 6.0
    assert isinstance(tell(state, OFFERS), Launching)


@pytest.mark.parametrize("event", [LaunchFailed(1, "NoCapacity", "none there"), order(launching())])
def test_what_is_held_of_a_release_is_known_until_it_is_over_and_no_longer(event):
    state = tell(launching(), event, AttemptBlocked(1, "no kind"))
    assert todo(state) == (Release(WISH, state.attempt, told="no kind"),)
    assert tell(state, AttemptBlocked(2, "another's")) is state
    assert tell(state, AttemptBlocked(1)).blocked == ""
    after = tell(state, AttemptGone(1))
    assert getattr(after, "blocked", "") == ""


def test_a_failure_the_cloud_reports_later_makes_it_fall_back_too():
    state = launching()
    state = tell(state, seen(state, failure="NoCapacity", message="InsufficientInstanceCapacity"))
    assert isinstance(state, Placing)
    assert state.attempt.reason == "NoCapacity"


def test_a_launch_that_never_ends_is_given_up_at_its_deadline_and_not_before():
    state = launching()
    assert tell(state, Due(), now=state.deadline - timedelta(seconds=1)) is state
    assert tell(state, Due(), now=state.deadline).attempt.reason == "TimeOut"


def test_what_answers_and_never_has_its_accelerators_is_given_up_for_another_reason():
    state = provisioned()
    assert tell(state, Due(), now=state.deadline).attempt.reason == "NeverReady"


def test_while_it_waits_it_asks_what_was_seen_before_it_did():
    for state in (launching(), provisioned()):
        assert Observe(WISH, state.attempt) in todo(state)
        assert Wake(state.deadline) in todo(state)


def test_it_is_ready_only_with_every_node_and_every_accelerator():
    state = provisioned()
    assert state.deadline == T0 + JOIN_LIMIT
    assert tell(state, counted(state, 1)) is state
    assert tell(state, counted(state, 2, known=False)) is state
    assert isinstance(tell(state, counted(state, 2)), Ready)


def test_machines_that_turn_out_not_to_be_had_once_the_api_answers_are_looked_for_elsewhere():
    state = provisioned()
    failed = tell(state, seen(state, reachable=True, failure="NoCapacity", message="no p5"))
    assert (type(failed), failed.attempt.reason, failed.attempt.message) == (Placing, "NoCapacity", "no p5")
    assert isinstance(tell(state, seen(state, attempt=9, reachable=True, failure="NoCapacity")), Provisioned)


def test_one_that_was_whole_or_only_grows_is_not_given_up_for_machines_that_are_not_to_be_had():
    was_whole = tell(ready(), counted(ready(), 1))
    larger = msgspec.structs.replace(NEED, pools=(msgspec.structs.replace(NEED.pools[0], nodes=3),))
    growing = tell(provisioned(), msgspec.structs.replace(WISH, generation=2, need=larger))
    for state in (was_whole, growing):
        assert tell(state, seen(state, reachable=True, failure="NoCapacity")) is state


def test_one_that_is_not_heard_stays_ready_one_that_has_less_does_not():
    state = ready()
    assert tell(state, counted(state, 1, known=False)) is state
    assert isinstance(tell(state, counted(state, 1)), Provisioned)


@pytest.mark.parametrize(("zoneless", "zone"), [(True, ""), (False, "z1")])
def test_what_failed_where_no_zone_was_asked_for_failed_in_no_zone(zoneless, zone):
    zoned = msgspec.structs.replace(place("aws", 1.5).lots[0], zone="z1")
    state = tell(None, WISH, Ranked((msgspec.structs.replace(place("aws", 1.5), lots=(zoned,)),)))
    failed = tell(state, seen(state, failure="NoCapacity", message="no x8", zoneless=zoneless))
    assert (failed.attempt.reason, failed.attempt.placement.lots[0].zone) == ("NoCapacity", zone)


def test_what_lies_beneath_the_back_ends_object_decides_nothing():
    beneath = {"backend": "capi"}
    assert tell(launching(), seen(launching(), reachable=True, **beneath)) == launching()
    assert tell(launching(), seen(launching(), failure="NoCapacity", **beneath)) == launching()
    assert tell(ready(), seen(ready(), present=False, **beneath)) == ready()
    at_home = tell(launching(), seen(launching(), reachable=True, backend="k0rdent"))
    assert isinstance(at_home, Provisioned)


def lent():
    state = launching()
    return tell(state, seen(state, reachable=True, kubeconfig="theirs"))


def refusal(state, **shown):
    troubles = (Trouble(reason=REFUSED, message="401 Unauthorized"),)
    return counted(state, 0, known=False, degraded=troubles, **shown)


def test_what_is_lent_is_opened_by_the_kubeconfig_that_was_there_before():
    state = lent()
    assert (state.kubeconfig, state.lent) == ("theirs", True)
    assert (provisioned().kubeconfig, provisioned().lent) == ("train-a-1-kubeconfig", False)
    whole = tell(state, counted(state, 2))
    assert (type(whole), whole.lent) == (Ready, True)


def test_what_is_lent_and_does_not_let_us_in_is_given_up_as_denied():
    state = lent()
    assert tell(state, refusal(state, attempt=9)) is state
    failed = tell(state, refusal(state))
    told = "the kubeconfig in Secret theirs does not open its cluster: 401 Unauthorized"
    assert (type(failed), failed.attempt.reason, failed.attempt.message) == (Placing, "Denied", told)
    refounded = tell(failed, AttemptGone(1), OFFERS)
    assert (type(refounded), refounded.lent) == (Launching, False)


def test_what_is_new_and_does_not_let_us_in_yet_is_waited_for_and_so_is_what_was_whole():
    state = provisioned()
    assert tell(state, refusal(state)) is state
    was_whole = tell(lent(), counted(lent(), 2), counted(lent(), 1))
    assert tell(was_whole, refusal(was_whole)) is was_whole


def test_a_lost_cluster_is_founded_anew_elsewhere():
    state = ready()
    lost = tell(state, seen(state, present=False))
    assert isinstance(lost, Placing)
    assert [a.reason for a in lost.failed_attempts] == ["Lost"]
    assert tell(lost, seen(state, present=False)) == lost


def test_what_the_lost_cluster_had_does_not_make_its_successor_ready():
    state = refounded()
    assert isinstance(state, Provisioned)
    assert tell(state, counted(state, 2, attempt=1)) is state
    whole = tell(state, counted(state, 2))
    assert isinstance(whole, Ready)
    assert tell(whole, counted(state, 0, attempt=1)) is whole


def ended(wish=WISH, heard=WISH):
    """Its time was up; `heard` is what its end was decided on."""
    state = tell(ready(), wish)
    return tell(state, TeardownReleasing(uid=state.uid, wish=heard, reason="TimeToLive", deadline=T0), AttemptGone(1))


LATER = msgspec.structs.replace(WISH, generation=2, asked_at=T0)


@pytest.mark.parametrize(
    "edit",
    [
        {},
        {"need": Need(pools=NEED.pools, regions=("r",))},
        {"limits": Limits(time_to_live_seconds=9e9)},
        {"addons": (AddonRef("driver", "d1"),)},
        {"event": "e2"},
    ],
    ids=str,
)
def test_what_ended_of_itself_is_founded_again_by_no_edit(edit):
    gone = ended()
    assert isinstance(gone, Released)
    assert tell(gone, msgspec.structs.replace(WISH, generation=2, **edit)) is gone


def test_what_ended_of_itself_is_founded_again_once_it_is_asked_for_later():
    anew = tell(ended(), LATER)
    assert (type(anew), anew.uid, anew.wish) == (Pending, "c1.2", LATER)


def test_what_was_asked_for_before_it_ended_is_not_founded_again_however_often_that_is_heard():
    gone = ended(wish=LATER, heard=LATER)
    for edit in ({}, {"generation": 3}, {"generation": 3, "asked_at": T0 - timedelta(1)}, {"asked_at": None}):
        assert tell(gone, msgspec.structs.replace(LATER, **edit)) is gone
    older = msgspec.structs.replace(LATER, generation=1, asked_at=T0 + timedelta(1))
    assert tell(gone, older) is gone


def test_what_is_asked_for_once_its_end_is_decided_is_founded_again():
    gone = ended(wish=LATER, heard=WISH)
    assert isinstance(tell(gone, LATER), Pending)
    assert isinstance(tell(ended(), msgspec.structs.replace(LATER, deleting=True)), Released)


def test_what_is_asked_for_again_while_it_goes_is_not_taken_for_its_end():
    state = ready()
    deleted = msgspec.structs.replace(WISH, generation=2, deleting=True)
    going = tell(state, deleted, order(state))
    again = msgspec.structs.replace(WISH, generation=3)
    assert tell(going, again) is going
    gone = tell(going, AttemptGone(1))
    assert gone.wish == tell(going).wish
    anew = tell(gone, again)
    assert (type(anew), anew.uid) == (Pending, "c1.3")


def test_a_deletion_that_is_heard_first_is_the_end_of_what_never_began():
    state = tell(None, msgspec.structs.replace(WISH, deleting=True))
    assert isinstance(state, Released)
    assert state.attempts == 0


def waiting(now=T0, state=None):
    return tell(state, WISH, NONE, now=now)


def test_where_nothing_fits_the_market_is_asked_again_after_as_long_as_it_has_been_so():
    state, waits = waiting(), []
    for _ in range(8):
        waits.append((state.until - state.short_since) / timedelta(minutes=1))
        assert todo(state) == (Wake(state.until),)
        assert tell(state, Due(), now=state.until - timedelta(seconds=1)) is state
        asking = tell(state, Due(), now=state.until)
        assert todo(asking) == (Rank(WISH, ()),)
        state = tell(asking, NONE, now=state.until)
    assert waits[0] == pytest.approx(1, rel=0.1)
    assert all(1.8 <= later / sooner <= 2.2 for sooner, later in pairwise(waits[:4]))
    last = state.until - tell(asking, NONE, now=T0 + timedelta(days=9)).short_since
    assert last < timedelta(days=9, minutes=34)


def test_a_crowd_of_changes_on_the_market_makes_it_ask_once_and_soon():
    state = tell(waiting(), Due(), NONE, now=T0 + timedelta(hours=9))
    now = T0 + timedelta(hours=9, minutes=5)
    sooner = tell(state, MarketChanged(), now=now)
    assert sooner.until == now + SETTLE_TIME < state.until
    assert tell(sooner, MarketChanged(), now=now + timedelta(seconds=9)) == sooner


def test_what_waits_goes_at_once_when_it_is_no_more_wanted_and_starts_anew_with_another_wish():
    state = waiting()
    assert isinstance(tell(state, order(state)), Released)
    assert isinstance(tell(state, msgspec.structs.replace(WISH, generation=2)), Pending)
    deleted = tell(state, msgspec.structs.replace(WISH, generation=2, deleting=True))
    assert (type(deleted), todo(deleted)) == (Waiting, ())


def test_what_failed_long_ago_is_forgotten_when_the_market_is_asked_again():
    state = launching()
    state = tell(state, LaunchFailed(1, "NoCapacity", "none"), AttemptGone(1), NONE)
    at = (state.until, T0 + timedelta(hours=9))
    assert [len(tell(state, Due(), now=now).failed_attempts) for now in at] == [1, 0]


def test_spot_machines_taken_away_are_counted_and_told_apart_from_those_that_never_came():
    spot = Ranked((msgspec.structs.replace(place("aws", 1.0), lots=(SPOT_LOT,)),))
    state = tell(None, WISH, spot)
    state = tell(state, seen(state, reachable=True))
    state = tell(state, counted(state, 2), counted(state, 1))
    assert (type(state), state.interruptions) == (Provisioned, 1)
    state = tell(state, counted(state, 2), counted(state, 1), counted(state, 2), counted(state, 0))
    assert state.interruptions == 3
    lost = tell(state, Due(), now=state.deadline)
    assert lost.attempt.reason == "Interrupted"
    looking = tell(lost, AttemptGone(1))
    assert todo(looking) == (Rank(WISH, looking.failed_attempts, steady=True),)


def test_on_demand_machines_that_fail_are_no_interruption():
    state = tell(ready(), counted(ready(), 1))
    assert state.interruptions == 0
    assert tell(state, Due(), now=state.deadline).attempt.reason == "NeverReady"


def happenings(state):
    """What can be said of a cluster now, true or late."""
    wish = state.wish if state else WISH
    newer = msgspec.structs.replace(wish, generation=wish.generation + 1)
    yield from (newer, msgspec.structs.replace(newer, deleting=True), WISH)
    if state is None:
        return
    yield from (Due(), OFFERS, NONE, MarketChanged(), order(state))
    for number in range(1, state.attempts + 1):
        yield LaunchFailed(number, "NoCapacity", "none")
        for shown in ({"reachable": True}, {"failure": "Quota"}, {"present": False}):
            yield seen(state, attempt=number, **shown)
        yield from (counted(state, 2, attempt=number), counted(state, 1, attempt=number))
    yield from (AttemptGone(c.attempt.number) for c in todo(state) if isinstance(c, Release))


def confirmed(state, event) -> set[tuple[str, int]]:
    """The attempts that are known to be gone by an event."""
    absent = isinstance(event, AttemptGone) or (isinstance(event, InfraSeen) and not event.present)
    # While it is being made its absence says nothing: it is asked for again.
    return {(state.uid, event.attempt)} if absent and not isinstance(state, Launching) else set()


@settings(max_examples=examples(300), deadline=None)
@given(st.lists(st.tuples(st.integers(0, 10_000), st.sampled_from((0, 60, 7200))), max_size=60))
def test_no_attempt_is_forgotten(steps):
    state, now, launched, gone = None, T0, set(), set()
    for number, seconds in steps:
        now += timedelta(seconds=seconds)
        choices = tuple(happenings(state))
        event = choices[number % len(choices)]
        gone |= confirmed(state, event)
        state = decide.decide(state, event, now)
        if isinstance(state, Launching):
            launched.add((state.uid, state.attempt.number))
        current = {(state.uid, state.attempt.number)} if isinstance(state, Placed) else set()
        going = {(state.uid, c.attempt.number) for c in todo(state) if isinstance(c, Release)}
        assert launched <= current | going | gone, state


@pytest.mark.parametrize("kind", ["pending", "launching", "provisioned"])
def test_the_word_that_an_end_waits_for_nothing_is_passed_on_at_once(kind):
    state = {"pending": lambda: tell(None, WISH), "launching": launching, "provisioned": provisioned}[kind]()
    going = msgspec.structs.replace(WISH, generation=2, deleting=True)
    state = tell(state, going, msgspec.structs.replace(going, force=True))
    assert (type(state).__name__.lower(), state.wish.deleting, state.wish.force) == (kind, True, True)
