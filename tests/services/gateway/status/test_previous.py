"""What the status showed before keeps its times; a status of a foreign shape counts as none."""

from datetime import UTC, datetime, timedelta

import pytest

from services.gateway.status.facts import ConditionState
from services.gateway.status.previous import PreviousConditions, without_foreign_status

NOW = datetime(2026, 1, 1, 12, tzinfo=UTC)
BEFORE = {"type": "Ready", "status": "True", "lastTransitionTime": "2026-01-01T11:00:00Z", "reason": "A"}
SHOWN = PreviousConditions.of([BEFORE], 3, NOW)


@pytest.mark.parametrize(
    ("holds", "status", "since"),
    [
        (True, "True", NOW - timedelta(hours=1)),
        (False, "False", NOW),
        (None, "Unknown", NOW),
    ],
)
def test_its_time_is_when_its_status_changed_last(holds, status, since):
    told = SHOWN.condition("Ready", ConditionState(holds, "B", "another word"))
    assert (told.status, told.last_transition_time, told.reason) == (status, since, "B")
    assert told.observed_generation == 3


def test_one_that_was_not_shown_before_begins_now():
    assert SHOWN.condition("Placed", ConditionState(holds=True, reason="A")).last_transition_time == NOW


def test_they_are_listed_in_the_order_they_were_told():
    verdict = ConditionState(holds=True, reason="A")
    assert [each.type for each in SHOWN.conditions({"B": verdict, "A": verdict})] == ["B", "A"]


TIME = "2026-01-01T00:00:00Z"
GOOD = {"conditions": [{"type": "Ready", "status": "True", "lastTransitionTime": TIME}], "clusters": [{"name": "a"}]}


@pytest.mark.parametrize("colony", [{"spec": {}}, {"spec": {}, "status": None}, {"spec": {}, "status": GOOD}])
def test_what_we_write_is_read_back(colony):
    assert without_foreign_status(colony) is colony


@pytest.mark.parametrize(
    "status",
    [
        5,
        {"conditions": [None]},
        {"conditions": [{"status": "True"}]},
        {"conditions": [{"type": "Ready", "status": "True", "lastTransitionTime": "then"}]},
        {"clusters": {"a": 1}},
        {"clusters": [{"conditions": []}]},
    ],
)
def test_a_status_of_an_odd_shape_is_taken_for_none(status):
    assert without_foreign_status({"spec": {}, "status": status}) == {"spec": {}}
