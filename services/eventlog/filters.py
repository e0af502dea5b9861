"""Filters messages: by subject in the server, by everything else here."""

from dataclasses import dataclass
from typing import Final

import msgspec

from events.bus import REDRIVE
from events.streams import ENTITIES
from schemas.registry import UNREADABLE
from schemas.subjects import token
from services.errors import BadInput
from services.eventlog.record import EventRecord
from services.queries.item import Item

STREAMS: Final = ("EVENTS", "LEVELS", "INTAKE", "HOOKS", "DLQ")
"""The streams with events."""
USUAL: Final = ("EVENTS", "INTAKE", "DLQ")
"""The streams without levels, which are many."""


def is_event(stream: str, subject: str) -> bool:
    """Whether a message is an event; timers and redeliveries are not."""
    first = subject.partition(".")[0]
    return first in ENTITIES if stream == "EVENTS" else first != REDRIVE


@dataclass(frozen=True)
class Which:
    """A filter of messages; a field that is not set matches everything."""

    streams: tuple[str, ...] = USUAL
    subject: str | None = None
    """A filter as NATS writes it, e.g. ``cluster.ready.>``."""
    tenant: str | None = None
    cluster: str | None = None
    """Name of the cluster; matches its add-ons, nodes and teardown, too."""
    type: str | None = None
    """CloudEvents type; ``dev.alate.`` may be left out."""

    def check(self) -> "Which":
        """Check the filter; raises BadInput."""
        if unknown := [stream for stream in self.streams if stream not in STREAMS]:
            raise BadInput(f"there is no stream {unknown[0]}: must be one of {', '.join(STREAMS)}")
        tokens = (">" if self.subject is None else self.subject).split(".")
        if not all(tokens) or any(" " in one for one in tokens) or ">" in tokens[:-1]:
            raise BadInput(
                f"{self.subject!r} is no subject filter: must be such as cluster.ready.> or cluster.*.acme.*"
            )
        return self

    def filter(self, stream: str) -> str:
        """The filter for the server: always one, since several make it four times slower."""
        if self.subject is not None:
            return self.subject
        return f"*.*.{token(self.tenant)}.*" if stream == "EVENTS" and self.tenant is not None else ">"

    def lets(self, record: EventRecord) -> bool:
        """Whether a message matches."""
        if not is_event(record.stream, record.stored.subject):
            return False
        if self.type is not None and record.type not in (self.type, f"dev.alate.{self.type}"):
            return False
        if self.tenant is None and self.cluster is None:
            return True
        tenant, cluster = about(record)
        return self.tenant in (None, tenant) and self.cluster in (None, cluster)


def about(record: EventRecord) -> tuple[str, str]:
    """The tenant and the cluster (of a request: the Colony) a message is about; empty where it is about none."""
    names = record.names
    if record.stream == "INTAKE":
        selected = _asked(record.stored.data)
        return names.get("tenant") or str(selected.get("tenant", "")), str(selected.get("name", ""))
    name = names.get("cluster") or names.get("name") or names.get("object", "").rpartition("-")[0]
    return names.get("tenant", ""), name.partition(".")[0]


def _asked(data: bytes) -> Item:
    try:
        return msgspec.json.decode(data, type=dict)
    except UNREADABLE:
        return {}
