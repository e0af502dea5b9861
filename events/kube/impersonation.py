"""Sends requests to an API server in the name of a service account, so that its rights alone count."""

from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass, replace

from events.kube.port import Request, Response, Transport, part


def account_user(namespace: str, name: str) -> str:
    """The user that a service account is. Raises ``Denied("InvalidName")`` for what is no name."""
    return f"system:serviceaccount:{part('namespace', namespace)}:{part('name of a ServiceAccount', name)}"


@dataclass(frozen=True, slots=True)
class Impersonating:
    """A transport whose every request counts as a user's; closing it leaves the transport below open.

    The API server adds the groups of a service account itself, and refuses us (403) without the right to impersonate.
    """

    transport: Transport
    user: str

    async def send(self, request: Request) -> Response:
        """Ask once, as the user."""
        return await self.transport.send(self._named(request))

    def stream(self, request: Request) -> AsyncIterator[bytes | Response]:
        """Watch, as the user."""
        return self.transport.stream(self._named(request))

    async def close(self) -> None:
        """Nothing: its owner closes the transport below."""

    def _named(self, request: Request) -> Request:
        headers: Mapping[str, str] = {**request.headers, "Impersonate-User": self.user}
        return replace(request, headers=headers)
