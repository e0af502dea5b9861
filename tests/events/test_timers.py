"""A timer's header says its time."""

from datetime import UTC, datetime

from events.bus import SCHEDULE, Timer, schedule


def test_the_header_reads_as_the_server_wants_it():
    at = datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)
    assert schedule(Timer("timer.x", "due.x", at)) == {SCHEDULE: "@at 2026-01-02T03:04:05+00:00"}
