"""What happens again is counted, and one Colony's Events do not flood."""

from datetime import UTC, datetime, timedelta

import pytest

from services.gateway.kube_events import correlator
from services.gateway.kube_events.correlator import KEPT, RATE, Correlator

NOW = datetime(2026, 1, 1, tzinfo=UTC)
TRAIN, OTHER = ("acme", "train"), ("acme", "other")


def test_what_happens_again_is_counted_and_what_is_heard_again_is_not():
    one = Correlator()
    assert [one.count(TRAIN, "e", mark, NOW) for mark in ("u.1", "u.1", "u.2")] == [1, 0, 2]


def test_what_the_api_server_has_forgotten_begins_anew():
    one = Correlator()
    assert [one.count(TRAIN, "e", "u.1", NOW), one.count(TRAIN, "e", "u.2", NOW + KEPT)] == [1, 1]


def test_one_colony_tells_so_much_at_once_and_others_are_not_held_up_by_it():
    one = Correlator()
    told = [one.count(TRAIN, f"e{number}", "m", NOW) for number in range(RATE.burst + 10)]
    assert sum(told) == RATE.burst
    assert one.count(OTHER, "e", "m", NOW) == 1
    assert one.count(TRAIN, "later", "m", NOW + timedelta(minutes=1)) == 1


@pytest.mark.parametrize("jump", [timedelta(hours=1), timedelta(hours=-1)], ids=["forward", "back"])
def test_a_clock_that_is_set_keeps_no_colony_from_telling_and_makes_it_tell_nothing_twice(jump):
    one = Correlator()
    for number in range(RATE.burst):
        one.count(TRAIN, f"e{number}", "m", NOW)
    then = NOW + jump
    assert one.count(TRAIN, "e0", "m", then) == 0
    one.count(TRAIN, "next", "m", then)
    assert one.count(TRAIN, "later", "m", then + timedelta(minutes=1)) == 1


def test_what_is_long_over_is_forgotten(monkeypatch):
    monkeypatch.setattr(correlator, "MANY", 3)
    one = Correlator()
    for number in range(5):
        one.count(("acme", str(number)), f"e{number}", "m", NOW)
    later = NOW + max(KEPT, RATE.memory) + timedelta(seconds=1)
    one.count(TRAIN, "e", "m", later)
    assert (len(one._counted), len(one._buckets)) == (1, 1)
