"""Errors of the API as Kubernetes Status objects."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple, Protocol

import msgspec

from events.kube.client import Object, Response

JSON = {"Content-Type": "application/json"}


class Named(Protocol):
    """The names of a kind that a refusal shows."""

    @property
    def group(self) -> str: ...
    @property
    def plural(self) -> str: ...
    @property
    def kind(self) -> str: ...


class FieldError(NamedTuple):
    """An invalid field and the reason."""

    field: str
    reason: str
    message: str

    def __str__(self) -> str:
        return f"{self.field}: {self.message}"


@dataclass(eq=False)
class StatusError(Exception):
    """A request that is answered with an error Status."""

    code: int
    reason: str
    message: str
    details: Object | None = None

    def __str__(self) -> str:
        return self.message

    def status(self) -> Object:
        """The Status object."""
        details = {} if self.details is None else {"details": self.details}
        body = {"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Failure", "message": self.message}
        return {**body, **({"reason": self.reason} if self.reason else {}), **details, "code": self.code}

    def response(self) -> Response:
        """The HTTP answer."""
        retry = {"Retry-After": "1"} if self.code in {429, 503} else {}
        return Response(self.code, {**JSON, **retry}, msgspec.json.encode(self.status()))


def qualified(kind: Named) -> str:
    """``<plural>.<group>``, or the plural alone in the core group."""
    return f"{kind.plural}.{kind.group}" if kind.group else kind.plural


def _details(kind: Named, name: str, called: str, **more: object) -> Object:
    group = {"group": kind.group} if kind.group else {}
    return {**({"name": name} if name else {}), **group, **({"kind": called} if called else {}), **more}


def not_found(kind: Named, name: str) -> StatusError:
    return StatusError(404, "NotFound", f'{qualified(kind)} "{name}" not found', _details(kind, name, kind.plural))


class NoSuchPath(StatusError):
    """An unknown path, answered in plain text like the real server does."""

    def response(self) -> Response:
        return Response(self.code, {"Content-Type": "text/plain"}, b"404 page not found\n")


def unknown_path() -> StatusError:
    return NoSuchPath(404, "NotFound", "the server could not find the requested resource", {})


def exists(kind: Named, name: str) -> StatusError:
    message = f'{qualified(kind)} "{name}" already exists'
    return StatusError(409, "AlreadyExists", message, _details(kind, name, kind.plural))


def conflict(kind: Named, name: str, why: str = "") -> StatusError:
    why = why or "the object has been modified; please apply your changes to the latest version and try again"
    message = f'Operation cannot be fulfilled on {qualified(kind)} "{name}": {why}'
    return StatusError(409, "Conflict", message, _details(kind, name, kind.plural))


def apply_conflict(message: str, causes: Sequence[FieldError]) -> StatusError:
    return StatusError(409, "Conflict", message, {"causes": list(map(_cause, causes))})


def invalid(kind: Named, name: str, causes: Sequence[FieldError], *, called: str = "") -> StatusError:
    """The refusal of an invalid object; `called` overrides the kind's name."""
    said = list(dict.fromkeys(map(str, causes)))
    text = said[0] if len(said) == 1 else f"[{', '.join(said)}]"
    which = called or kind.kind
    details = _details(kind, name, which, causes=list(map(_cause, causes)))
    called = f"{which}.{kind.group}" if kind.group else which
    return StatusError(422, "Invalid", f'{called} "{name}" is invalid: {text}', details)


def forbidden(kind: Named, name: str, why: str, *causes: FieldError) -> StatusError:
    more = {"causes": list(map(_cause, causes))} if causes else {}
    message = f'{qualified(kind)} "{name}" is forbidden: {why}'
    return StatusError(403, "Forbidden", message, _details(kind, name, kind.plural, **more))


def not_permitted(kind: Named, why: str) -> StatusError:
    """Refused for all objects of a kind."""
    return StatusError(403, "Forbidden", f"{qualified(kind)} is forbidden: {why}", _details(kind, "", kind.plural))


def bad_request(message: str) -> StatusError:
    return StatusError(400, "BadRequest", message)


def unsupported(message: str) -> StatusError:
    return StatusError(415, "UnsupportedMediaType", message)


def not_allowed() -> StatusError:
    return StatusError(405, "MethodNotAllowed", "the server does not allow this method on the requested resource", {})


def expired(asked: int, oldest: int) -> StatusError:
    return StatusError(410, "Expired", f"too old resource version: {asked} ({oldest})")


def _cause(cause: FieldError) -> Object:
    return {"reason": cause.reason, "message": cause.message, "field": cause.field}
