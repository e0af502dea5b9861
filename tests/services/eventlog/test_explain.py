"""An account is read off states alone: every attempt with its end and its cost, whatever came of it."""

from datetime import UTC, datetime, timedelta

import msgspec
import pytest

from schemas.cluster import (
    Launching,
    Pending,
    Placing,
    Provisioned,
    Ready,
    Released,
    Releasing,
    Resizing,
    Stalled,
    UnmetDemand,
    Upgrading,
    Waiting,
)
from schemas.placement import Attempt, Lot, Placement
from schemas.wish import Need, Pool, Wish
from services.cli.placement.explain import lived
from services.eventlog.explain import account
from tests.corpus import RELEASES, replayed

T0 = datetime(2026, 1, 1, tzinfo=UTC)
WISH = Wish(
    tenant="acme",
    colony="train",
    cluster="a",
    uid="c1",
    generation=1,
    need=Need(pools=(Pool(name="gpu", accelerator="H100", accelerators_per_node=8, nodes=2),)),
)


def at(hours: float) -> datetime:
    return T0 + timedelta(hours=hours)


def attempt(number=1, price=10.0, **failed) -> Attempt:
    lot = Lot(
        pool="gpu", instance="x8", zone="", accelerator="H100", accelerators_per_node=8, nodes=2,
        price_per_hour=price, spot=True,
    )  # fmt: skip
    return Attempt(number=number, placement=Placement(cloud="aws", region="r", lots=(lot,)), **failed)


def launching(one: Attempt, since: float, next_best: float | None = None) -> Launching:
    return Launching(
        uid="u", wish=WISH, since=at(since), attempt=one, attempts=one.number, billed_since=at(since),
        deadline=at(since + 0.5), next_best_per_hour=next_best,
    )  # fmt: skip


FAILED = attempt(reason="NoCapacity", message="none there", failed_at=at(1))
LIFE = (
    Pending(uid="u", wish=WISH, since=T0),
    launching(attempt(), 0.0, next_best=24.0),
    Placing(uid="u", wish=WISH, since=at(1), attempt=FAILED, attempts=1, billed_since=at(0)),
    Placing(uid="u", wish=WISH, since=at(2), failed_attempts=(FAILED,), attempts=1, cost_usd=40.0),
    msgspec.structs.replace(launching(attempt(2, 12.0), 2.0, next_best=30.0), failed_attempts=(FAILED,), cost_usd=40.0),
    Ready(
        uid="u",
        wish=WISH,
        since=at(3),
        attempt=attempt(2, 12.0),
        attempts=2,
        billed_since=at(2),
        failed_attempts=(FAILED,),
        cost_usd=40.0,
        next_best_per_hour=30.0,
        kubeconfig="k",
        refused="pools stay as they are",
    ),
    Releasing(
        uid="u",
        wish=WISH,
        since=at(4),
        attempt=attempt(2, 12.0),
        attempts=2,
        billed_since=at(2),
        failed_attempts=(FAILED,),
        cost_usd=40.0,
        reason="Idle",
    ),
    Released(uid="u", wish=WISH, since=at(5), attempts=2, failed_attempts=(FAILED,), cost_usd=112.0, reason="Idle"),
)


def test_each_attempt_is_told_with_why_and_when_it_failed():
    first, second = account(LIFE[:6], at(3)).attempts
    assert (first.reason, first.message, first.failed_at) == ("NoCapacity", "none there", at(1))
    assert (first.began, first.ended, first.cost_usd) == (at(0), at(2), 40.0)
    assert (second.reason, second.began, second.ended, second.price_per_hour) == ("", at(2), None, 24.0)


def test_what_was_saved_against_the_next_best_grows_while_it_runs():
    first, second = account(LIFE[:6], at(4)).attempts
    assert (second.next_best_per_hour, second.saved_usd) == (30.0, 12.0)
    assert first.saved_usd is None  # nothing came of it


def sized(nodes: int) -> Attempt:
    made = attempt(2, 12.0)
    lots = tuple(msgspec.structs.replace(lot, nodes=nodes) for lot in made.placement.lots)
    return msgspec.structs.replace(made, placement=msgspec.structs.replace(made.placement, lots=lots))


def test_the_next_best_is_told_at_the_size_that_the_price_is_of():
    grown = msgspec.structs.replace(LIFE[5], attempt=sized(3), billed_since=at(4))
    _, second = account((*LIFE[:6], grown), at(5)).attempts
    assert (second.price_per_hour, second.next_best_per_hour) == (36.0, 45.0)


def test_what_was_taken_in_asleep_is_accounted_for():
    (only,) = account((launching(sized(0), 0.0),), at(1)).attempts
    assert (only.price_per_hour, only.next_best_per_hour, only.cost_usd) == (0.0, None, 0.0)


def test_where_there_was_no_other_offer_nothing_was_saved():
    (only,) = account((launching(attempt(), 0.0),), at(1)).attempts
    assert (only.next_best_per_hour, only.saved_usd) == (None, None)


@pytest.mark.parametrize(("states", "now", "cost"), [(2, 0.5, 10.0), (3, 1.5, 30.0), (4, 9.0, 40.0), (6, 3.0, 64.0)])
def test_what_it_costs_so_far_is_what_is_over_with_what_still_runs(states, now, cost):
    assert account(LIFE[:states], at(now)).cost_usd == cost


