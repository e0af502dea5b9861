"""How old what stands is, by state; of what has ended, how often something may be left."""

from datetime import UTC, datetime, timedelta

from schemas import teardown
from schemas.cluster import LIFECYCLE, Pending, Released
from schemas.teardown import Skipped
from schemas.wish import Need, Wish
from services.gateway.gauges import COUNT, LEFT, OLDEST, ages
from tests.services.gateway.known import is_

EPOCH = datetime(2026, 1, 1, tzinfo=UTC)
WISH = Wish(tenant="acme", colony="train", cluster="a", uid="c1", generation=1, need=Need(pools=()))
REQUESTED = (("domain", "cluster"), ("state", "pending"))


def requested(minutes: int) -> Pending:
    return Pending(uid="c1", wish=WISH, since=EPOCH + timedelta(minutes=minutes))


def test_of_each_state_the_oldest_counts_and_the_end_does_not():
    released = Released(uid="c0", wish=WISH, reason="done", since=EPOCH - timedelta(days=1))
    found = ages(LIFECYCLE, [requested(5), requested(1), requested(3), released])
    assert found[OLDEST] == {REQUESTED: (EPOCH + timedelta(minutes=1)).timestamp()}
    assert found[COUNT][REQUESTED] == 3
    assert sum(found[COUNT].values()) == 3


def test_a_state_in_which_nothing_stands_is_counted_as_none():
    found = ages(LIFECYCLE, [])
    assert found[OLDEST] == {}
    assert set(found[COUNT].values()) == {0.0}
    assert (("domain", "cluster"), ("state", "released")) not in found[COUNT]


def test_ends_that_may_have_left_something_are_counted_by_the_step_that_was_given_up():
    given_up = Skipped(step="Cleaning", reason="its API is unreachable", left="load balancers")
    ends = [is_(teardown.Gone), is_(teardown.Gone, skipped=(given_up,)), is_(teardown.Draining, skipped=(given_up,))]
    found = ages(teardown.LIFECYCLE, ends)[LEFT]
    assert {dict(labels)["step"]: count for labels, count in found.items()} == {"Draining": 0, "Cleaning": 1}
    assert ages(LIFECYCLE, [])[LEFT] == {}
