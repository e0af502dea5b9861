"""Waits grow, spread, end at a cap, and are never shorter than what was asked for."""

import pytest

from events.backoff import Backoff, Backoffs


def test_waits_double_up_to_the_cap():
    backoff = Backoff(lambda: 1.0)
    waits = [backoff.next_delay() for _ in range(40)]
    assert waits[:3] == [0.2, 0.4, 0.8]
    assert max(waits) == 30.0


@pytest.mark.parametrize(("chance", "wait"), [(0.0, 0.5), (0.5, 0.75), (1.0, 1.0)])
def test_half_of_a_wait_is_chance(chance, wait):
    assert Backoff(lambda: chance, base=1.0).next_delay() == wait


def test_no_wait_is_shorter_than_what_was_asked_for():
    assert Backoff(lambda: 0.0).next_delay(17.0) == 17.0


def test_each_of_many_has_its_own_pace_until_it_went_well():
    backoffs = Backoffs(lambda: 1.0)
    assert [backoffs.next_delay("a"), backoffs.next_delay("a"), backoffs.next_delay("b")] == [1.0, 2.0, 1.0]
    backoffs.forget("a")
    assert [backoffs.next_delay("a"), backoffs.next_delay("b", 17.0)] == [1.0, 17.0]
