"""Reads Triggers from files; a damaged file keeps its last good content."""

import asyncio
from collections.abc import Iterator
from os import stat_result
from pathlib import Path
from typing import NamedTuple

import structlog

from events.kube.resources import TRIGGERS
from events.telemetry import Meters
from schemas.crds import InvalidResource, read_trigger
from schemas.documents import InvalidYaml, documents
from services.edge.triggers.delivery import WebhookDelivery
from services.edge.triggers.evaluator_pool import Evaluator, EvaluatorEnded, TooCostly
from services.edge.triggers.trigger import ActiveTrigger

LOOK = 2.0
"""Seconds between two looks at the files."""
LARGEST = 1_000_000
"""Bytes of a file."""
DAMAGED = "alate.triggers.damaged"
"""Files of Triggers that cannot be read as they are now."""
FILES = "files"
UNREAD = (0, 0, 0)
"""The version of what is to be read again at the next look."""
WRONG = (InvalidResource, TooCostly, EvaluatorEnded, OSError, UnicodeDecodeError, InvalidYaml)

log = structlog.get_logger()


class FileVersion(NamedTuple):
    """A file as it was at the last look."""

    version: tuple[int, int, int]
    rules: tuple[ActiveTrigger, ...]
    """Of when it was good last; none, if it never was."""
    wrong: str = ""
    """Why it is not good now."""


class FileTriggers:
    """A file, or a folder of ``*.yaml`` and ``*.yml``; a mounted ConfigMap is such a folder."""

    def __init__(self, place: Path | None, evaluators: Evaluator, meters: Meters) -> None:
        """None: there are none."""
        self.listed = asyncio.Event()
        """Set once all are known."""
        self._place = place
        self._evaluators = evaluators
        self._meters = meters
        self._known: dict[Path, FileVersion] = {}
        self._absent = ""

    def about(self, heard: WebhookDelivery) -> Iterator[ActiveTrigger]:
        """Those that listen to where it came in, by file."""
        every = (rules for _, known in sorted(self._known.items()) for rules in known.rules)
        return (rules for rules in every if rules.listens(heard))

    async def switch_off(self, trigger: ActiveTrigger, why: str) -> None:
        """Follow it no more until its file is changed."""
        for file, known in self._known.items():
            if trigger in known.rules:
                log.warning("trigger.refused", tenant=trigger.tenant, name=trigger.name, reason=why)
                others = tuple(each for each in known.rules if each is not trigger)
                self._known[file] = FileVersion(known.version, others, f"Trigger {trigger.name}: {why}")
                return

    async def run(self) -> None:
        """Follow them for ever."""
        while True:
            if self._place is not None:
                await self._look(self._place)
            if all(known.version != UNREAD for known in self._known.values()):
                self.listed.set()
            await asyncio.sleep(LOOK)

    async def _look(self, place: Path) -> None:
        try:
            found = {file: file.stat() for file in _files(place)}
            self._absent = ""
        except OSError as error:  # which files are gone is not known: all are followed as they were
            self._miss(f"{place} cannot be read ({error.strerror}): must be a file of Triggers or a folder of such")
        else:
            for gone in self._known.keys() - found.keys():
                del self._known[gone]
            for file, stat in found.items():
                self._known[file] = await self._now(file, stat)
        damaged = sum(bool(known.wrong) for known in self._known.values()) + bool(self._absent)
        self._meters.gauge(DAMAGED, FILES, {(("source", FILES),): float(damaged)})

    def _miss(self, why: str) -> None:
        if why != self._absent:
            log.warning("trigger.files_unread", reason=why)
        self._absent = why

    async def _now(self, file: Path, stat: stat_result) -> FileVersion:
        version = (stat.st_ino, stat.st_size, stat.st_mtime_ns)
        known = self._known.get(file)
        if known is not None and known.version == version:
            return known
        try:
            read = FileVersion(version, await self._read(file, stat.st_size))
            log.info("trigger.file_read", file=file.name, triggers=len(read.rules))
        except WRONG as error:
            why = " ".join(str(error).split())
            log.warning("trigger.file_damaged", file=file.name, reason=why, followed="as it was before")
            return FileVersion(
                UNREAD if isinstance(error, EvaluatorEnded) else version, known.rules if known else (), why
            )
        return read

    async def _read(self, file: Path, size: int) -> tuple[ActiveTrigger, ...]:
        """Raises what `WRONG` names."""
        every = _written(file, size)
        for each in every:
            await self._evaluators.read(each)
        return every


def _files(place: Path) -> list[Path]:
    if not place.is_dir():
        return [place]
    return sorted(file for file in place.iterdir() if file.suffix in {".yaml", ".yml"} and file.name[0] != ".")


def _written(file: Path, size: int) -> tuple[ActiveTrigger, ...]:
    """Raises what `WRONG` names."""
    if size > LARGEST:
        raise InvalidResource(f"the file has {size} bytes: at most {LARGEST} are read")
    return tuple(
        ActiveTrigger(read_trigger(_of_kind(each))) for each in documents(_text(file), LARGEST) if each is not None
    )


def _text(file: Path) -> str:
    """Never more of it than is taken, though it grow while it is read."""
    with file.open("rb") as opened:
        return opened.read(LARGEST + 1).decode()


def _of_kind(document: object) -> dict[str, object]:
    if not isinstance(document, dict) or document.get("kind") != "Trigger":
        other = document.get("kind") if isinstance(document, dict) else type(document).__name__
        raise InvalidResource(f"a {other} is in the file: must be Triggers (apiVersion {TRIGGERS.api_version})")
    return document
