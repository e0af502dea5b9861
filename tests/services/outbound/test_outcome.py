"""A receiver's answer is done, tried again, or buried, by one table."""

from datetime import UTC, datetime, timedelta

import pytest

from services.outbound.outcome import Outcome, ReceiverResponse, outcome, retry_delay

NOW = datetime(2026, 1, 1, 12, tzinfo=UTC)


@pytest.mark.parametrize(
    ("expected", "statuses"),
    [
        (Outcome.DELIVERED, (200, 201, 202, 204)),
        (Outcome.AGAIN, (401, 403, 404, 408, 409, 425, 429, 500, 502, 503, 504)),
        (Outcome.NEVER, (301, 302, 307, 308, 400, 410, 413, 415, 422, 501)),
    ],
)
def test_a_status_means_one_thing(expected, statuses):
    assert {outcome(ReceiverResponse(status)) for status in statuses} == {expected}


def test_a_status_that_gitlab_has_already_is_delivered():
    said = b'{"message":"Cannot transition status via :run from :running"}'
    assert outcome(ReceiverResponse(400, body=said)) is Outcome.DELIVERED


@pytest.mark.parametrize(
    ("header", "seconds"),
    [
        ("", 0.0),
        ("120", 120.0),
        ("Thu, 01 Jan 2026 12:01:30 GMT", 90.0),
        ("Thu, 01 Jan 2026 11:00:00 GMT", 0.0),
        ("99999999999999", 86_400.0),
        ("Fri, 01 Jan 2027 12:00:00 GMT", 86_400.0),
        ("soon", 0.0),
        ("-5", 0.0),
    ],
)
def test_a_receiver_says_how_long_it_wants_to_be_left_alone_for_a_day_at_most(header, seconds):
    assert retry_delay(ReceiverResponse(429, header), NOW) == seconds


@pytest.mark.parametrize("hours", [1, -1])
def test_until_when_a_receiver_wants_to_be_left_alone_is_by_its_own_clock(hours):
    answer = ReceiverResponse(429, "Thu, 01 Jan 2026 12:01:30 GMT", date="Thu, 01 Jan 2026 12:00:00 GMT")
    assert retry_delay(answer, NOW + timedelta(hours=hours)) == 90.0
