"""Durations are read as Go reads them, and what is written is read as the same."""

import re
from datetime import timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from schemas.durations import LONGEST, PATTERN, parse, write


@pytest.mark.parametrize(
    ("text", "seconds"),
    [("90s", 90), ("1h30m", 5400), ("0s", 0), ("1.5h", 5400), ("250ms", 0.25), ("1m0.5s", 60.5), ("2h2h", 14400)],
)
def test_a_go_duration_is_the_sum_of_its_parts(text, seconds):
    assert parse(text) == timedelta(seconds=seconds)


@pytest.mark.parametrize(
    "text", ["", "90", "5 minutes", "-1h", "1d", "h", "1h ", "1h\n", "1,5h", ".5s", "1..5s", "\uff11h"]
)
def test_what_is_no_duration_is_refused_with_what_would_be_right(text):
    with pytest.raises(ValueError, match="must be a duration such as 90s or 1h30m"):
        parse(text)


def test_more_than_ten_years_are_refused_because_dates_end():
    assert parse("87600h") == LONGEST
    with pytest.raises(ValueError, match="must be at most 87600h"):
        parse("999999999h999999999h")


@pytest.mark.parametrize(
    ("seconds", "text"), [(0, "0s"), (90, "1m30s"), (3600, "1h"), (5400, "1h30m"), (0.25, "0.25s"), (3600.5, "1h0.5s")]
)
def test_a_duration_is_written_without_empty_parts(seconds, text):
    assert write(timedelta(seconds=seconds)) == text


@given(st.timedeltas(min_value=timedelta(0), max_value=LONGEST))
def test_what_is_written_is_read_as_the_same(duration):
    assert re.search(PATTERN, write(duration))
    assert parse(write(duration)) == duration