def test_a_released_cluster_is_told_as_long_as_it_is_kept():
    told = account(LIFE, at(100))
    assert (told.state, told.reason, told.waits_for, told.cost_usd) == ("released", "Idle", "", 112.0)
    assert told.attempts[1].ended == at(5)


def test_an_attempt_is_remembered_when_another_wish_has_forgotten_it():
    again = Pending(uid="u", wish=WISH, since=at(2), attempts=1, cost_usd=40.0)
    assert [each.reason for each in account((*LIFE[:4], again), at(2)).attempts] == ["NoCapacity"]


def test_the_newest_incarnation_alone_is_told():
    anew = Pending(uid="u2", wish=WISH, since=at(6))
    told = account((*LIFE, anew), at(7))
    assert (told.before, told.attempts, told.asked_at, told.cost_usd) == (1, (), at(6), 0.0)


def test_why_the_newest_wish_is_not_followed_is_told():
    assert account(LIFE[:6], at(3)).refused == "pools stay as they are"


def resized(nodes, since, cost) -> Ready:
    placement = LIFE[5].attempt.placement
    lots = tuple(msgspec.structs.replace(lot, nodes=nodes) for lot in placement.lots)
    size = msgspec.structs.replace(LIFE[5].attempt, placement=msgspec.structs.replace(placement, lots=lots))
    resizing = Resizing(nodes=2, accelerators=16, until=at(since + 0.5))
    return msgspec.structs.replace(
        LIFE[5], attempt=size, since=at(since), billed_since=at(since), cost_usd=cost, resizing=resizing
    )


@pytest.mark.parametrize(("late", "more"), [(False, ""), (True, ", which takes longer than it should")])
def test_one_that_gets_another_version_waits_for_all_of_it(late, more):
    going = msgspec.structs.replace(LIFE[5], upgrading=Upgrading(version="v1.35.0", until=at(3), late=late))
    assert account((*LIFE[:5], going), at(4)).waits_for == f"all of it to run v1.35.0{more}"


def test_a_changed_size_is_reckoned_piece_by_piece():
    grown = resized(4, 4, cost=88.0)
    told = account((*LIFE[:6], grown), at(5))
    assert (told.cost_usd, told.attempts[1].cost_usd) == (136.0, 96.0)
    assert told.attempts[1].saved_usd == 2 * (30.0 - 24.0) + 1 * (60.0 - 48.0)
    assert told.waits_for == "its new size of 2 nodes"
    assert account((*LIFE[:6], grown, *LIFE[6:]), at(9)).attempts[1].began == at(2)


def test_new_pools_that_are_not_bought_yet_are_waited_for():
    waits = msgspec.structs.replace(LIFE[5], wanted=WISH.need)
    assert account((waits,), at(5)).waits_for == "what the market has for its new pools"


def test_a_new_size_that_takes_long_is_told_as_that():
    late = resized(4, 4, cost=88.0)
    late = msgspec.structs.replace(late, resizing=msgspec.structs.replace(late.resizing, late=True))
    assert account((late,), at(5)).waits_for == "its new size of 2 nodes, which takes longer than it should"


HELD = msgspec.structs.replace(launching(attempt(), 0.0), blocked="no ConfigMap capi-aws")
PROVISIONED = Provisioned(uid="u", wish=WISH, attempt=attempt(), billed_since=T0, deadline=at(1), kubeconfig="k")


@pytest.mark.parametrize(
    ("state", "sentence"),
    [
        (LIFE[0], "an answer of the market"),
        (LIFE[1], "its API to answer, until 2026-01-01 00:30:00 UTC at the latest"),
        (HELD, "no ConfigMap capi-aws"),
        (LIFE[2], "attempt 1 to be gone"),
        (LIFE[3], "an answer of the market"),
        (PROVISIONED, "all 16 accelerators, until 2026-01-01 01:00:00 UTC at the latest"),
        (LIFE[5], ""),
        (
            msgspec.structs.replace(LIFE[5], unmet_demand=UnmetDemand(reason="Taken", message="others hold them")),
            "more nodes: Taken: others hold them",
        ),
        (LIFE[6], "attempt 2 to be gone"),
        (msgspec.structs.replace(LIFE[6], blocked="no kind"), "attempt 2 to be gone: no kind"),
        (
            Waiting(uid="u", wish=WISH, reason="PriceCap", message="too dear", until=at(1)),
            "the market, asked again at 2026-01-01 01:00:00 UTC: PriceCap: too dear",
        ),
        (
            Stalled(uid="u", wish=WISH, reason="Invalid", message="no such zone"),
            "another wish, or what is not installed: Invalid: no such zone",
        ),
    ],
    ids=lambda value: type(value).__name__,
)
def test_every_state_tells_what_it_waits_for(state, sentence):
    assert account((state,), at(0)).waits_for == sentence


@pytest.mark.parametrize("release", RELEASES)
async def test_what_a_real_life_cost_is_what_its_attempts_cost(release):
    history = await lived(await replayed(release), "default", "train-gpu")
    for length in range(1, len(history) + 1):
        told = account(history[:length], history[length - 1].since)
        assert told.cost_usd == pytest.approx(sum(each.cost_usd for each in told.attempts), abs=1e-3)
