"""Reads a recorded message for a dry run."""

import msgspec

from events.bus import Stored
from events.cloudevents import STRUCTURED, Malformed, decode
from schemas.discover import lifecycles
from schemas.registry import UNREADABLE, Stream, named
from services.edge.triggers.delivery import BusEvent, read_heard


class InvalidSample(ValueError):
    """The sample is nothing that the Trigger could hear; the message says why, of "it"."""


class _Recorded(msgspec.Struct):
    """A message as `alate events get` shows it in JSON; other messages have neither field."""

    subject: str
    event: msgspec.Raw


def bus_event(body: bytes) -> BusEvent | None:
    """The message in a sample: a recorded one, or the CloudEvent alone; None if it is no message of ours.

    Raises InvalidSample.
    """
    try:
        recorded = msgspec.json.decode(body, type=_Recorded)
        return _read(bytes(recorded.event), recorded.subject)
    except UNREADABLE:
        return _read(body, "")


def _read(body: bytes, subject: str) -> BusEvent | None:
    headers = {"content-type": f"{STRUCTURED}+json"}
    try:
        event = decode(headers, body)
    except (Malformed, UnicodeDecodeError, RecursionError) as error:
        if subject:
            raise InvalidSample(f"holds no CloudEvent in JSON: {error}") from error
        return None
    found = subject or _subject(event.type, event.subject or "")
    if not found:
        return None
    try:
        heard = read_heard(Stored(found, body, headers))
    except Malformed as error:
        raise InvalidSample(f"is no message that a Trigger hears: {error}") from error
    return heard if isinstance(heard, BusEvent) else None


def _subject(kind: str, about: str) -> str:
    """The subject of an event of ours; empty if it is another's, or of none that Triggers hear."""
    lifecycles()  # every message is declared now
    declaration, names = named(kind), about.split("/")
    if declaration is None or declaration.stream is Stream.INTAKE:
        return ""
    return declaration.at(*names) if len(names) == declaration.subject.count("{") else ""
