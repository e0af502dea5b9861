"""Callers of the HTTP API and their tenants, known by bearer tokens in files.

``reader.<tenant>.<name>`` reads what is its tenant's, ``operator.<name>`` all that is of the house.
"""

import hmac
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime

from aiohttp import web

from services.edge.http.problem import Problem, unauthorized
from services.edge.page.session import claimed_name, is_signed
from services.edge.webhooks.secrets import WebhookSecrets

BEARER = "Bearer"


@dataclass(frozen=True)
class Caller:
    """A caller with a valid token."""

    name: str
    """The name of its file."""
    tenant: str | None = None
    """The only tenant that it may read; None: every tenant."""

    @property
    def operates(self) -> bool:
        """Whether it may change anything."""
        return self.tenant is None


class Callers:
    """All callers that have a token now."""

    def __init__(self, secrets: WebhookSecrets) -> None:
        self._secrets = secrets

    def by_token(self, token: str) -> Caller | None:
        """The caller with this token; all are compared, so that the time reveals nothing."""
        shown = token.encode(errors="surrogateescape")
        found = [caller for caller, secret in self._all() if hmac.compare_digest(shown, secret)]
        return found[0] if found else None

    def by_session(self, cookie: str, now: datetime) -> Caller | None:
        """The caller of a session; None once it has expired or its token is revoked."""
        name = claimed_name(cookie, now)
        caller = caller_of(name) if name and "/" not in name else None
        return caller if caller and is_signed(cookie, self._secrets.at(name)) else None

    def by_bearer(self, request: web.Request) -> Caller:
        """The caller of a request. Raises Problem 401."""
        scheme, _, token = request.headers.get("Authorization", "").partition(" ")
        if scheme.lower() != BEARER.lower():
            raise unauthorized(
                "Authorization is missing: expected Bearer and a reader's or an operator's token",
                "Authorization",
                BEARER,
            )
        caller = self.by_token(token.strip())
        if caller is None:
            raise unauthorized("Authorization is nobody's: expected a reader's or an operator's token", "", BEARER)
        return caller

    def _all(self) -> Iterator[tuple[Caller, bytes]]:
        for name, secrets in self._secrets.named("operator.*", "reader.*.*"):
            if (caller := caller_of(name)) is not None:
                yield from ((caller, secret) for secret in secrets)


def caller_of(name: str) -> Caller | None:
    """The caller of a file's name; None if it is not a caller's file."""
    match name.split("."):
        case ["operator", _]:
            return Caller(name)
        case ["reader", tenant, _]:
            return Caller(name, tenant)
    return None


def only_own(caller: Caller, tenant: str | None) -> str | None:
    """The tenant that the caller reads, given the requested one (None: all). Raises Problem 403."""
    if caller.tenant is not None and tenant not in (None, caller.tenant):
        raise Problem(403, f"this token reads what is of tenant {caller.tenant}, and nothing else", "tenant")
    return caller.tenant or tenant
