"""A dead letter keeps everything and says why."""

from datetime import UTC, datetime

from events.bus import Consumer, Stored
from events.streams import dead_letter, one_line


def test_the_letter_keeps_contents_headers_and_place():
    stored = Stored("cluster.a.t.x", b"data", {"ce-id": "1"}, 7, datetime.now(UTC))
    letter = dead_letter(stored, Consumer("work", "EVENTS", ()), "no such field")
    assert (letter.subject, letter.data) == ("dlq.EVENTS.work", b"data")
    assert letter.headers == {
        "ce-id": "1",
        "Alate-Dlq-Reason": "no such field",
        "Alate-Dlq-Subject": "cluster.a.t.x",
        "Alate-Dlq-Sequence": "7",
    }


def test_a_reason_of_many_lines_fits_one_header():
    assert one_line("  first\r\n\tsecond \n") == "first second"
