"""Reads price catalogs from folders, files and URLs, and reports what could not be read."""

import asyncio
import re
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path, PurePosixPath
from typing import Protocol
from urllib.parse import urlsplit

from events.errors import TryLater
from events.http.addresses import Reach
from events.http.fetch import fetch
from services.market.catalog_parser import LARGEST, CatalogReading, CatalogText, UnreadCatalog, files
from services.runtime.watched_file import read_start, version_of

SAMPLE = Path(__file__).parent / "sample_prices"
"""The sample prices that are shipped, for a laptop."""


class CatalogSource(Protocol):
    """One entry of the setting."""

    async def read(self) -> tuple[CatalogReading, ...]:
        """Everything that exists there."""
        ...

    def mark(self) -> object:
        """A value that differs once something has changed, as far as that can be known without reading."""
        ...


@dataclass(frozen=True)
class CatalogFiles:
    """A catalog in a file, or every catalog of a folder."""

    path: Path
    cloud: str = ""
    """Empty: the name of the file is the cloud."""

    async def read(self) -> tuple[CatalogReading, ...]:
        return await asyncio.to_thread(self._read)

    def mark(self) -> object:
        try:
            return [(path, version_of(path)) for path in self._listed()]
        except OSError as gone:
            return str(gone)

    def _read(self) -> tuple[CatalogReading, ...]:
        try:
            return tuple(map(self._text, self._listed()))
        except OSError as gone:
            return (UnreadCatalog("", str(self.path), f"{self.path} cannot be read: {gone.strerror}"),)

    def _listed(self) -> list[Path]:
        return files(self.path) if self.path.is_dir() or not self.path.suffix else [self.path]

    def _text(self, path: Path) -> CatalogReading:
        cloud = self.cloud or _cloud(path)
        try:
            written = datetime.fromtimestamp(path.stat().st_mtime, UTC)
            return CatalogText(cloud, str(path), read_start(path, LARGEST + 1), path.suffix, written)
        except OSError as gone:
            return UnreadCatalog(cloud, str(path), f"{path} cannot be read: {gone.strerror}")


@dataclass(frozen=True)
class CatalogUrl:
    """A catalog at a URL."""

    url: str
    cloud: str = ""
    """Empty: the path names it: ``…/aws.csv``, or ``…/aws/vms.csv`` as with SkyPilot."""
    reach: Reach | None = None
    """Addresses it may have; None: any."""

    async def read(self) -> tuple[CatalogReading, ...]:
        path = PurePosixPath(urlsplit(self.url).path)
        cloud = self.cloud or _cloud(path)
        try:
            fetched = await fetch(self.url, reach=self.reach)
        except TryLater as away:
            return (UnreadCatalog(cloud, self.url, away.message),)
        return (CatalogText(cloud, self.url, fetched.data, path.suffix, fetched.modified),)

    def mark(self) -> object:
        return None


def sources(setting: str, reach: Reach | None = None) -> tuple[CatalogSource, ...]:
    """The entries of the setting, separated by commas, each with an optional ``<cloud>=``. `reach` limits the URLs."""
    return tuple(_source(entry, reach) for entry in filter(None, map(str.strip, setting.split(","))))


def absent(setting: str) -> list[Path]:
    """The files and folders of the setting that do not exist."""
    return [each.path for each in sources(setting) if isinstance(each, CatalogFiles) and not each.path.exists()]


def _source(entry: str, reach: Reach | None) -> CatalogSource:
    cloud, named, place = entry.partition("=")
    if not named or not re.fullmatch("[a-z][a-z0-9-]*", cloud):
        cloud, place = "", entry
    return (
        CatalogUrl(place, cloud, reach)
        if place.startswith(("http://", "https://"))
        else CatalogFiles(Path(place), cloud)
    )


def _cloud(path: Path | PurePosixPath) -> str:
    return path.parent.name if path.stem == "vms" else path.stem
