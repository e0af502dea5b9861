"""One stored message as it is shown: its CloudEvent and its place in the stream."""

from datetime import UTC, datetime
from typing import NamedTuple

import msgspec

from events.bus import Stored
from events.cloudevents import PREFIX, STRUCTURED, Malformed, decode, encode, escape, unescape
from events.telemetry import template_of
from schemas.discover import lifecycles
from schemas.registry import UNREADABLE
from schemas.subjects import names_of
from services.queries.item import Item

LIFECYCLES = lifecycles()
"""The lifecycles of all entities; loading them declares every message."""
_checked = msgspec.json.Decoder(msgspec.Raw).decode
_encoded = msgspec.json.Encoder().encode


class EventRecord(NamedTuple):
    """A message and the stream that keeps it."""

    stream: str
    stored: Stored

    @property
    def id(self) -> str:
        """``ce-id``; empty for what is no CloudEvent."""
        return self._attribute("id")

    @property
    def cause(self) -> str:
        """``ce-causationid``."""
        return self._attribute("causationid")

    @property
    def flow(self) -> str:
        """``ce-correlationid``."""
        return self._attribute("correlationid")

    @property
    def type(self) -> str:
        """``ce-type``."""
        return self._attribute("type")

    def _attribute(self, name: str) -> str:
        """A CloudEvents attribute, from the headers or from a structured event."""
        stored = self.stored
        found = stored.headers.get(f"{PREFIX}{name}", "")
        if found or not stored.headers.get("Content-Type", "").startswith(STRUCTURED):
            return found
        try:
            return encode(decode(stored.headers, stored.data))[0].get(f"{PREFIX}{name}", "")
        except Malformed:  # whatever anyone published is shown, too
            return ""

    @property
    def place(self) -> str:
        """Its stream and sequence, as `alate events get` takes them: ``EVENTS/42``."""
        return f"{self.stream}/{self.stored.sequence}"

    @property
    def names(self) -> dict[str, str]:
        """The names in its subject, as its declared template calls them, e.g. ``{"tenant": "acme", "name": "a"}``."""
        template = template_of(self.stored.subject).split(".")
        pairs = zip(template, names_of(self.stored.subject), strict=False)
        return {part[1:-1]: name for part, name in pairs if part.startswith("{")}

    def item(self) -> Item:
        """As JSON would have it: the event in CloudEvents' own JSON format."""
        stored = self.stored
        event = {name[3:]: _plain(name, value) for name, value in stored.headers.items() if name[:3] == "ce-"}
        where = {"stream": self.stream, "sequence": stored.sequence, "stored": stored.time, "subject": stored.subject}
        others = {name: value for name, value in stored.headers.items() if name[:3] != "ce-"}
        return {**where, "headers": others, "event": {**event, **_data(stored.data)}}

    def line(self) -> str:
        """The event as one line of JSON."""
        return _encoded(self.item()).decode() + "\n"

    def words(self) -> str:
        """One line for people."""
        cause = f"  <- {self.cause}" if self.cause else ""
        return f"{clock(self.stored.time)}  {self.place:<14}  {self.stored.subject:<52}  {self.id or '-'}{cause}\n"


class _Kept(msgspec.Struct):
    """A line of JSON, decoded."""

    stream: str
    sequence: int
    stored: datetime
    subject: str
    headers: dict[str, str]
    event: dict[str, msgspec.Raw]


def read(line: bytes) -> EventRecord:
    """The inverse of `EventRecord.line`, the data byte for byte; raises msgspec.DecodeError."""
    kept = msgspec.json.decode(line, type=_Kept)
    encoded, data = kept.event.pop("data_base64", None), kept.event.pop("data", msgspec.Raw(b""))
    whole = msgspec.json.decode(encoded, type=bytes) if encoded is not None else bytes(data)
    attributes = {name: msgspec.json.decode(value, type=str) for name, value in kept.event.items()}
    headers = {f"ce-{name}": escape(value) for name, value in attributes.items()} | kept.headers
    return EventRecord(kept.stream, Stored(kept.subject, whole, headers, kept.sequence, kept.stored))


def clock(time: datetime) -> str:
    """A moment of a day, in UTC."""
    return time.astimezone(UTC).isoformat(sep=" ", timespec="milliseconds").removesuffix("+00:00")


def _plain(name: str, value: str) -> str:
    try:
        return unescape(name, value)
    except Malformed:  # whatever anyone published is shown, too
        return value


def _data(data: bytes) -> Item:
    if not data:
        return {}
    try:
        data.decode()  # what is taken over as it stands is not looked at by the decoder
        return {"data": _checked(data)} if b"\n" not in data else {"data_base64": data}  # a line stays one
    except UNREADABLE:  # whatever anyone published is shown, too
        return {"data_base64": data}
