"""A condition keeps its time as long as its status is the same."""

from datetime import UTC, datetime, timedelta

import pytest

from services.gateway.status.transition_times import Shown, Verdict

NOW = datetime(2026, 1, 1, 12, tzinfo=UTC)
BEFORE = {"type": "Ready", "status": "True", "lastTransitionTime": "2026-01-01T11:00:00Z", "reason": "A"}
SHOWN = Shown.of([BEFORE], 3, NOW)


@pytest.mark.parametrize(
    ("holds", "status", "since"),
    [
        (True, "True", NOW - timedelta(hours=1)),
        (False, "False", NOW),
        (None, "Unknown", NOW),
    ],
)
def test_its_time_is_when_its_status_changed_last(holds, status, since):
    told = SHOWN.condition("Ready", Verdict(holds, "B", "another word"))
    assert (told.status, told.last_transition_time, told.reason) == (status, since, "B")
    assert told.observed_generation == 3


def test_one_that_was_not_shown_before_begins_now():
    assert SHOWN.condition("Placed", Verdict(holds=True, reason="A")).last_transition_time == NOW


def test_they_are_listed_in_the_order_they_were_told():
    verdict = Verdict(holds=True, reason="A")
    assert [each.type for each in SHOWN.conditions({"B": verdict, "A": verdict})] == ["B", "A"]
