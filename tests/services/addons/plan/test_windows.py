"""Windows: five fields of cron and a duration, in UTC."""

from datetime import UTC, datetime, timedelta, timezone

import pytest

from services.addons.plan.windows import closed_until, unreadable

MONDAY = datetime(2026, 1, 5, tzinfo=UTC)
NIGHTS = ["0 2 * * 1-5 4h"]


@pytest.mark.parametrize(("hour", "minute", "opened"), [(1, 59, False), (2, 0, True), (5, 59, True), (6, 0, False)])
def test_a_window_is_open_from_its_beginning_for_its_duration(hour, minute, opened):
    assert (closed_until(NIGHTS, MONDAY.replace(hour=hour, minute=minute)) is None) == opened


def test_after_friday_the_next_one_opens_on_monday():
    friday = MONDAY + timedelta(days=4, hours=7)
    assert closed_until(NIGHTS, friday) == MONDAY + timedelta(days=7, hours=2)


def test_a_window_that_lasts_over_midnight_is_open_after_it():
    assert closed_until(["0 22 * * 0 4h"], MONDAY.replace(hour=1)) is None


def test_of_several_one_is_enough_and_the_next_to_open_counts():
    assert closed_until([*NIGHTS, "0 12 * * * 1h"], MONDAY.replace(hour=12, minute=30)) is None
    assert closed_until([*NIGHTS, "0 12 * * * 1h"], MONDAY.replace(hour=11)) == MONDAY.replace(hour=12)


def test_the_hours_are_those_of_utc():
    there = timezone(timedelta(hours=9))
    assert closed_until(NIGHTS, datetime(2026, 1, 5, 12, tzinfo=there)) is None


def test_without_windows_changes_may_always_begin():
    assert closed_until([], MONDAY) is None


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("at night", "must be five fields of cron and a duration"),
        ("0 0 2 * * * 4h", "must be five fields of cron and a duration"),
        ("0 25 * * * 4h", "cannot be read: Bad hour"),
        ("0 2 30 2 * 4h", "cannot be read: Bad day-of-month"),
        ("0 2 * * * soon", "must be a duration such as 90s or 1h30m"),
        ("0 2 * * * 0s", "must last longer than nothing"),
    ],
)
def test_what_is_wrong_with_a_window_is_said(text, why):
    assert why in unreadable([*NIGHTS, text])
