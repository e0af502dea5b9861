"""What a stream keeps now is the newest of each subject, also of what came while it was being listed."""

import pytest

from events.bus import CaughtUp, Relisting, Stored
from events.streams import standing, tips, tombstone


class Scripted:
    """A bus with one feed, as it is written."""

    def __init__(self, *script):
        self.script = script

    async def feed(self, stream, *filters):
        for fed in self.script:
            yield fed


def at(sequence, subject="observed.infra.a", data=b"{}"):
    return Stored(subject, data, {}, sequence)


def gone(sequence, subject="observed.infra.a"):
    return Stored(subject, b"", tombstone(subject).headers, sequence)


@pytest.mark.parametrize(
    ("script", "kept"),
    [
        ((at(1), at(2, "observed.infra.b"), at(3)), [2, 3]),
        ((at(1), at(2, "observed.infra.b"), gone(3)), [2]),
        ((at(1), Relisting(), at(2, "observed.infra.b")), [2]),
    ],
)
async def test_of_each_subject_the_newest_is_kept_and_nothing_of_what_is_gone(script, kept):
    found = await tips(Scripted(*script, CaughtUp(), at(9)), "LEVELS", "observed.>")
    assert [stored.sequence for stored in standing(found)] == kept
