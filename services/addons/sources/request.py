"""What every kind of source is given: where it comes from, for whom, and within what bounds it may be fetched."""

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass, field
from datetime import timedelta
from pathlib import Path
from typing import NamedTuple
from urllib.parse import urlsplit

from events.errors import Denied
from events.http.addresses import INTERNAL, PRIVATE, Reach
from events.kube.client import Kube
from schemas.crds.sources import SourceSpec
from services.addons.sources.credentials import NOBODY, Credentials, credentials
from services.addons.sources.http import HttpClient, http_client
from services.addons.sources.unpack import ArchiveBounds, unpack

GIB = 1 << 30
INSIDE = Reach(frozenset({PRIVATE, INTERNAL}))
"""The cluster that alate runs in, and its networks."""


@dataclass(frozen=True)
class SourceSettings:
    """How sources are fetched and kept."""

    reach: Reach | None = None
    """The addresses that may be reached; None: any."""
    inside: Reach | None = INSIDE
    """The addresses where the controllers of Flux may serve what they fetched."""
    limit: int = 2 * GIB
    """Bytes that are kept of what was fetched."""
    interval: timedelta = timedelta(minutes=5)
    """How often what may change (a branch, a tag, a range of versions) is looked up at most."""
    patience: float = 60.0
    """Seconds that one request may take."""
    bounds: ArchiveBounds = field(default_factory=ArchiveBounds)
    git: str = "git"
    """The program."""


@dataclass(frozen=True)
class SourceRequest:
    """One source that is to be fetched."""

    source: SourceSpec
    namespace: str
    """Of the Colony or the profile, and so of what it names in the management cluster."""
    management: Kube
    settings: SourceSettings

    async def credentials(self, url: str) -> Credentials:
        """What the source's Secret says. Raises NotFound, TryLater, Denied."""
        parts = urlsplit(url)
        host = f"{parts.hostname}:{parts.port}" if parts.port else str(parts.hostname)
        return await credentials(self.management, self.source.credentials, self.namespace, host)

    def http(self, known: Credentials = NOBODY) -> AbstractAsyncContextManager[HttpClient]:
        """A client for its servers."""
        return http_client(self.settings.reach, known, self.settings.patience)


class FetchFolders(NamedTuple):
    """Where a fetch writes."""

    tree: Path
    """The content; empty at first."""
    scratch: Path
    """What is needed on the way."""


Pull = Callable[[SourceRequest, str, FetchFolders], Awaitable[str]]
"""Writes a source's content, unless its revision is still the given one. Returns the revision.

Raises NotFound, TryLater, Denied, and OSError of the folder."""


def check_digest(what: str, found: str, wanted: str | None) -> None:
    """Compare a sha256 with the one that somebody wrote, if anybody has. Raises Denied."""
    if wanted is not None and found != wanted.removeprefix("sha256:").lower():
        raise Denied(f"{what} has the sha256 {found}, not {wanted.removeprefix('sha256:')}", "ChecksumMismatch")


async def unpacked(request: SourceRequest, file: Path, folders: FetchFolders, name: str, what: str) -> None:
    """Unpack a file that was downloaded; `name` is its own if it is no archive. Raises Denied, TryLater, OSError."""
    await asyncio.to_thread(unpack, file, folders.tree, name, what, request.settings.bounds)
