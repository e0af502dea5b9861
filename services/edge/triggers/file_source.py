"""Reads Triggers from files; a damaged file keeps its last good content."""

import asyncio
from collections.abc import Iterator
from pathlib import Path
from stat import S_ISDIR

import structlog

from events.kube.resources import TRIGGERS
from events.telemetry import Meters
from schemas.crds import InvalidResource, Trigger, read_trigger
from schemas.documents import InvalidYaml, documents
from services.edge.triggers.delivery import Channel
from services.edge.triggers.evaluator_pool import Evaluator
from services.edge.triggers.trigger import ActiveTrigger
from services.expressions.processes import EvaluatorEnded, TooCostly
from services.runtime.watched_file import WatchedFile, read_start

LOOK = 2.0
"""Seconds between two looks at the files."""
LARGEST = 1_000_000
"""Bytes of a file."""
DAMAGED = "alate.triggers.damaged"
"""Files of Triggers that cannot be read as they are now."""
FILES = "files"
WRONG = (InvalidResource, TooCostly, EvaluatorEnded, OSError, UnicodeDecodeError, InvalidYaml)

log = structlog.get_logger()


class FileTriggers:
    """The Triggers of a file, or of a folder of ``*.yaml`` and ``*.yml``, such as a mounted ConfigMap."""

    def __init__(self, place: Path | None, evaluators: Evaluator, meters: Meters) -> None:
        """`place` is None: there are no files."""
        self.listed = asyncio.Event()
        """Set once all Triggers are known."""
        self._place = place
        self._evaluators = evaluators
        self._meters = meters
        self._known: dict[Path, WatchedFile[tuple[ActiveTrigger, ...]]] = {}
        self._absent = ""

    def listening_to(self, channel: Channel) -> Iterator[ActiveTrigger]:
        """The active Triggers that hear what comes from there, by file."""
        every = (rules for _, known in sorted(self._known.items()) for rules in known.content)
        return (rules for rules in every if rules.listens(channel))

    async def switch_off(self, trigger: ActiveTrigger, why: str) -> None:
        """Deactivate a Trigger until its file is changed."""
        for known in self._known.values():
            if trigger in known.content:
                log.warning("trigger.refused", tenant=trigger.tenant, name=trigger.name, reason=why)
                known.accept(tuple(each for each in known.content if each is not trigger))
                known.refuse(f"Trigger {trigger.name}: {why}")
                return

    async def run(self) -> None:
        """Read the files when they change, until cancelled."""
        while True:
            if self._place is None or await self._look(self._place):
                self.listed.set()
            await asyncio.sleep(LOOK)

    async def _look(self, place: Path) -> bool:
        """Read every file that has changed. Returns False if the evaluator ended over one."""
        done = True
        try:
            found = _files(place)
            self._absent = ""
        except OSError as error:  # which files were deleted is not known: all keep their Triggers
            self._miss(f"{place} cannot be read ({error.strerror}): must be a file of Triggers or a folder of such")
        else:
            self._known = {path: self._known.get(path) or WatchedFile(path, ()) for path in found}
            done = all([await self._refresh(known) for known in self._known.values()])
        damaged = sum(bool(known.problem) for known in self._known.values()) + bool(self._absent)
        self._meters.gauge(DAMAGED, FILES, {(("source", FILES),): float(damaged)})
        return done

    def _miss(self, why: str) -> None:
        if why != self._absent:
            log.warning("trigger.files_unread", reason=why)
        self._absent = why

    async def _refresh(self, known: WatchedFile[tuple[ActiveTrigger, ...]]) -> bool:
        """Read the file if it has changed. Returns False if the evaluator ended."""
        try:
            if known.changed():
                known.accept(await self._read(known.path))
                log.info("trigger.file_read", file=known.path.name, triggers=len(known.content))
        except WRONG as error:
            why = " ".join(str(error).split())
            if known.refuse(why, again=isinstance(error, EvaluatorEnded | OSError)):
                log.warning("trigger.file_damaged", file=known.path.name, reason=why, followed="as it was before")
            return not isinstance(error, EvaluatorEnded)
        return True

    async def _read(self, file: Path) -> tuple[ActiveTrigger, ...]:
        """Raises the errors in `WRONG`."""
        every = _written(file)
        for each in every:
            await self._evaluators.read(each)
        return every


def _files(place: Path) -> list[Path]:
    """Raises OSError."""
    if not S_ISDIR(place.stat().st_mode):
        return [place]
    return sorted(file for file in place.iterdir() if file.suffix in {".yaml", ".yml"} and file.name[0] != ".")


def _written(file: Path) -> tuple[ActiveTrigger, ...]:
    """Raises the errors in `WRONG`."""
    if (size := file.stat().st_size) > LARGEST:
        raise InvalidResource(f"the file has {size} bytes: at most {LARGEST} are read")
    return tuple(
        ActiveTrigger(_without_objects(read_trigger(_of_kind(each))))
        for each in documents(read_start(file, LARGEST + 1).decode(), LARGEST)
        if each is not None
    )


def _without_objects(trigger: Trigger) -> Trigger:
    if trigger.spec.objects:
        raise InvalidResource("spec.objects is given: objects are watched for Triggers of the management cluster only")
    return trigger


def _of_kind(document: object) -> dict[str, object]:
    if not isinstance(document, dict) or document.get("kind") != "Trigger":
        other = document.get("kind") if isinstance(document, dict) else type(document).__name__
        raise InvalidResource(f"a {other} is in the file: must be Triggers (apiVersion {TRIGGERS.api_version})")
    return document
