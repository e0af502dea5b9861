"""The port to a Kubernetes API: requests, replies, what a watch gives, and who an object belongs to."""

from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass, field
from typing import Annotated, Any, Protocol
from urllib.parse import quote

import msgspec

from events.errors import Denied

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
        """Let go of every connection; whoever asks afterwards, or was about to, meets `TryLater`."""
        ...


@dataclass(frozen=True, slots=True)
class Listed:
    """A complete list: what is not in it is not there."""

    items: tuple[Object, ...]
    resource_version: str
    nameless: int = 0
    """How many of its items had no name by which to tell them apart, and are left out."""


@dataclass(frozen=True, slots=True)
class Changed:
    """One object was added, changed, or is gone (then this is its last shape)."""

    object: Object
    gone: bool = False


@dataclass(frozen=True, slots=True)
class Lost:
    """The API server cannot be heard: what was seen before is stale from here on, not gone."""

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
    """The object, if it has a name and whatever else tells it from others is text. Raises msgspec.ValidationError."""
    msgspec.convert(item, _Named)
    return item


def is_named(item: Object) -> bool:
    """Whether it is one that `named` takes."""
    try:
        named(item)
    except msgspec.ValidationError:
        return False
    return True
