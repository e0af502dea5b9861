"""Keeps one program running: restarts it with back-off until it is stopped."""

import asyncio
import os
import signal
from collections.abc import Callable
from contextlib import suppress
from enum import StrEnum

from services.local.parent_death import GATE
from services.local.program import NotStarted, Program

FIRST_DELAY = 0.1
LONGEST_DELAY = 10.0
SETTLED = 30.0
"""Seconds a process must live for its earlier deaths to be forgotten."""
LOOK = 10.0
"""Seconds from being ready to the first look whether it is sick; doubled each time that starting it did not help."""
OFTEN = 6
"""So often they are doubled at most."""
MISSES = 5
"""Failed probes in a row after which a program counts as hanging: half a minute with the time each takes."""
BETWEEN = 4.0
"""Seconds between two of these questions."""
POLL = 0.05
"""Seconds between two questions whether it is ready."""
TRIES = 3
"""How often it may die before it was ever ready."""


class Phase(StrEnum):
    """How a child is."""

    STOPPED = "stopped"
    STARTING = "starting"
    UP = "up"
    WAITING = "waiting"
    """It died, and is started again in a moment."""


class Child:
    """See the file's first line. `changed` is called after every change of phase or process."""

    def __init__(self, program: Program, changed: Callable[["Child"], None]) -> None:
        self.program = program
        self.phase = Phase.STOPPED
        self.deaths = 0
        """How often it ended without having been asked to."""
        self.why = ""
        """Why it is ended by us to be started again; empty where it ended by itself."""
        self._cures = 0
        self._was_up = False
        self._moved = asyncio.Event()
        self._changed = changed
        self._process: asyncio.subprocess.Process | None = None
        self._runs: asyncio.Task[None] | None = None

    @property
    def pid(self) -> int | None:
        """The running process, and its process group; None while there is none."""
        return self._process.pid if self._process else None

    def start(self) -> None:
        """Begin to keep it running."""
        self.phase = Phase.STARTING
        self._runs = asyncio.create_task(self._run(), name=f"child {self.program.name}")

    async def until_ready(self, within: float) -> None:
        """Wait until it answers. Raises NotStarted if it exits repeatedly, or after `within` seconds."""
        try:
            async with asyncio.timeout(within):
                while self.phase is not Phase.UP:
                    if not self._was_up and self.deaths >= TRIES:
                        raise NotStarted(self._sentence("ends as soon as it is started"))
                    self._moved.clear()
                    await self._moved.wait()
        except TimeoutError as late:
            raise NotStarted(self._sentence(f"was not ready after {within:g} s")) from late

    async def stop(self) -> None:
        """End it: SIGTERM, then SIGKILL after its grace."""
        if self._runs is not None:
            self._runs.cancel()
            await asyncio.wait((self._runs,))
        if self._process is not None:
            await self._end(self._process)
        self._enter(Phase.STOPPED)

    def kill(self) -> bool:
        """SIGKILL, as a crash would; it is started again. False if there was nothing to kill just now."""
        if self._process is not None:
            self._signal(self._process, signal.SIGKILL)
        return self._process is not None

    async def _run(self) -> None:
        loop, failures = asyncio.get_running_loop(), 0
        while True:
            began = loop.time()
            await self._live()
            failures = 1 if loop.time() - began > SETTLED else failures + 1
            self.deaths += 1
            self._enter(Phase.WAITING)
            await asyncio.sleep(min(FIRST_DELAY * 2 ** (failures - 1), LONGEST_DELAY))

    async def _live(self) -> None:
        self.why = ""
        process = self._process = await self._spawn()
        self._enter(Phase.STARTING)
        self._open_gate(process)
        asks = asyncio.create_task(self._look_after(process))
        try:
            await process.wait()
        finally:
            asks.cancel()
            await asyncio.wait((asks,))
        self._process = None
        self._signal(process, signal.SIGKILL)  # what it started may have outlived it

    async def _spawn(self) -> asyncio.subprocess.Process:
        self.program.log.parent.mkdir(parents=True, exist_ok=True)
        with self.program.log.open("ab") as log:
            return await asyncio.create_subprocess_exec(
                *GATE,
                *self.program.argv,
                env=os.environ | self.program.env,
                stdin=asyncio.subprocess.PIPE,
                stdout=log,
                stderr=log,
                start_new_session=True,
            )

    def _open_gate(self, process: asyncio.subprocess.Process) -> None:
        """`changed` has been told of the process, so that from here on it may begin."""
        if process.stdin is not None:
            process.stdin.write(b"\n")
            process.stdin.close()

    async def _ask_until_ready(self) -> None:
        while not await self.program.ready():  # noqa: ASYNC110 - another process has no event to wait for
            await asyncio.sleep(POLL)
        self._was_up = True
        self._enter(Phase.UP)

    async def _look_after(self, process: asyncio.subprocess.Process) -> None:
        """Once it is ready: end it when it hangs or is sick, so that it is started again, ever less often."""
        await self._ask_until_ready()
        while not self.why:
            await asyncio.sleep(LOOK * 2 ** min(self._cures, OFTEN))
            if hangs := await self._hangs():
                self._signal(process, signal.SIGKILL)  # what hangs heeds nothing else
            self.why = "hangs" if hangs else await self.program.sick()
            self._cures = self._cures + 1 if self.why else 0
        await self._end(process)

    async def _hangs(self) -> bool:
        """Whether nothing is heard of it however often it is asked: what only stopped for a while goes on by itself."""
        for _ in range(MISSES):
            if await self.program.alive():
                return False
            await asyncio.sleep(BETWEEN)
        return True

    async def _end(self, process: asyncio.subprocess.Process) -> None:
        self._signal(process, signal.SIGTERM)
        with suppress(TimeoutError):  # it had its time: what follows ends it
            await asyncio.wait_for(process.wait(), self.program.grace)
        self._signal(process, signal.SIGKILL)
        await process.wait()

    def _signal(self, process: asyncio.subprocess.Process, number: signal.Signals) -> None:
        with suppress(ProcessLookupError):  # the whole group is gone already: that is what was wanted
            os.killpg(process.pid, number)

    def _enter(self, phase: Phase) -> None:
        self.phase = phase
        self._moved.set()
        self._changed(self)

    def _sentence(self, what: str) -> str:
        name, log = self.program.name, self.program.log
        return f"{name} {what}; the last line in {log} is: {self.program.last_words()}"
