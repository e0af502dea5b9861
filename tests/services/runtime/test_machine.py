"""A table that says something else than its lifecycle is refused when it is built, not when it is used."""

from datetime import UTC, datetime

import msgspec
import pytest

from schemas.entity import Due, Lifecycle, State, Wake
from services.runtime.machine import asks, machine, on

NOW = datetime(2026, 1, 1, tzinfo=UTC)


class Egg(State, frozen=True, kw_only=True):
    pass


class Bird(State, frozen=True, kw_only=True):
    wings: int = 0


class Warm(msgspec.Struct, frozen=True):
    uid: str = "b"


class Cold(msgspec.Struct, frozen=True):
    pass


def lay(_: None, warm: Warm) -> Egg:
    return Egg(uid=warm.uid)


def hatch(state: Egg, _: Warm, now: datetime) -> Egg | Bird:
    return state.to(Bird, wings=now.year)


def hide(state: State, _: Cold) -> State:
    return state


LIFE = Lifecycle("bird", {None: (Egg,), Egg: (Bird,)})
ROWS = (on(type(None), Warm, lay), on(Egg, Warm, hatch))


def test_a_row_decides_with_the_time_if_it_asks_for_it():
    made = machine(LIFE, *ROWS)
    egg = made.decide(None, Warm(), NOW)
    assert egg == Egg(uid="b")
    assert made.decide(egg, Warm(), NOW) == Bird(uid="b", wings=2026)


def test_what_has_no_row_gives_the_very_same_state_back():
    made = machine(LIFE, *ROWS)
    bird = Bird(uid="b")
    assert made.decide(bird, Warm(), NOW) is bird
    assert made.decide(None, Due(), NOW) is None


def test_a_row_that_is_there_twice_is_refused():
    with pytest.raises(TypeError, match="bird: two rows for Egg on Warm"):
        machine(LIFE, *ROWS, on((Egg, Bird), (Cold, Warm), hatch))


def test_a_way_the_lifecycle_does_not_declare_is_refused():
    with pytest.raises(TypeError, match="bird: ways undeclared: Bird -> Egg"):
        machine(LIFE, *ROWS, on(Bird, Warm, lay))


def test_a_way_no_row_takes_is_refused():
    with pytest.raises(TypeError, match="bird: ways without a row: Egg -> Bird"):
        machine(LIFE, ROWS[0])


def test_every_wrong_way_is_named():
    life = Lifecycle("bird", {None: (Egg,), Egg: (Bird,), Bird: (Egg,)})
    with pytest.raises(TypeError, match="Bird -> Egg, Egg -> Bird"):
        machine(life, ROWS[0])


def test_a_base_of_the_state_as_return_means_it_stays_what_it_is():
    made = machine(LIFE, *ROWS, on((Egg, Bird), Cold, hide))
    assert made.table[Bird, Cold]


def test_a_row_for_several_states_stays_in_each_of_them():
    def turn(state: Egg | Bird, _: Cold) -> Egg | Bird:
        return state

    assert machine(LIFE, *ROWS, on((Egg, Bird), Cold, turn))


def test_commands_are_asked_for_by_the_very_type_of_the_state_and_none_is_left_out():
    todo = asks({Bird: lambda s: (None, Wake(NOW)) if s.wings else (None,)})
    assert todo(Bird(uid="b", wings=2)) == (Wake(NOW),)
    assert todo(Bird(uid="b")) == ()
    assert todo(Egg(uid="b")) == ()
