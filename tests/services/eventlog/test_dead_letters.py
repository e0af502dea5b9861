from datetime import UTC, datetime

import pytest

from events.bus import Stored
from events.streams import REASON, SUBJECT
from services.errors import BadInput
from services.eventlog.dead_letters import DeadLetter, chosen, grouped
from services.eventlog.record import EventRecord

AT = datetime(2026, 1, 1, tzinfo=UTC)


def letter(
    number: int, reason: str, subject: str = "cluster.requested", dead: str = "INTAKE.gateway-intake"
) -> DeadLetter:
    return DeadLetter(EventRecord("DLQ", Stored(f"dlq.{dead}", b"", {REASON: reason, SUBJECT: subject}, number, AT)))


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (letter(1, 'name is "a": must be b'), letter(2, 'name is "c d": must be b')),
        (letter(1, "the request has 300000 bytes"), letter(2, "the request has 300001 bytes")),
        (letter(1, "cluster.requested.a: no"), letter(2, "cluster.requested.a: no")),
        (
            letter(1, "cluster.ready.t.a: no", "cluster.ready.t.a", "EVENTS.x"),
            letter(2, "cluster.ready.t.b: no", "cluster.ready.t.b", "EVENTS.x"),
        ),
        (
            letter(1, "uid 74ee2811-b60c-428b-ace5-5d5572e447a7 is"),
            letter(2, "uid 84ee2811-b60c-428b-ace5-5d5572e447a7 is"),
        ),
    ],
)
def test_letters_that_failed_alike_are_of_one_cause(one, other):
    assert one.fingerprint == other.fingerprint


@pytest.mark.parametrize(
    "other",
    [
        letter(2, "another"),
        letter(2, "reason", "cluster.ready.t.a"),
        letter(2, "reason", dead="EVENTS.gateway-intake"),
        letter(2, "reason", dead="INTAKE.other"),
    ],
)
def test_letters_that_failed_otherwise_are_not(other):
    assert letter(1, "reason").fingerprint != other.fingerprint


def test_a_group_tells_how_many_there_are_and_which():
    groups = grouped([letter(1, "x 1"), letter(2, "y"), letter(5, "x 2")])
    assert [(group["count"], group["numbers"], group["reason"]) for group in groups] == [
        (1, [2], "y"),
        (2, [1, 5], "x 2"),
    ]


def test_letters_are_chosen_by_number_by_fingerprint_or_all():
    letters = [letter(1, "x 1"), letter(2, "y"), letter(5, "x 2")]
    assert [each.number for each in chosen(letters, "2")] == [2]
    assert [each.number for each in chosen(letters, letters[0].fingerprint)] == [1, 5]
    assert chosen(letters, "all") == letters
    assert chosen([], "all") == []
    with pytest.raises(BadInput, match="no dead letter is 3"):
        chosen(letters, "3")
