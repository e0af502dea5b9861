"""A cluster that hibernates has no machines and costs nothing, and wakes to what it had, or is what it was."""

from datetime import UTC, datetime, timedelta

import msgspec
import pytest

from schemas.attempts import Launch, Observe, Rank
from schemas.changes import Resize, Resized, ResizeRefused
from schemas.cluster import Hibernated, Launching, Pending, Placing, Provisioned, Ready, Waiting
from schemas.entity import Due, Wake
from schemas.infra import InfraSeen
from schemas.inventory import ClusterSeen
from schemas.placement import Lot, Placement, Ranked
from schemas.wish import Need, Pool, Wish
from services.provisioning.lifecycle.decide import decide
from services.provisioning.lifecycle.launch import JOIN_LIMIT
from services.provisioning.lifecycle.todo import todo
from services.provisioning.lifecycle.update import RESIZE_LIMIT

T0 = datetime(2026, 1, 1, tzinfo=UTC)
HOUR = timedelta(hours=1)
POOLS = tuple(Pool(name=name, accelerator="H100", accelerators_per_node=8, nodes=2) for name in ("a", "b"))
NEED = Need(pools=POOLS)
WISH = Wish(tenant="acme", colony="train", cluster="a", uid="c1", generation=1, need=NEED)
LOTS = tuple(
    Lot(
        pool=pool.name, instance="x8", zone="z", accelerator="H100", accelerators_per_node=8,
        nodes=2, price_per_hour=1.0, spot=True,
    )
    for pool in POOLS
)  # fmt: skip
OFFER = Ranked((Placement(cloud="aws", region="r", lots=LOTS),))
UP = InfraSeen(cluster="train-a", uid="c1.1", attempt=1, reachable=True)
replace = msgspec.structs.replace


def tell(state, *events, now=T0):
    for event in events:
        state = decide.decide(state, event, now)
    return state


def asked(generation, *, asleep, **need):
    return replace(WISH, generation=generation, need=replace(NEED, hibernate=asleep, **need))


def seen(nodes, **shown):
    return ClusterSeen(cluster="train-a", uid="c1.1", attempt=1, nodes=nodes, accelerators=8 * nodes, **shown)


def taken(state):
    return Resized(1, state.attempt.placement.lots)


def nodes(state):
    return [lot.nodes for lot in state.attempt.placement.lots]


LAUNCHING = tell(None, WISH, OFFER)
READY = tell(LAUNCHING, UP, seen(4))
GOING = tell(READY, asked(2, asleep=True), now=T0 + HOUR)
ASLEEP = tell(GOING, taken(GOING), seen(0), now=T0 + HOUR)
WAKING = tell(ASLEEP, asked(3, asleep=False), now=T0 + 3 * HOUR)


def test_all_pools_go_to_no_machines_and_ready_is_withdrawn_at_once():
    assert (type(GOING), nodes(GOING), GOING.kubeconfig) == (Hibernated, [0, 0], READY.kubeconfig)
    (order,) = (each for each in todo(GOING) if isinstance(each, Resize))
    assert (order.attempt.placement.lots, order.grows) == (GOING.attempt.placement.lots, False)


def test_it_rests_once_the_last_machine_is_gone():
    assert tell(GOING, taken(GOING), seen(1)).resizing is not None
    assert tell(GOING, taken(GOING), seen(0, known=False)).resizing is not None
    assert tell(GOING, taken(GOING), replace(seen(0), attempt=7)).resizing is not None
    assert (ASLEEP.resizing, todo(ASLEEP)) == (None, ())


def test_machines_that_stay_too_long_are_told_once():
    state = tell(GOING, taken(GOING))
    assert set(todo(state)) == {Observe(state.wish, state.attempt), Wake(T0 + HOUR + RESIZE_LIMIT)}
    assert tell(state, Due(), now=T0 + HOUR + RESIZE_LIMIT).resizing.late


def test_it_is_billed_until_it_is_told_to_sleep_and_again_from_when_it_is_told_to_wake():
    assert (ASLEEP.cost_usd, ASLEEP.attempt.placement.price_per_hour) == (4.0, 0.0)
    assert (WAKING.cost_usd, WAKING.billed_since) == (4.0, T0 + 3 * HOUR)


