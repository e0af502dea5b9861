"""The port to a Kubernetes API: requests, responses and their errors, the items of a watch, the owner of an object."""

from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass, field
from typing import Annotated, Any, Protocol
from urllib.parse import quote

import msgspec

from events.errors import Denied, Fault, NotFound, TryLater
from schemas.registry import UNREADABLE

LONGEST_NAME = 253
"""Characters of a part of a path: as a DNS subdomain, which is the longest name that Kubernetes has."""
SAFE = "!$&'()*+,:;=@"
"""What a name may hold beside letters and digits without being quoted in a path (RFC 3986, pchar)."""

Object = dict[str, Any]
"""A raw Kubernetes object, as the API gives it."""


def part(called: str, name: object) -> str:
    """A name as a part of a path, quoted. Raises ``Denied("InvalidName")`` by the rule Kubernetes has for such parts.

    `called` says in sentences what is named, e.g. ``namespace``.
    """
    if not isinstance(name, str) or not 0 < len(name) <= LONGEST_NAME:
        shown = f"{name:.60}…" if isinstance(name, str) and name else repr(name)[:60]
        told = f"{called} {shown} cannot be part of a path: must be a text of 1 to {LONGEST_NAME} characters"
        raise Denied(told, "InvalidName")
    if name in {".", ".."} or "/" in name or "%" in name or not name.isprintable():
        told = f"{called} {name!r} cannot be part of a path: must not be . or .., nor hold a /, a % or a line's end"
        raise Denied(told, "InvalidName")
    return quote(name, safe=SAFE)


def root(group: str, version: str) -> str:
    """``/apis/<group>/<version>``, or ``/api/<version>`` of the group without a name. Raises as `part` does."""
    below = f"/apis/{part('API group', group)}" if group else "/api"
    return f"{below}/{part('API version', version)}"


@dataclass(frozen=True, slots=True)
class Resource:
    """A kind as its URL names it."""

    group: str
    version: str
    plural: str
    kind: str
    namespaced: bool = True

    @property
    def api_version(self) -> str:
        """``v1`` or ``<group>/<version>``."""
        return f"{self.group}/{self.version}" if self.group else self.version

    def path(self, namespace: str | None = None, name: str | None = None, subresource: str | None = None) -> str:
        """``/apis/<group>/<version>/namespaces/<ns>/<plural>/<name>/<subresource>``, as far as given.

        Raises ``Denied("InvalidName")`` for what is no name, so that no path ever leads elsewhere than it says.
        """
        scope = ("namespaces", part("namespace", namespace)) if self.namespaced and namespace else ()
        named = () if name is None else (part(f"name of a {self.kind}", name),)
        below = () if subresource is None else (part("subresource", subresource),)
        return "/".join((root(self.group, self.version), *scope, part("resource", self.plural), *named, *below))


@dataclass(frozen=True, slots=True)
class Request:
    """One HTTP request; `path` is below the server's base URL."""

    method: str
    path: str
    query: Mapping[str, str] = field(default_factory=dict)
    headers: Mapping[str, str] = field(default_factory=dict)
    body: bytes = b""


@dataclass(frozen=True, slots=True)
class Response:
    """One HTTP answer."""

    status: int
    headers: Mapping[str, str] = field(default_factory=dict)
    body: bytes = b""


class Transport(Protocol):
    """How requests reach an API server: over HTTPS, or straight into a sandbox in the same process."""

    async def send(self, request: Request) -> Response:
        """Ask once. Raises `TryLater` if no answer can be had (refused, reset, timed out)."""
        ...

    def stream(self, request: Request) -> AsyncIterator[bytes | Response]:
        """Ask for a watch: one line a time; a first item that is a `Response` is a refusal and the last one.

        Ends when the server closes; raises `TryLater` if the connection breaks.
        """
        ...

    async def close(self) -> None:
        """Close every connection; requests that come afterwards or still wait raise `TryLater`."""
        ...


@dataclass(frozen=True, slots=True)
class Listed:
    """A complete list: what is not in it is not there."""

    items: tuple[Object, ...]
    resource_version: str
    nameless: int = 0
    """How many items had no name and are left out."""


@dataclass(frozen=True, slots=True)
class Changed:
    """One object was added, changed, or is gone (then this is its last shape)."""

    object: Object
    gone: bool = False


@dataclass(frozen=True, slots=True)
class Lost:
    """The watch is interrupted: the objects seen so far are stale from now on, not deleted."""

    reason: str
    refused: bool = False
    """It answers, and does not let us in."""


Sight = Listed | Changed | Lost
"""What a watch says."""


LONGEST = 253
"""Characters that a name may have."""


class _Identity(msgspec.Struct):
    name: Annotated[str, msgspec.Meta(min_length=1, max_length=LONGEST)]
    namespace: str = ""
    uid: str = ""
    version: str = msgspec.field(name="resourceVersion", default="")


class _Named(msgspec.Struct):
    metadata: _Identity


def named(item: Object) -> Object:
    """The object, if its name, namespace and UID are text. Raises msgspec.ValidationError."""
    msgspec.convert(item, _Named)
    return item


def is_named(item: Object) -> bool:
    """Whether it is one that `named` takes."""
    try:
        named(item)
    except msgspec.ValidationError:
        return False
    return True


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


class Expired(TryLater):
    """The requested resourceVersion is no longer stored: list again."""


class NotServed(NotFound):
    """The kind itself is not served, at least not now; its objects may exist all the same."""


class Details(msgspec.Struct):
    """The object that a Status is about."""

    name: str = ""


class Status(msgspec.Struct):
    """The part of a ``v1.Status`` that gives the reason."""

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
    text = response.body[:200].decode(errors="replace").strip() or "nothing more"
    message = status.message or f"{request.method} {request.path} was answered {response.status}: {text}"
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
