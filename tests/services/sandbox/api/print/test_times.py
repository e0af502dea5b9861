"""Ages read as kubectl writes them."""

from datetime import UTC, datetime, timedelta

import pytest

from services.sandbox.api.print.times import age, human


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (0, "0s"), (-1, "0s"), (-5, "<invalid>"), (119, "119s"), (120, "2m"), (330, "5m30s"), (600, "10m"),
        (10_799, "179m"), (10_800, "3h"), (12_600, "3h30m"), (28_800, "8h"), (172_799, "47h"), (172_800, "2d"),
        (180_000, "2d2h"), (691_200, "8d"), (63_072_000, "2y"), (64_000_000, "2y10d"), (252_288_000, "8y"),
    ],
)  # fmt: skip
def test_spans_are_written_in_one_or_two_units(seconds, text):
    assert human(timedelta(seconds=seconds)) == text


def test_an_age_nobody_knows_is_unknown():
    assert age(None, datetime(2030, 1, 1, tzinfo=UTC)) == "<unknown>"
