"""CloudEvents 1.0 on NATS headers: binary mode out, binary and structured mode in."""

import binascii
import re
from base64 import b64decode
from collections.abc import Mapping
from datetime import UTC, datetime
from functools import lru_cache
from hashlib import blake2b
from typing import Annotated

import msgspec

from schemas.registry import UNREADABLE, why

VERSION = "1.0"
PREFIX = "ce-"
STRUCTURED = "application/cloudevents"
JSON = "application/json"

_PLAIN = re.compile(r"[!#$&-~]*")  # printable ASCII but space, quote and percent (NATS binding 3.1.3.2)
_NAME = re.compile(r"[a-z0-9]+")
_HEX = re.compile(rb"%([0-9A-Fa-f]{2})?")
_ESCAPED_QUOTE = re.compile(r"\\(.)", re.DOTALL)
_NATIVE = ("id", "source", "type", "subject", "datacontenttype", "dataschema")
_RESERVED = frozenset({*_NATIVE, "specversion", "time", "data"})


class Malformed(ValueError):
    """The input is no CloudEvent; the message is one sentence."""


class CloudEvent(msgspec.Struct, frozen=True, kw_only=True):
    """One event; extension values are their canonical strings (``true``, ``5``)."""

    id: str
    source: str
    type: str
    subject: str | None = None
    time: datetime | None = None
    """When it happened (aware)."""
    datacontenttype: str | None = None
    dataschema: str | None = None
    extensions: dict[str, str] = {}
    data: bytes = b""


def encode(event: CloudEvent) -> tuple[dict[str, str], bytes]:
    """Headers and data in binary mode; raises `Malformed` for what no receiver could read."""
    headers = {"ce-specversion": VERSION, "ce-id": event.id, "ce-source": event.source, "ce-type": event.type}
    if event.subject:
        headers["ce-subject"] = event.subject
    if event.time:
        headers["ce-time"] = _stamp(event.time)
    if event.datacontenttype:
        headers["ce-datacontenttype"] = event.datacontenttype
    if event.dataschema:
        headers["ce-dataschema"] = event.dataschema
    for name, value in event.extensions.items():
        headers[_header(name)] = value
    # One look at all values together: nearly all of ours are plain.
    if not _PLAIN.fullmatch("".join(headers.values())):
        headers = {name: escape(value) for name, value in headers.items()}
    return headers, event.data


def structured(event: CloudEvent) -> bytes:
    """The JSON event format; data that is JSON is embedded unchanged. Raises `Malformed`."""
    members = {name: value for name, value in msgspec.structs.asdict(event).items() if value and name in _NATIVE}
    stamp = {"time": _stamp(event.time)} if event.time else {}
    data = {"data": msgspec.Raw(event.data)} if event.data else {}
    return msgspec.json.encode({"specversion": VERSION, **members, **stamp, **event.extensions, **data})


def decode(headers: Mapping[str, str], data: bytes) -> CloudEvent:
    """Read a message of either mode; raises `Malformed`.

    A message without any header is structured: older senders know no other mode (NATS binding 1.0.1).
    """
    lowered = {name.lower(): value for name, value in headers.items()}
    media = lowered.get("content-type", "").partition(";")[0].strip().lower()
    if media in {STRUCTURED, STRUCTURED + "+json"}:
        return _structured(data)
    if media.startswith(STRUCTURED):
        raise Malformed(f"content type {media!r} cannot be read here: expected {STRUCTURED}+json or binary mode")
    found = {name[3:]: unescape(name, value) for name, value in lowered.items() if name.startswith(PREFIX)}
    if not found and not media:
        return _structured(data)
    return _event(found, data)


def msg_id(event: CloudEvent) -> str:
    """The event's identity (source and id) as a ``Nats-Msg-Id`` of 32 characters."""
    return blake2b(f"{event.source}\0{event.id}".encode(), digest_size=16).hexdigest()


def escape(value: str) -> str:
    """A header value, percent-encoded where needed; most values need no encoding."""
    return value if _PLAIN.fullmatch(value) else _percent(value)


def unescape(name: str, value: str) -> str:
    """The inverse of `escape`, which also takes a quoted value and needless escapes; raises `Malformed`."""
    if len(value) > 1 and value[0] == value[-1] == '"':
        value = _ESCAPED_QUOTE.sub(r"\1", value[1:-1])
    if "%" not in value:
        return value
    try:
        return _HEX.sub(lambda found: bytes.fromhex(found[1].decode()), value.encode()).decode()
    except (UnicodeError, AttributeError) as error:
        raise Malformed(f"{name} is {value!r}: its percent-encoding is not that of UTF-8 text") from error