def test_it_wakes_to_the_machines_it_had_and_is_ready_with_all_of_them_alone():
    assert (type(WAKING), nodes(WAKING), WAKING.deadline) == (Provisioned, [2, 2], T0 + 3 * HOUR + JOIN_LIMIT)
    assert (WAKING.kubeconfig, WAKING.attempt.number) == (READY.kubeconfig, 1)
    up = tell(WAKING, taken(WAKING))
    assert isinstance(tell(up, seen(3)), Provisioned)
    awake = tell(up, seen(4))
    assert (type(awake), awake.resizing) == (Ready, None)


def test_a_size_asked_for_while_it_sleeps_is_what_it_wakes_to():
    larger = tuple(replace(pool, nodes=5) for pool in POOLS)
    state = tell(ASLEEP, asked(3, asleep=True, pools=larger))
    assert (type(state), nodes(state)) == (Hibernated, [0, 0])
    assert nodes(tell(state, asked(4, asleep=False, pools=larger))) == [5, 5]


def test_one_that_is_woken_before_it_sleeps_asks_for_the_way_back():
    state = tell(GOING, asked(3, asleep=False))
    assert (type(state), nodes(state)) == (Provisioned, [2, 2])
    assert isinstance(tell(state, taken(state), seen(4)), Ready)


def test_machines_that_cannot_be_given_back_leave_it_awake():
    state = tell(GOING, ResizeRefused(1, GOING.attempt.placement.lots, "forbidden"))
    assert (type(state), nodes(state), state.refused, state.wish.need.hibernate) == (
        Provisioned, [2, 2], "forbidden", False,
    )  # fmt: skip
    assert isinstance(tell(state, taken(state), seen(4)), Ready)


def test_machines_that_others_hold_by_now_leave_it_asleep():
    state = tell(WAKING, ResizeRefused(1, WAKING.attempt.placement.lots, "others hold the rest"))
    assert (type(state), nodes(state), state.refused) == (Hibernated, [0, 0], "others hold the rest")
    assert state.wish.need.hibernate
    assert isinstance(tell(state, asked(4, asleep=False)), Provisioned)


def test_machines_that_do_not_come_back_in_time_are_looked_for_elsewhere():
    late = tell(WAKING, taken(WAKING), Due(), now=WAKING.deadline)
    assert (type(late), late.attempt.reason) == (Placing, "NeverReady")


def test_no_spot_machine_that_is_given_back_counts_as_an_interruption():
    assert tell(WAKING, taken(WAKING), seen(4)).interruptions == 0


@pytest.mark.parametrize("state", [Pending, Placing, Waiting])
def test_what_is_not_founded_yet_is_not_founded_before_it_wakes(state):
    none = Ranked((), "NoOfferFits", "no offer has it")
    placing = tell(LAUNCHING, InfraSeen(cluster="train-a", uid="c1.1", attempt=1, present=False))
    before = {Pending: tell(None, WISH), Placing: placing, Waiting: tell(None, WISH, none)}[state]
    asleep = tell(before, asked(2, asleep=True))
    assert not any(isinstance(each, Rank | Launch | Wake) for each in todo(asleep))
    assert tell(asleep, OFFER) is asleep
    awake = tell(asleep, asked(3, asleep=False))
    assert state is Placing or any(isinstance(each, Rank) for each in todo(awake))


def test_what_is_being_founded_sleeps_once_its_api_answers():
    state = tell(LAUNCHING, asked(2, asleep=True))
    assert (type(state), nodes(state)) == (Launching, [0, 0])
    assert isinstance(tell(state, UP), Hibernated)


def test_one_that_somebody_deletes_while_it_sleeps_is_founded_anew_when_it_wakes():
    state = tell(ASLEEP, InfraSeen(cluster="train-a", uid="c1.1", attempt=1, present=False))
    assert (type(state), todo(state)) == (Placing, ())
    assert isinstance(tell(state, asked(3, asleep=False), OFFER), Launching)
