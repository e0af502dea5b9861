"""Whoever has shown a token bears a cookie that only that token can have made, so that nothing is kept of it."""

import hmac
from datetime import UTC, datetime, timedelta
from hashlib import sha256

COOKIE = "alate-session"
LASTS = timedelta(hours=12)


def made(name: str, secret: bytes, now: datetime) -> str:
    """The cookie of a caller."""
    until = str(int((now + LASTS).timestamp()))
    return f"{name}.{until}.{_mac(name, until, secret)}"


def whose(cookie: str, now: datetime) -> str:
    """The name it claims to be of; empty if it is none or has run out."""
    name, _, rest = cookie.rpartition(".")[0].rpartition(".")
    good = rest.isascii() and rest.isdigit() and len(rest) < 12
    return name if good and datetime.fromtimestamp(int(rest), UTC) > now else ""


def holds(cookie: str, secrets: tuple[bytes, ...]) -> bool:
    """Whether one of the name's secrets made it; compared in constant time."""
    rest, _, shown = cookie.rpartition(".")
    name, _, until = rest.rpartition(".")
    signed = shown.encode(errors="surrogateescape")
    return sum(hmac.compare_digest(signed, _mac(name, until, one).encode()) for one in secrets) > 0


def _mac(name: str, until: str, secret: bytes) -> str:
    return hmac.digest(secret, f"alate-session\0{name}\0{until}".encode(), sha256).hex()
