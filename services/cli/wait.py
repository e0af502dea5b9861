"""Waits until a Colony is as asked, shows how far it is, and gives up when the time is over."""

import asyncio
import shutil
import sys
import time
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Iterable
from contextlib import aclosing, asynccontextmanager, suppress
from dataclasses import dataclass
from typing import IO

from events.kube.client import Changed, Kube, Listed, Lost, Object
from events.kube.resources import COLONIES
from schemas import durations
from services.cli.options import OutcomeOptions
from services.cli.output.colours import DIM, coloured, paint
from services.cli.output.render import FOR_PEOPLE, Form, TextWriter, brief, document
from services.errors import BadInput, Failed

REDRAW = 1.0
"""Seconds between two drawings of the same line."""


class TimedOut(Failed):
    """The time that a person gave is over; what was asked for goes on."""


class Progress:
    """Shows one state after the other: on a terminal one line with the time in it, elsewhere a line per change."""

    def __init__(self, stream: IO[str] | None = None, clock: Callable[[], float] = time.monotonic) -> None:
        self.text = ""
        """What was shown last."""
        self._stream = stream if stream is not None else sys.stdout
        self._live = self._stream.isatty()
        self._clock = clock
        self._since = clock()
        self._began = self._since

    def say(self, line: str) -> None:
        """Write a line that stays."""
        self._stream.write(f"{line}\n")
        self._stream.flush()

    def show(self, text: str) -> None:
        """Another state is reached."""
        if text == self.text:
            return
        now, before = self._clock(), self.text
        took = now - self._since
        self.text, self._since = text, now
        if not self._live:
            self.say(f"{text}  (after {_seconds(took)})" if before else text)
            return
        if before:
            self._draw(before, took, end="\n")
        self._draw(text, 0.0)

    @asynccontextmanager
    async def shown(self) -> AsyncIterator[None]:
        """Keep the line up to date meanwhile; in the end it stays."""
        task = asyncio.create_task(self._redraw()) if self._live else None
        try:
            yield
        finally:
            if task is not None:
                task.cancel()
                with suppress(asyncio.CancelledError):
                    await task
                if self.text:
                    self._draw(self.text, self._clock() - self._since, end="\n")

    @property
    def took(self) -> str:
        """The time since the beginning, for people."""
        return _seconds(self._clock() - self._began)

    async def _redraw(self) -> None:
        while True:
            await asyncio.sleep(REDRAW)
            if self.text:
                self._draw(self.text, self._clock() - self._since)

    def _draw(self, text: str, seconds: float, end: str = "") -> None:
        took = _seconds(seconds)
        width = shutil.get_terminal_size().columns - len(took) - 3
        shown = text if len(text) <= width or end else f"{text[: width - 1]}…"
        self._stream.write(f"\r\x1b[2K{shown}  {paint(took, DIM) if coloured(self._stream) else took}{end}")
        self._stream.flush()


@dataclass(frozen=True)
class Outcome:
    """How long a change is waited for, and how it is shown."""

    form: Form = "table"
    wait: bool = False
    limit: float | None = None
    """Seconds; None: without limit."""
    write: TextWriter = sys.stdout.write
    progress: Progress | None = None

    @classmethod
    def of(cls, options: OutcomeOptions) -> "Outcome":
        """As the options of a command say. Raises BadInput."""
        return cls(options.output.value, wait=options.wait, limit=duration(options.timeout))

    def begin(self) -> Progress:
        """Where its progress is shown: beside the document that a program reads."""
        return self.progress or Progress(sys.stdout if self.form in FOR_PEOPLE else sys.stderr)

    def end(self, names: Iterable[str], value: object) -> None:
        """Write what a program reads: the names of what was changed, or all of it."""
        if self.form == "name":
            self.write("".join(f"{name}\n" for name in names))
        elif self.form not in FOR_PEOPLE:
            self.write(document(value, self.form))


def _seconds(seconds: float) -> str:
    whole = int(seconds)
    return f"{whole // 60}m{whole % 60:02}s" if whole >= 60 else f"{whole}s"


def duration(text: str | None) -> float | None:
    """The seconds of ``--timeout``; None: no limit. Raises BadInput."""
    if text is None:
        return None
    try:
        return durations.parse(text).total_seconds()
    except ValueError as wrong:
        raise BadInput(f"--timeout {text}: {wrong}") from wrong


@asynccontextmanager
async def limited(progress: Progress, seconds: float | None, goal: str) -> AsyncIterator[None]:
    """Show the progress meanwhile. Raises TimedOut if the goal is not reached in so many seconds."""
    async with progress.shown():
        try:
            async with asyncio.timeout(seconds) as limit:
                yield
        except TimeoutError as late:
            if not limit.expired():
                raise
            last = f"the last state was: {progress.text}" if progress.text else "nothing was heard of it"
            raise TimedOut(f"{goal} after {progress.took}: {last}; what was asked for goes on") from late


async def follow(kube: Kube, name: str, namespace: str, progress: Progress) -> AsyncGenerator[Object]:
    """A Colony as it changes, until it is gone; each state is shown. Raises Failed if the API does not answer."""
    async with aclosing(_sights(kube, name, namespace)) as sights:
        async for colony in sights:
            if colony is None:
                return
            if "status" in colony:
                progress.show(_line(colony))
            yield colony


async def _sights(kube: Kube, name: str, namespace: str) -> AsyncGenerator[Object | None]:
    """One Colony as it changes; None once it is gone."""
    async for sight in kube.watch(COLONIES, namespace):
        match sight:
            case Listed(items):
                yield next((item for item in items if item["metadata"]["name"] == name), None)
            case Changed(colony, gone) if colony["metadata"]["name"] == name:
                yield None if gone else colony
            case Lost(reason):
                raise Failed(f"the management cluster does not answer: {reason}")


def _line(colony: Object) -> str:
    status = colony.get("status", {})
    accelerators = status.get("accelerators")
    counted = f"{accelerators} accelerators" if accelerators else ""
    parts = (status.get("phase"), counted, status.get("offer"), status.get("message"))
    return brief(f"colony/{colony['metadata']['name']}  " + "  ".join(str(part) for part in parts if part))


def current(colony: Object) -> Object:
    """The status, if it is of the Colony as it is written now; else empty."""
    status: Object = colony.get("status", {})
    return status if status.get("observedGeneration", 0) >= colony["metadata"].get("generation", 0) else {}
