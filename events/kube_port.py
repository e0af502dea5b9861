"""The port to a Kubernetes API stands apart from every client, so that a sandbox can offer it as well."""

from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol

Object = dict[str, Any]
"""A raw Kubernetes object, as the API gives it."""


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
        """``/apis/<group>/<version>/namespaces/<ns>/<plural>/<name>/<subresource>``, as far as given."""
        root = f"/apis/{self.group}/{self.version}" if self.group else f"/api/{self.version}"
        scope = ("namespaces", namespace) if self.namespaced and namespace else ()
        return "/".join((root, *scope, self.plural, *filter(None, (name, subresource))))


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
