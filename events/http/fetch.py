"""Fetches a text from a URL, whole or not at all, within a time and a size."""

from dataclasses import dataclass
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from urllib.parse import urlsplit

import aiohttp

from events.errors import TryLater
from events.http.addresses import Reach, check
from events.kube.sockets import Sockets

PATIENCE = 30.0
"""The time-out of a whole fetch, in seconds."""
LARGEST = 16 * 1024 * 1024
"""Bytes, unpacked; SkyPilot's largest catalog is a few MB."""
MOVED = frozenset({301, 302, 303, 307, 308})


@dataclass(frozen=True)
class Fetched:
    """The result of a fetch."""

    data: bytes
    modified: datetime | None
    """The server's Last-Modified; None without one."""


async def fetch(url: str, patience: float = PATIENCE, reach: Reach | None = None) -> Fetched:
    """Get it. Raises TryLater, with what went wrong: nobody there, another status than 200, cut off, too large.

    No redirect is followed: what was named is what is read. `reach` says where it may be; None: anywhere.
    """
    try:
        check(reach, urlsplit(url).hostname or "")
        connector = aiohttp.TCPConnector(socket_factory=Sockets(reach).make)
        async with (
            aiohttp.ClientSession(connector=connector, timeout=aiohttp.ClientTimeout(total=patience)) as session,
            session.get(url, allow_redirects=False) as got,
        ):
            if got.status in MOVED:
                where = got.headers.get("Location", "nowhere")
                raise TryLater(f"{url} answers {got.status}, a redirect to {where:.200}: name that address itself")
            if got.status != 200:
                raise TryLater(f"{url} answers {got.status} {got.reason}")
            return Fetched(await _body(url, got), _modified(got.headers.get("Last-Modified")))
    except (TimeoutError, aiohttp.ClientError, OSError, ValueError) as away:
        raise TryLater(f"{url} cannot be read: {str(away) or type(away).__name__}") from away


async def _body(url: str, got: aiohttp.ClientResponse) -> bytes:
    data = bytearray()
    async for chunk in got.content.iter_chunked(1 << 16):
        data += chunk
        if len(data) > LARGEST:
            raise TryLater(f"{url} is larger than {LARGEST} bytes")
    return bytes(data)


def _modified(said: str | None) -> datetime | None:
    try:
        return parsedate_to_datetime(said).astimezone(UTC) if said else None
    except ValueError:  # a date nobody can read is none
        return None
