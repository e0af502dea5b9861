"""Counts lost and duplicate transitions from every message that the bus keeps."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import groupby
from typing import NamedTuple

from schemas.subjects import Key

TERMINAL = {"cluster": "released", "addon": "withdrawn", "teardown": "gone"}
"""Where each kind of entity must have ended."""


class Record(NamedTuple):
    """One message of a history."""

    sequence: int
    event: str
    uid: str
    revision: int
    id: str
    """``ce-id``."""


class Purchase(NamedTuple):
    """What one attempt should have cost, and what was made for it."""

    attempt: str
    """``<namespace>/<name>`` of its cluster."""
    bought: int
    """Machines of the chosen offer."""
    made: int
    """Machines the cloud says it ever ran for it."""


@dataclass(frozen=True)
class Evidence:
    """What was found when everything was over."""

    histories: Mapping[Key, Sequence[Record]]
    expected: frozenset[Key] = frozenset()
    """Entities that must have a history."""
    dead_letters: int = 0
    unanswered: Mapping[str, int] = field(default_factory=dict)
    """By durable consumer."""
    purchases: tuple[Purchase, ...] = ()


@dataclass(frozen=True)
class CountResult:
    """Everything that is lost or duplicated, in words."""

    lost: tuple[str, ...] = ()
    duplicates: tuple[str, ...] = ()


def audit(evidence: Evidence) -> CountResult:
    """Count what is missing, and what is there more than once."""
    lost = [
        *(f"{_path(key)} has no history" for key in sorted(evidence.expected - evidence.histories.keys())),
        *(gap for key, history in evidence.histories.items() for gap in _gaps(key, history)),
        *(open_ for key, history in evidence.histories.items() for open_ in _open(key, history)),
        *(f"dead letter {number}" for number in range(1, evidence.dead_letters + 1)),
        *(f"{count} unanswered of {name}" for name, count in evidence.unanswered.items() if count),
    ]
    twice = [
        *(again for key, history in evidence.histories.items() for again in _again(key, history)),
        *(f"{machine} made beyond what was bought" for each in evidence.purchases for machine in _surplus(each)),
    ]
    return CountResult(tuple(lost), tuple(twice))


def _path(key: Key) -> str:
    return "/".join(key)


def _incarnations(history: Sequence[Record]) -> Iterable[tuple[str, list[Record]]]:
    ordered = sorted(history, key=lambda record: record.sequence)
    return [(uid, list(records)) for uid, records in groupby(ordered, key=lambda record: record.uid)]


def _gaps(key: Key, history: Sequence[Record]) -> Iterable[str]:
    """Each incarnation begins at revision 1 and leaves none out."""
    for uid, records in _incarnations(history):
        there = {record.revision for record in records}
        yield from (f"{_path(key)} {uid} revision {n}" for n in range(1, max(there)) if n not in there)


def _open(key: Key, history: Sequence[Record]) -> Iterable[str]:
    last = max(history, key=lambda record: record.sequence, default=None)
    if last is None:
        yield f"{_path(key)} has no history"
    elif last.event != TERMINAL[key.domain]:
        yield f"{_path(key)} ended as {last.event}, not as {TERMINAL[key.domain]}"


def _again(key: Key, history: Sequence[Record]) -> Iterable[str]:
    """A revision or an event's id that occurs twice."""
    revisions: set[tuple[str, int]] = set()
    ids: set[str] = set()
    for record in history:
        mark = (record.uid, record.revision)
        if mark in revisions or record.id in ids:
            yield f"{_path(key)} {record.uid} revision {record.revision} at {record.sequence}"
        revisions.add(mark)
        ids.add(record.id)


def _surplus(purchase: Purchase) -> Iterable[str]:
    return (f"machine {n} of {purchase.attempt}" for n in range(purchase.bought + 1, purchase.made + 1))
