"""The session cookie: signed with the operator's own token, so that the edge stores no sessions."""

import hmac
from datetime import UTC, datetime, timedelta
from hashlib import sha256

COOKIE = "alate-session"
LIFETIME = timedelta(hours=12)


def issue(name: str, secret: bytes, now: datetime) -> str:
    """A new cookie for an operator."""
    until = str(int((now + LIFETIME).timestamp()))
    return f"{name}.{until}.{_mac(name, until, secret)}"


def claimed_name(cookie: str, now: datetime) -> str:
    """The operator a cookie claims to be of, unverified; empty if it is malformed or has expired."""
    name, _, rest = cookie.rpartition(".")[0].rpartition(".")
    good = rest.isascii() and rest.isdigit() and len(rest) < 12
    return name if good and datetime.fromtimestamp(int(rest), UTC) > now else ""


def is_signed(cookie: str, secrets: tuple[bytes, ...]) -> bool:
    """Whether one of the operator's secrets signed it; compared in constant time."""
    rest, _, shown = cookie.rpartition(".")
    name, _, until = rest.rpartition(".")
    signed = shown.encode(errors="surrogateescape")
    return sum(hmac.compare_digest(signed, _mac(name, until, one).encode()) for one in secrets) > 0


def _mac(name: str, until: str, secret: bytes) -> str:
    return hmac.digest(secret, f"alate-session\0{name}\0{until}".encode(), sha256).hex()
