"""Triggers that stand in files are followed as the files change; of a damaged one what it held when it was good."""

import asyncio
from collections.abc import Iterator
from os import stat_result
from pathlib import Path
from typing import NamedTuple

import structlog
import yaml

from events.kinds import TRIGGERS
from events.telemetry import Meters
from schemas.crds import Refused, read_trigger
from schemas.documents import documents
from services.edge.heard import Heard
from services.edge.rules import Rules

LOOK = 2.0
"""Seconds between two looks at the files."""
LARGEST = 1_000_000
"""Bytes of a file."""
DAMAGED = "alate.triggers.damaged"
"""Files of Triggers that cannot be read as they are now."""
FILES = "files"
WRONG = (Refused, OSError, UnicodeDecodeError, yaml.YAMLError)

log = structlog.get_logger()


class Known(NamedTuple):
    """A file as it was at the last look."""

    version: tuple[int, int, int]
    rules: tuple[Rules, ...]
    """Of when it was good last; none, if it never was."""
    wrong: str = ""
    """Why it is not good now."""


class RuleFiles:
    """A file, or a folder of ``*.yaml`` and ``*.yml``; a mounted ConfigMap is such a folder."""

    def __init__(self, place: Path | None, meters: Meters) -> None:
        """None: there are none."""
        self.listed = asyncio.Event()
        """Set once all are known."""
        self._place = place
        self._meters = meters
        self._known: dict[Path, Known] = {}
        self._absent = ""

    def about(self, heard: Heard) -> Iterator[Rules]:
        """Those that listen to where it came in, by file."""
        every = (rules for _, known in sorted(self._known.items()) for rules in known.rules)
        return (rules for rules in every if rules.listens(heard))

    async def run(self) -> None:
        """Follow them for ever."""
        while True:
            if self._place is not None:
                self._look(self._place)
            self.listed.set()
            await asyncio.sleep(LOOK)

    def _look(self, place: Path) -> None:
        try:
            found = {file: file.stat() for file in _files(place)}
            self._absent = ""
        except OSError as error:  # which files are gone is not known: all are followed as they were
            self._miss(f"{place} cannot be read ({error.strerror}): must be a file of Triggers or a folder of such")
        else:
            self._known = {file: self._now(file, stat) for file, stat in found.items()}
        damaged = sum(bool(known.wrong) for known in self._known.values()) + bool(self._absent)
        self._meters.gauge(DAMAGED, FILES, {(("source", FILES),): float(damaged)})

    def _miss(self, why: str) -> None:
        if why != self._absent:
            log.warning("trigger.files_unread", reason=why)
        self._absent = why

    def _now(self, file: Path, stat: stat_result) -> Known:
        version = (stat.st_ino, stat.st_size, stat.st_mtime_ns)
        known = self._known.get(file)
        if known is not None and known.version == version:
            return known
        try:
            read = Known(version, _read(file, stat.st_size))
            log.info("trigger.file_read", file=file.name, triggers=len(read.rules))
        except WRONG as error:
            why = " ".join(str(error).split())
            log.warning("trigger.file_damaged", file=file.name, reason=why, followed="as it was before")
            return Known(version, known.rules if known else (), why)
        return read


def _files(place: Path) -> list[Path]:
    if not place.is_dir():
        return [place]
    return sorted(file for file in place.iterdir() if file.suffix in {".yaml", ".yml"} and file.name[0] != ".")


def _read(file: Path, size: int) -> tuple[Rules, ...]:
    """Raises what `WRONG` names."""
    if size > LARGEST:
        raise Refused(f"the file has {size} bytes: at most {LARGEST} are read")
    return tuple(Rules(read_trigger(_of_kind(each))) for each in documents(file.read_text()) if each is not None)


def _of_kind(document: object) -> dict[str, object]:
    if not isinstance(document, dict) or document.get("kind") != "Trigger":
        other = document.get("kind") if isinstance(document, dict) else type(document).__name__
        raise Refused(f"a {other} is in the file: must be Triggers (apiVersion {TRIGGERS.api_version})")
    return document
