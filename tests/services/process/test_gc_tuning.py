"""What a process begins with is looked at by no collection, and what it drops is collected all the same."""

import gc
import weakref

import pytest

from services.process.gc_tuning import THRESHOLDS, settle


class Ring:
    """Only the collector can tell that nobody holds it."""

    def __init__(self):
        self.me = self


@pytest.fixture
def settled():
    before = gc.get_threshold()
    settle()
    yield
    gc.set_threshold(*before)


def test_what_is_there_at_the_start_is_looked_at_no_more(request):
    before = gc.get_freeze_count()
    kept = [[] for _ in range(10_000)]
    request.getfixturevalue("settled")
    assert gc.get_freeze_count() - before >= len(kept)


@pytest.mark.usefixtures("settled")
def test_what_is_kept_is_looked_at_once_in_very_many_objects():
    before = gc.get_stats()[0]["collections"]
    kept = [[] for _ in range(THRESHOLDS[0] // 2)]
    assert gc.get_stats()[0]["collections"] - before <= 1
    assert kept


@pytest.mark.usefixtures("settled")
def test_rings_that_nobody_holds_do_not_add_up():
    dropped = [weakref.ref(Ring()) for _ in range(2 * THRESHOLDS[0])]
    assert sum(each() is not None for each in dropped) <= THRESHOLDS[0]
