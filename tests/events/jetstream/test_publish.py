"""What a publish asks of the server."""

from datetime import UTC, datetime

from events.bus import Expect, Message, Timer
from events.jetstream.api import headers_of, timer_headers

SAID = Message("cluster.a.t.x", b"", {"ce-id": "1"})


def test_a_plain_publish_asks_for_nothing_but_to_be_stored_once():
    assert headers_of(SAID, None, None, "id") == {"ce-id": "1", "Nats-Msg-Id": "id"}


def test_swap_and_cancelled_timer_travel_in_one_message():
    asked = headers_of(SAID, Expect("cluster.*.t.x", 7), "timer.cluster.t.x", "id")
    assert asked == {
        "ce-id": "1",
        "Nats-Msg-Id": "id",
        "Nats-Expected-Last-Subject-Sequence": "7",
        "Nats-Expected-Last-Subject-Sequence-Subject": "cluster.*.t.x",
        "Nats-Scheduler": "timer.cluster.t.x",
        "Nats-Schedule-Next": "purge",
    }


def test_a_timer_says_when_where_and_how_long_it_is_kept():
    at = datetime(2026, 1, 2, 3, 4, 5, 678900, tzinfo=UTC)
    assert timer_headers(Timer("timer.x", "due.x", at)) == {
        "Nats-Schedule": "@at 2026-01-02T03:04:05.678900+00:00",
        "Nats-Schedule-Target": "due.x",
        "Nats-Schedule-TTL": "24h",
    }
