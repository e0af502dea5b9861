"""Groups dead letters by consumer and reason."""

import re
from collections.abc import Iterable
from hashlib import blake2b
from typing import NamedTuple

from events.meters import OTHER
from events.streams import REASON, SUBJECT
from events.telemetry import template_of
from services.errors import BadInput
from services.eventlog.record import EventRecord
from services.queries.item import Item

_VARIES = re.compile(r"""'[^']*'|"[^"]*"|\b[0-9a-f]{8,}(?:-[0-9a-f]+)*\b|\d+(?:\.\d+)*""")
ALL = "all"


class DeadLetter(NamedTuple):
    """One dead letter."""

    record: EventRecord

    @property
    def number(self) -> int:
        """Its sequence in the stream of dead letters."""
        return self.record.stored.sequence

    @property
    def failed(self) -> tuple[str, str]:
        """The stream and consumer that failed; empty if no consumer rejected it."""
        match self.record.stored.subject.split("."):
            case ["dlq", stream, consumer]:
                return stream, consumer
        return "", ""

    @property
    def reason(self) -> str:
        """The reason."""
        return self.record.stored.headers.get(REASON, "")

    @property
    def subject(self) -> str:
        """The message's original subject."""
        return self.record.stored.headers.get(SUBJECT, "")

    @property
    def template(self) -> str:
        """Its declared template; the subject itself if it is not ours."""
        found = template_of(self.subject)
        return self.subject if found == OTHER else found

    @property
    def fingerprint(self) -> str:
        """A key that is equal for letters with the same cause; names, numbers and ids in the reason do not count."""
        alike = _VARIES.sub("*", self.reason.replace(self.subject, self.template))
        return blake2b("\0".join((*self.failed, self.template, alike)).encode(), digest_size=4).hexdigest()

    def item(self) -> Item:
        """As JSON would have it."""
        failed = dict(zip(("stream", "consumer"), self.failed, strict=True))
        what = {"number": self.number, "fingerprint": self.fingerprint, "reason": self.reason, "failed": failed}
        return what | {"publishedOn": self.subject, "message": self.record.item()}


def grouped(letters: Iterable[DeadLetter]) -> list[Item]:
    """One item per cause, ordered by the newest letter."""
    groups: dict[str, list[DeadLetter]] = {}
    for letter in letters:
        groups[letter.fingerprint] = [*groups.pop(letter.fingerprint, ()), letter]
    return [_group(*each) for each in groups.items()]


def _group(fingerprint: str, letters: list[DeadLetter]) -> Item:
    first, last = letters[0], letters[-1]
    return {
        "fingerprint": fingerprint,
        "count": len(letters),
        "consumer": last.failed[1],
        "stream": last.failed[0],
        "subject": last.template,
        "first": first.record.stored.time,
        "last": last.record.stored.time,
        "reason": last.reason,
        "numbers": [letter.number for letter in letters],
    }


def chosen(letters: Iterable[DeadLetter], which: str) -> list[DeadLetter]:
    """The letters with a number or a fingerprint, or all. Raises BadInput if there are none."""
    found = [letter for letter in letters if which in (ALL, str(letter.number), letter.fingerprint)]
    if not found and which != ALL:
        raise BadInput(f"no dead letter is {which}: must be a number or a fingerprint of `alate events dlq ls`, or all")
    return found
