"""A message as the page lists it: subject, time, id, cause and the cluster it is about, without its payload."""

from datetime import datetime

import msgspec

from events.bus import Stored
from schemas.discover import lifecycles
from schemas.registry import Stream, declarations
from services.eventlog.filters import about
from services.eventlog.record import EventRecord

lifecycles()  # imports, and so declares, every message
GROUPED_BY_TWO = frozenset({"LEVELS", "INTAKE"})
"""Streams whose subjects are grouped by two tokens instead of one."""


class MessageSummary(msgspec.Struct, frozen=True, omit_defaults=True):
    """One message."""

    position: str
    """Stream and sequence, as `alate events get` takes it."""
    at: datetime
    group: str
    """The subject group it belongs to."""
    event: str
    subject: str
    tenant: str = ""
    name: str = ""
    """The cluster (of a request: the Colony) it is about."""
    id: str = ""
    cause: str = ""


class SubjectGroup(msgspec.Struct, frozen=True, omit_defaults=True):
    """The subjects that one service publishes on one topic, e.g. all states of clusters."""

    name: str
    publisher: str
    snapshot: bool = False
    """Whether only the newest value of each subject is kept: there are many of these."""


def group_of(stream: str, subject: str) -> str:
    """The name of the group a subject belongs to."""
    tokens = subject.split(".", 2)
    return ".".join(tokens[:2]) if stream in GROUPED_BY_TWO else tokens[0]


def subject_groups() -> tuple[SubjectGroup, ...]:
    """Every group there can be, by publisher."""
    found = {group_of(each.stream, each.subject): (each.owner, each.stream is Stream.LEVELS) for each in declarations()}
    rows = [SubjectGroup(name, owner, snapshot) for name, (owner, snapshot) in found.items()]
    rows = [*rows, SubjectGroup("hook", "edge")]
    return (*sorted(rows, key=lambda row: (row.publisher, row.name)), SubjectGroup("dlq", "dead letters"))


def summarize(stream: str, stored: Stored) -> MessageSummary:
    """Summarize one message; a payload that cannot be read leaves what the subject and the headers tell."""
    said = EventRecord(stream, stored)
    tenant, name = about(said)
    return MessageSummary(
        position=said.place,
        at=stored.time,
        group=group_of(stream, stored.subject),
        event=(*stored.subject.split("."), "")[1],
        subject=stored.subject,
        tenant=tenant,
        name=name,
        id=said.id,
        cause=said.cause,
    )
