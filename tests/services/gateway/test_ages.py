"""How old what stands is: by state, and nothing of what has ended."""

from datetime import UTC, datetime, timedelta

from schemas.cluster import LIFECYCLE, Released, Requested
from schemas.wish import Need, Wish
from services.gateway.ages import COUNT, OLDEST, ages

EPOCH = datetime(2026, 1, 1, tzinfo=UTC)
WISH = Wish(tenant="acme", colony="train", cluster="a", uid="c1", generation=1, need=Need(pools=()))
REQUESTED = (("domain", "cluster"), ("state", "requested"))


def requested(minutes: int) -> Requested:
    return Requested(uid="c1", wish=WISH, since=EPOCH + timedelta(minutes=minutes))


def test_of_each_state_the_oldest_counts_and_the_end_does_not():
    released = Released(uid="c0", wish=WISH, because="done", since=EPOCH - timedelta(days=1))
    found = ages(LIFECYCLE, [requested(5), requested(1), requested(3), released])
    assert found[OLDEST] == {REQUESTED: (EPOCH + timedelta(minutes=1)).timestamp()}
    assert found[COUNT][REQUESTED] == 3
    assert sum(found[COUNT].values()) == 3


def test_a_state_in_which_nothing_stands_is_counted_as_none():
    found = ages(LIFECYCLE, [])
    assert found[OLDEST] == {}
    assert set(found[COUNT].values()) == {0.0}
    assert (("domain", "cluster"), ("state", "released")) not in found[COUNT]
