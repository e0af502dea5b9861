"""Unknown, outdated or of nothing is never taken for true."""

import pytest

from services.clouds.conditions import CAPACITY, DENIED, QUOTA, conditions, failure_reason


def seen(status="True", generation=1, observed=1, own=None):
    raw = {"type": "Ready", "status": status, "reason": "R", "message": "m"}
    raw |= {} if own is None else {"observedGeneration": own}
    return {
        "metadata": {"name": "x", "generation": generation},
        "status": {"observedGeneration": observed, "conditions": [raw]},
    }


@pytest.mark.parametrize(
    ("shown", "true"),
    [
        (seen(), True),
        (seen(own=1), True),
        (seen("Unknown"), False),
        (seen("False"), False),
        (seen(generation=2), False),
        (seen(generation=2, own=2), False),
        (seen(generation=2, observed=2, own=1), False),
        (seen(generation=2, observed=2), True),
    ],
)
def test_only_what_is_true_of_the_newest_generation_is_true(shown, true):
    assert conditions(shown)["Ready"].true is true


def test_an_object_that_shows_nothing_has_no_conditions():
    assert conditions({"metadata": {"name": "x"}}) == {}
    assert conditions({"metadata": {"name": "x", "generation": 1}, "status": {"conditions": []}}) == {}


def test_a_condition_that_lacks_its_words_is_unknown():
    shown = conditions({"metadata": {}, "status": {"conditions": [{"type": "Ready"}]}})["Ready"]
    assert (shown.status, shown.reason, shown.message, shown.true) == ("Unknown", "", "", False)


@pytest.mark.parametrize(
    ("codes", "reason"), [(CAPACITY, "NoCapacity"), (QUOTA, "Quota"), (DENIED, "Denied")], ids=["none", "quota", "no"]
)
def test_a_clouds_own_code_inside_a_message_says_what_it_means_for_the_next_offer(codes, reason):
    for code in codes:
        assert failure_reason(f"failed to create Machine: api error {code}: sorry") == reason


def test_a_message_without_a_code_is_no_failure():
    assert failure_reason("waiting for infrastructure to be ready") == ""
