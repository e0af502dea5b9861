"""Errors as problem details (RFC 9457)."""

from dataclasses import dataclass, field
from http import HTTPStatus
from math import ceil

import msgspec

MEDIA = "application/problem+json"


@dataclass(eq=False)
class Problem(Exception):
    """Why a request is refused; never quotes a secret, a signature or a token."""

    status: int
    detail: str
    """One clear sentence: what, where, what would be right."""
    where: str = ""
    """The header, or the path in the body, that is wrong; empty: none in particular."""
    headers: dict[str, str] = field(default_factory=dict)

    @property
    def title(self) -> str:
        """The status in words."""
        return HTTPStatus(self.status).phrase

    def body(self) -> bytes:
        """The document as JSON."""
        said = {"type": "about:blank", "title": self.title, "status": self.status, "detail": self.detail}
        return msgspec.json.encode(said | ({"field": self.where} if self.where else {}))


def unauthorized(detail: str, where: str, scheme: str = "Signature") -> Problem:
    """A problem 401: the sender is unknown."""
    return Problem(401, detail, where, {"WWW-Authenticate": scheme})


def wrong(detail: str, where: str = "") -> Problem:
    """A problem 422: the sender is known, but the request cannot be read."""
    return Problem(422, detail, where)


def not_now(status: int, detail: str, seconds: float) -> Problem:
    """A problem with Retry-After: the same request may succeed later."""
    return Problem(status, detail, headers={"Retry-After": str(max(1, ceil(seconds)))})
