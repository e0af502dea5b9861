"""Decodes the protobuf that newer clients send for some kinds, by a table of field numbers.

``data/protobuf.json`` holds the field numbers of the generated.proto files of Kubernetes 1.36 (Apache-2.0), for the
kinds that typed clients send; ``+`` marks a struct that is embedded in JSON.
"""

from base64 import b64encode
from collections.abc import Callable, Iterator
from datetime import UTC, datetime

import msgspec

from events.kube.client import Object
from services.sandbox.api.schema.builtin import data
from services.sandbox.api.status import bad_request, unsupported

MEDIA = "application/vnd.kubernetes.protobuf"
_MAGIC = b"k8s\0"


def decode(body: bytes) -> Object:
    """An object in its envelope. Raises `Refused`: 415 for a kind that is not in the table."""
    if not body.startswith(_MAGIC):
        raise bad_request("the body is no Kubernetes protobuf: it does not begin with its magic number")
    try:
        envelope = _message(body[4:], "Unknown")
        type_meta = envelope.get("typeMeta", {})
        kind = type_meta.get("kind", "")
        if kind not in data("protobuf")["kinds"]:
            raise unsupported(f"{kind} is not understood as protobuf: send it as application/json")
        return {**type_meta, **_message(envelope.get("raw", b""), kind)}
    except (IndexError, UnicodeDecodeError) as error:
        raise bad_request(f"the body is no Kubernetes protobuf: {error}") from None


def _message(raw: bytes, type_: str) -> Object:
    table = data("protobuf")["messages"].get(type_)
    if table is None:
        raise unsupported(f"{type_} is not understood as protobuf: send it as application/json")
    found: Object = {}
    for number, value in _fields(raw):
        name, of = table.get(str(number)) or _unknown(type_, number)
        _put(found, name, of, value)
    return found


def _unknown(type_: str, number: int) -> tuple[str, str]:
    raise unsupported(f"field {number} of {type_} is not understood as protobuf: send it as application/json")


def _put(found: Object, name: str, of: str, value: int | bytes) -> None:
    if of.startswith("+") and isinstance(value, bytes):  # embedded in Go: its fields are this object's
        found.update(_message(value, of[1:]))
    elif of.startswith("[]"):
        found.setdefault(name, []).append(_value(value, of[2:]))
    elif of.startswith("{}"):
        entry = dict(_fields(value)) if isinstance(value, bytes) else {}
        found.setdefault(name, {})[_text(entry.get(1, b""))] = _value(entry.get(2, b""), of[2:])
    elif (decoded := _value(value, of)) not in ("", None):  # Go writes empty texts too
        found[name] = decoded


def _value(value: int | bytes, of: str) -> object:
    if isinstance(value, int):
        return bool(value) if of == "boolean" else _signed(value)
    return _READERS[of](value) if of in _READERS else _message(value, of)


def _signed(value: int) -> int:
    return value - (1 << 64) if value >> 63 else value


def _text(value: int | bytes) -> str:
    return value.decode() if isinstance(value, bytes) else ""


def _base64(value: bytes) -> str:
    return b64encode(value).decode()


def _quantity(value: bytes) -> str:
    return _text(dict(_fields(value)).get(1, b""))


def _int_or_string(value: bytes) -> int | str:
    found = dict(_fields(value))
    number = found.get(2, 0)
    return _text(found.get(3, b"")) if found.get(1) else number if isinstance(number, int) else 0


def _time(value: bytes) -> str | None:
    seconds = dict(_fields(value)).get(1)
    return f"{datetime.fromtimestamp(seconds, UTC):%Y-%m-%dT%H:%M:%SZ}" if isinstance(seconds, int) else None


def _json(value: bytes) -> object:
    raw = dict(_fields(value)).get(1)
    return msgspec.json.decode(raw) if isinstance(raw, bytes) and raw else None


_READERS: dict[str, Callable[[bytes], object]] = {
    "string": _text,
    "base64": _base64,
    "bytes": bytes,
    "quantity": _quantity,
    "int-or-string": _int_or_string,
    "time": _time,
    "json": _json,
}


def _fields(raw: int | bytes) -> Iterator[tuple[int, int | bytes]]:
    if isinstance(raw, int):
        return
    at = 0
    while at < len(raw):
        tag, at = _varint(raw, at)
        match tag & 7:
            case 0:
                value, at = _varint(raw, at)
                yield tag >> 3, value
            case 2:
                length, at = _varint(raw, at)
                if at + length > len(raw):
                    raise IndexError("it is cut off")
                yield tag >> 3, raw[at : at + length]
                at += length
            case _:
                raise IndexError(f"wire type {tag & 7} is not used by Kubernetes")


def _varint(raw: bytes, at: int) -> tuple[int, int]:
    value = shift = 0
    while True:
        byte = raw[at]
        value |= (byte & 0x7F) << shift
        at, shift = at + 1, shift + 7
        if byte < 0x80:
            return value, at
