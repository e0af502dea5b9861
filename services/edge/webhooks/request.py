"""A webhook request with everything that providers need to verify it."""

from collections.abc import Mapping
from datetime import UTC, datetime
from hashlib import sha256

import msgspec

from services.edge.http.problem import wrong

LONGEST = 256
"""Characters of a name that a sender chooses: a delivery's id, an event's type."""


class WebhookRequest(msgspec.Struct, frozen=True):
    """One request."""

    body: bytes
    headers: Mapping[str, str]
    """By lower-case names."""
    secrets: tuple[bytes, ...]
    """The valid secrets: the old and the new one during a rotation."""
    now: datetime
    place: str
    """The endpoint's path, e.g. ``/hooks/github/acme/ci``."""

    def digest(self) -> str:
        """The digest of the body."""
        return sha256(self.body).hexdigest()


_members: msgspec.json.Decoder[dict[str, object]] = msgspec.json.Decoder(dict[str, object])


def members(body: bytes) -> dict[str, object]:
    """The body as a JSON object. Raises Problem 422."""
    try:
        return _members.decode(body)
    except UnicodeDecodeError as error:
        raise wrong("the body is no UTF-8 text: expected a JSON object in UTF-8", "body") from error
    except msgspec.DecodeError as error:
        raise wrong(f"the body is no JSON object: {error}", "body") from error
    except RecursionError as error:  # what the decoder says of brackets without end
        raise wrong("the body is nested too deep to be read", "body") from error


def within(value: object, *path: str) -> object:
    """The value at a path of JSON objects; None if there is none."""
    for part in path:
        if not isinstance(value, dict):
            return None
        value = value.get(part)
    return value


def text(value: object, *path: str) -> str:
    """The non-empty text or number at a path, as text; empty if there is neither."""
    found = within(value, *path)
    return str(found) if isinstance(found, str | int) and not isinstance(found, bool) else ""


def needed(value: object, *path: str) -> str:
    """A text as `text` returns it, of at most `LONGEST` characters. Raises Problem 422."""
    return short(text(value, *path), ".".join(path))


def short(found: str, where: str) -> str:
    """The text if it is neither empty nor too long. Raises Problem 422."""
    if not found:
        raise wrong(f"{where} is missing", where)
    if len(found) > LONGEST:
        raise wrong(f"{where} has {len(found)} characters: must have at most {LONGEST}", where)
    return found


def moment(value: object, *path: str) -> datetime | None:
    """The time at a path (UTC); None if there is none."""
    try:
        found = msgspec.convert(within(value, *path), datetime)
        return found.astimezone(UTC) if found.tzinfo else None
    except (msgspec.ValidationError, OverflowError):  # written in a way of its own, or before the year 1: not said
        return None
