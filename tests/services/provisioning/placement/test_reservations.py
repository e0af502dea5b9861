"""What all clusters hold together is known at any time without a look at each."""

from datetime import UTC, datetime

import msgspec
from hypothesis import given
from hypothesis import strategies as st

from schemas.cluster import Launching, Pending, Placing, Ready, Released, Releasing
from schemas.placement import Attempt, Lot, Placement
from schemas.subjects import Key
from schemas.wish import Need, Pool, Wish
from services.provisioning.placement.supply import (
    Reservation,
    Reservations,
    exceeded,
    held_attempt,
    machines_of,
    total_machines,
)

T0 = datetime(2026, 1, 1, tzinfo=UTC)
WISH = Wish(
    tenant="acme", colony="train", cluster="a", uid="c1", generation=1,
    need=Need(pools=(Pool(name="gpu", accelerator="H100", accelerators_per_node=8, nodes=2),)),
)  # fmt: skip
LOT = Lot(
    pool="gpu", instance="x", zone="", accelerator="H100", accelerators_per_node=8, nodes=1, price_per_hour=1.0,
    spot=False,
)  # fmt: skip
STOCKS = [("own", "r", zone, instance) for zone in ("", "z") for instance in "xy"]
ONE, TWO = Key("cluster", "acme", "one"), Key("cluster", "acme", "two")

lots = st.builds(
    lambda zone, instance, count: msgspec.structs.replace(LOT, zone=zone, instance=instance, nodes=count),
    st.sampled_from(["", "z"]), st.sampled_from("xy"), st.integers(1, 3),
)  # fmt: skip
states = st.one_of(
    st.just(Pending(uid="u", wish=WISH)),
    st.just(Released(uid="u", wish=WISH, reason="Deleted")),
    st.builds(
        lambda kind, bought: state(kind, *bought),
        st.sampled_from([Placing, Launching, Ready, Releasing]),
        st.lists(lots, min_size=1, max_size=3),
    ),
)


def state(kind, *bought):
    known = {
        "uid": "u", "wish": WISH, "reason": "Deleted", "billed_since": T0, "kubeconfig": "k", "deadline": T0,
        "attempt": Attempt(number=1, placement=Placement(cloud="own", region="r", lots=bought)),
    }  # fmt: skip
    return kind(**{name: value for name, value in known.items() if name in kind.__struct_fields__})


@given(st.lists(st.tuples(st.sampled_from([Key("cluster", "acme", name) for name in "abc"]), states), max_size=30))
def test_what_is_held_is_what_the_newest_states_hold(told):
    holders = Reservations()
    for key, newest in told:
        holders.note(key, newest)
    held = {key: attempt for key, newest in dict(told).items() if (attempt := held_attempt(newest)) is not None}
    assert +holders.taken == total_machines(held.values())
    for key in dict(told):
        assert +holders.taken_by_others(key) == total_machines(
            attempt for other, attempt in held.items() if other != key
        )
    for stock in STOCKS:
        wanted = {key: Reservation("u", attempt) for key, attempt in held.items() if stock in machines_of(attempt)}
        assert holders.holding([stock]) == wanted


def test_what_is_told_of_the_rest_does_not_change_with_the_next_state():
    holders = Reservations()
    holders.note(ONE, state(Ready, LOT))
    before = holders.taken_by_others(TWO)
    holders.note(ONE, Released(uid="u", wish=WISH, reason="Deleted"))
    assert before[STOCKS[0]] == 1
    assert holders.taken_by_others(TWO)[STOCKS[0]] == 0


def test_there_are_enough_until_more_are_taken_than_there_are():
    assert exceeded({STOCKS[0]: 2}, {STOCKS[0]: 2, STOCKS[1]: 9}) is None
    assert exceeded({STOCKS[0]: 1}, {STOCKS[0]: 2}) == STOCKS[0]
    assert exceeded({STOCKS[0]: 0}, {}) is None
