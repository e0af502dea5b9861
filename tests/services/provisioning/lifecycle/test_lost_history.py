"""A cluster whose history was lost is taken in again by what bears its marks, or let go with its Colony."""

from datetime import UTC, datetime

import msgspec
import pytest

from schemas.attempts import AttemptRecovered, AttemptUnrecoverable, RecoverAttempt, Release
from schemas.cluster import Launching, Pending, Provisioned, Released, Releasing
from schemas.infra import InfraSeen, Remains
from schemas.inventory import Offer, Offers
from schemas.teardown import TeardownReleasing
from schemas.wish import Need, Pool, Wish
from services.clouds.existing_cluster import ExistingCluster, ExistingPool
from services.provisioning.lifecycle.decide import decide
from services.provisioning.lifecycle.todo import todo
from services.provisioning.placement.adoption import UNPRICED, recall
from services.provisioning.placement.supply import OfferIndex

NOW = datetime(2026, 1, 1, tzinfo=UTC)
POOL = Pool(name="gpu", accelerator="H100", accelerators_per_node=8, nodes=3)
WISH = Wish(
    tenant="acme", colony="train", cluster="a", uid="c2", generation=4, need=Need(pools=(POOL,), backend="capi")
)  # fmt: skip
OWN = InfraSeen(cluster="train-a", uid="c2.1", attempt=2, backend="capi")
THERE = ExistingCluster("aws", "us-east-1", (ExistingPool("gpu", 3, "p5", "az1"),), version="v1.34.0")


def market(price=40.0, cost=0.0):
    known = OfferIndex()
    offer = Offer(
        cloud="aws", region="us-east-1", zone="az1", instance="p5", accelerator="H100", accelerators=8, price=price
    )
    known.update(Offers(cloud="aws", region="us-east-1", offers=(offer,), control_plane_per_hour=cost))
    return known


def asked(*found, ended="", **more):
    wish = msgspec.structs.replace(WISH, remains=Remains(found=found, ended=ended), **more)
    return decide.decide(None, wish, NOW)


def after(there, state=None, known=None):
    state = state or asked(OWN)
    return decide.decide(state, recall(state.wish, 2, there, known or market()), NOW)


def test_what_stands_of_a_colony_that_stands_is_taken_in_again_under_its_own_marks():
    state = asked(OWN)
    assert (type(state), state.uid, state.attempts, state.existing.number) == (Pending, "c2.1", 2, 2)
    assert todo(state) == (RecoverAttempt(state.wish, state.existing),)
    again = after(THERE)
    assert (type(again), again.uid, again.attempts, again.wish) == (Launching, "c2.1", 2, WISH)
    (lot,) = again.attempt.placement.lots
    assert (lot.instance, lot.zone, lot.nodes, lot.price_per_hour, again.attempt.message) == ("p5", "az1", 3, 40.0, "")
    assert not again.orphans


def test_what_is_taken_in_again_is_billed_for_its_control_plane():
    assert after(THERE, known=market(cost=0.5)).attempt.placement.price_per_hour == 120.5


def test_a_price_that_nobody_tells_any_more_is_said_to_be_unknown():
    unpriced = after(ExistingCluster(nodes=3))
    assert isinstance(unpriced, Launching)
    assert (unpriced.attempt.message, unpriced.attempt.placement.price_per_hour) == (UNPRICED, 0.0)


def test_a_size_that_was_asked_for_but_not_there_yet_is_followed():
    smaller = after(THERE._replace(pools=(ExistingPool("gpu", 1, "p5", "az1"),)))
    assert [lot.nodes for lot in smaller.resizing.before] == [1]
    assert [lot.nodes for lot in smaller.attempt.placement.lots] == [3]


def test_one_that_hibernates_is_woken_only_where_that_is_asked_for():
    asleep = THERE._replace(pools=(ExistingPool("gpu", 0, "p5", "az1"),))
    resting = msgspec.structs.replace(WISH, need=msgspec.structs.replace(WISH.need, hibernate=True))
    state = decide.decide(None, msgspec.structs.replace(resting, remains=Remains(found=(OWN,))), NOW)
    rests = after(asleep, state)
    assert rests.wish.need.hibernate
    assert rests.resizing is None
    assert not after(asleep).wish.need.hibernate


def test_what_pods_had_grown_keeps_its_size():
    elastic = msgspec.structs.replace(WISH.need, pools=(msgspec.structs.replace(POOL, min_nodes=1, max_nodes=9),))
    state = decide.decide(None, msgspec.structs.replace(WISH, need=elastic, remains=Remains(found=(OWN,))), NOW)
    grown = after(THERE._replace(pools=(ExistingPool("gpu", 7, "p5", "az1"),)), state)
    assert ([lot.nodes for lot in grown.attempt.placement.lots], grown.resizing) == ([7], None)


@pytest.mark.parametrize("told", [AttemptUnrecoverable(2, "there is no Cluster"), None])
def test_what_tells_too_little_is_let_go_and_the_cluster_is_founded_anew(told):
    state, foreign = asked(OWN), THERE._replace(pools=(ExistingPool("other", 3),))
    anew = decide.decide(state, told or recall(WISH, 2, foreign, market()), NOW)
    assert (type(anew), anew.existing) == (Pending, None)
    assert [(stray.number, stray.reason) for stray in anew.orphans] == [(2, "Lost")]
    assert any(isinstance(each, Release) for each in todo(anew))


def test_only_the_newest_attempt_is_taken_in_and_the_others_are_released():
    earlier, other = (msgspec.structs.replace(OWN, **it) for it in ({"attempt": 1}, {"uid": "c1.1", "attempt": 7}))
    state = asked(earlier, OWN, other)
    assert state.existing.number == 2
    assert [stray.number for stray in state.orphans] == [1, 7]


def test_a_colony_that_goes_lets_go_of_what_stands_and_never_says_released_before():
    assert isinstance(asked(deleting=True), Released)
    bare = asked(OWN, deleting=True)
    assert (type(bare), bare.attempt.number, bare.reason) == (Releasing, 2, "Deleted")
    assert any(isinstance(each, Release) for each in todo(bare))
    open_ = asked(msgspec.structs.replace(OWN, reachable=True), deleting=True)
    assert (type(open_), open_.wish.deleting, open_.kubeconfig) == (Provisioned, True, "train-a-2-kubeconfig")


def test_what_is_asked_to_go_while_it_is_taken_in_goes_with_what_stands():
    state = asked(OWN)
    order = TeardownReleasing(uid=state.uid, wish=state.wish, reason="Deleted", deadline=NOW)
    going = decide.decide(state, order, NOW)
    assert (type(going), going.attempt.number) == (Releasing, 2)


def test_what_had_ended_is_not_founded_again_because_its_history_was_lost():
    over = asked(ended="TimeToLive")
    assert (type(over), over.reason) == (Released, "TimeToLive")
    assert decide.decide(over, WISH, NOW) == over


def test_without_anything_left_it_is_asked_for_as_the_first_time():
    state = decide.decide(None, WISH, NOW)
    assert (type(state), state.uid, state.existing, state.attempts) == (Pending, "c2.4", None, 0)


def test_what_was_recalled_for_another_attempt_changes_nothing():
    state = asked(OWN)
    assert decide.decide(state, AttemptRecovered(1, after(THERE).attempt.placement, WISH.need), NOW) == state
    assert decide.decide(state, AttemptUnrecoverable(1, "gone"), NOW) == state