def _percent(value: str) -> str:
    try:
        return "".join(c if _PLAIN.fullmatch(c) else "".join(f"%{b:02X}" for b in c.encode()) for c in value)
    except UnicodeEncodeError as error:
        raise Malformed(f"{value!r} holds half a character (a lone surrogate)") from error


def _stamp(time: datetime) -> str:
    if time.tzinfo is None:
        raise Malformed(f"time {time} has no time zone")
    stamp: str = msgspec.to_builtins(time.astimezone(UTC))  # a tenth of what isoformat costs
    return stamp


@lru_cache(maxsize=256)
def _header(name: str) -> str:
    if not _NAME.fullmatch(name) or name in _RESERVED:
        raise Malformed(f"{name!r} cannot be an extension's name: expected lower-case letters and digits")
    return PREFIX + name


def _event(found: dict[str, str], data: bytes) -> CloudEvent:
    version = found.pop("specversion", None)
    if version != VERSION:
        raise Malformed(f"specversion is {version or 'absent'}: expected {VERSION}")
    absent = [name for name in ("id", "source", "type") if not found.get(name)]
    if absent:
        raise Malformed(f"the event has no {', no '.join(absent)}")
    time = _time(found.pop("time", None))
    native = {name: found.pop(name, None) or None for name in _NATIVE}
    for name in found:
        _header(name)
    return _build(native, time, found, data)


def _build(native: dict[str, str | None], time: datetime | None, extensions: dict[str, str], data: bytes) -> CloudEvent:
    return CloudEvent(
        id=native["id"] or "",
        source=native["source"] or "",
        type=native["type"] or "",
        subject=native["subject"],
        time=time,
        datacontenttype=native["datacontenttype"],
        dataschema=native["dataschema"],
        extensions=extensions,
        data=data,
    )


_Aware = Annotated[datetime, msgspec.Meta(tz=True)]


def _time(text: str | None) -> datetime | None:
    if text is None:
        return None
    try:
        return msgspec.convert(text, _Aware)
    except msgspec.ValidationError as error:
        raise Malformed(f"time is {text!r}: expected RFC 3339, e.g. 2018-04-05T17:31:00Z") from error


_members = msgspec.json.Decoder(dict[str, msgspec.Raw]).decode
_scalar = msgspec.json.Decoder(str | int | bool | None).decode
_text = msgspec.json.Decoder(str).decode


def _structured(body: bytes) -> CloudEvent:
    """The JSON event format, whose ``data`` is kept byte for byte."""
    try:
        members = _members(body)
    except UNREADABLE as error:
        raise Malformed(f"the message is no CloudEvent in JSON: {why(error)}") from error
    data, encoded = members.pop("data", None), members.pop("data_base64", None)
    found = {name: text for name, raw in members.items() if (text := _attribute(name, raw)) is not None}
    if data is not None and encoded is not None:
        raise Malformed("the event has both data and data_base64: expected one of them")
    if encoded is not None:
        return _event(found, _binary(encoded))
    if data is None:
        return _event(found, b"")
    media = found.setdefault("datacontenttype", JSON)  # what its absence implies (JSON format 3.1.2)
    return _event(found, bytes(data) if _is_json(media) else _string("data", data).encode())


def _is_json(media: str) -> bool:
    subtype = media.partition(";")[0].strip().lower().rpartition("/")[2]
    return subtype == "json" or subtype.endswith("+json")


def _attribute(name: str, raw: msgspec.Raw) -> str | None:
    try:
        value = _scalar(raw)
    except UNREADABLE as error:
        raise Malformed(f"{name} is {_shown(raw)}: must be a string, an integer or a boolean") from error
    return str(value).lower() if isinstance(value, bool) else None if value is None else str(value)


def _string(name: str, raw: msgspec.Raw) -> str:
    try:
        return _text(raw)
    except UNREADABLE as error:
        raise Malformed(f"{name} is {_shown(raw)}: must be a string") from error


def _shown(raw: msgspec.Raw) -> str:
    """The beginning of a value, for an error message."""
    text = bytes(raw).decode(errors="replace")
    return text if len(text) <= 40 else f"{text[:39]}…"


def _binary(raw: msgspec.Raw) -> bytes:
    try:
        return b64decode(_string("data_base64", raw), validate=True)
    except binascii.Error as error:
        raise Malformed(f"data_base64 is not base64: {error}") from error
