"""Turns error answers of an API server into the errors of the port."""

from collections.abc import Mapping

import msgspec

from events.errors import Denied, Fault, NotFound, TryLater
from events.kube.port import Request, Response

GONE = 410
_LATER = frozenset({408, 425, 429})
_REASONS = {
    400: "BadRequest",
    401: "Unauthorized",
    403: "Forbidden",
    405: "MethodNotAllowed",
    409: "Conflict",
    415: "UnsupportedMediaType",
    422: "Invalid",
}
# A field the schema does not know makes server-side apply answer 500, yet no second try can help
# (kube-apiserver 1.36: `failed to create typed patch object (…): .spec.x: field not declared in schema`).
_FINAL_500 = "failed to create typed patch object"
# How kube-apiserver 1.36 ends its refusal (403) to make a custom resource whose definition is being deleted.
_TERMINATING = "not allowed while custom resource definition is terminating"


UNREADABLE = (msgspec.DecodeError, UnicodeDecodeError, RecursionError)
"""What msgspec raises for bytes that are no JSON, no text, or deeper than the stack."""


class Expired(TryLater):
    """The version asked for is no longer kept: list anew."""


class NotServed(NotFound):
    """The kind itself is not there, or not now: of its objects nothing is said, they may exist all the same."""


class Details(msgspec.Struct):
    """What a Status is about."""

    name: str = ""


class Status(msgspec.Struct):
    """The part of a ``v1.Status`` that says why."""

    message: str = ""
    reason: str = ""
    code: int = 0
    details: Details | None = None


def _status(body: bytes) -> Status:
    try:
        return msgspec.json.decode(body, type=Status)
    except UNREADABLE:  # proxies answer in HTML, load balancers in nothing
        return Status()


def _retry_after(headers: Mapping[str, str]) -> float:
    for name, value in headers.items():
        if name.lower() == "retry-after" and value.isdigit():
            return float(value)
    return 1.0


def fault_of(request: Request, response: Response) -> Fault:
    """The fault that an answer of 300 or above stands for; its message is the Status' message."""
    status = _status(response.body)
    said = response.body[:200].decode(errors="replace").strip() or "nothing more"
    message = status.message or f"{request.method} {request.path} was answered {response.status}: {said}"
    return _fault(response.status, status, message, _retry_after(response.headers))


def fault_in(event: bytes) -> Fault:
    """The fault that an ``ERROR`` event of a watch carries in its object (a Status)."""
    status = _status(event)
    return _fault(status.code, status, status.message or "the watch ended with an error", 1.0)


def _fault(code: int, status: Status, message: str, after: float) -> Fault:
    if code == 404:  # only what names the missing object speaks of it: an unknown path is answered 404 as well
        return NotFound(message) if status.details and status.details.name else NotServed(message)
    if code == GONE:
        return Expired(message, after=0.0)
    if _passes(code, message):
        return TryLater(message, after=after)
    return Denied(message, reason=status.reason or _REASONS.get(code, "UnexpectedAnswer"))


def _passes(code: int, message: str) -> bool:
    if code >= 500:
        return not message.startswith(_FINAL_500)
    return code in _LATER or not code or message.endswith(_TERMINATING)
