"""A pool of processes that evaluate within a budget: started on demand, kept warm, replaced when one ends."""

import asyncio
import os
import signal
import sys
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from typing import TypeVar

import structlog

from services.expressions.budget import LARGEST, LENGTH, framed, too_much_memory, too_much_time

AT_ONCE = 2
"""Processes: while one is busy, the other can serve."""
PATIENCE = 15.0
"""Seconds until an evaluator without a reply is ended: far more than its budget, since the machine may be busy."""
TRIES = 3
"""How often a request is tried over which evaluators end, before the request counts as the cause."""
KEPT = ("PATH", "LANG", "LC_ALL", "PYTHONPATH", "SYSTEMROOT")
"""The environment variables that an evaluator gets: no address and no key."""
ENDED_BY = {signal.SIGPROF: too_much_time, signal.SIGABRT: too_much_memory, signal.SIGSEGV: too_much_memory}
"""The signals that end an evaluator because of its request, and for no other reason."""

log = structlog.get_logger()
T = TypeVar("T")


class TooCostly(Exception):
    """The request exceeds its budget; the message is one sentence."""


class EvaluatorEnded(Exception):
    """The evaluator ended or did not reply, perhaps not because of the request. Safe to repeat."""


@dataclass(frozen=True)
class EvaluatorProgram:
    """What the processes of a pool run."""

    module: str
    """The module whose main calls `serve`."""
    sentence: str
    """Why a request is refused, with ``{}`` for the limit that it exceeds."""


class EvaluatorProcesses:
    """All processes of one program; tenants that have exceeded a budget share one apart, so that no other waits."""

    def __init__(self, program: EvaluatorProgram) -> None:
        self._usual = EvaluatorLane(program, AT_ONCE)
        self._suspect = EvaluatorLane(program, 1)
        self._suspects: set[str] = set()
        """Tenants that have exceeded a budget, as long as this process runs."""

    async def send(self, tenant: str, request: bytes, read: Callable[[bytes], T]) -> T:
        """The reply, as `read` has it, which may raise TooCostly. Raises TooCostly, EvaluatorEnded."""
        lane = self._suspect if tenant in self._suspects else self._usual
        try:
            return read(await lane.send(request))
        except TooCostly:
            self._suspects.add(tenant)
            raise

    async def aclose(self) -> None:
        """End every process."""
        await self._usual.close()
        await self._suspect.close()


class EvaluatorLane:
    """Some evaluators, and the requests that wait for one, in order of arrival."""

    def __init__(self, program: EvaluatorProgram, at_once: int) -> None:
        self._program = program
        self._at_once = at_once
        self._turns = asyncio.Semaphore(at_once)
        self.idle: list[asyncio.subprocess.Process] = []
        self.warming: set[asyncio.Task[None]] = set()

    async def send(self, request: bytes) -> bytes:
        """The reply. Raises TooCostly, EvaluatorEnded."""
        async with self._turns:
            process = self.idle.pop() if self.idle else await _started(self._program.module)
            try:
                reply = await _answer(process, framed(request), self._program.sentence)
            except BaseException:
                self._replace()
                await _end(process)
                raise
            self.idle.append(process)
        return reply

    async def close(self) -> None:
        """End every process."""
        for each in tuple(self.warming):
            each.cancel()
        await asyncio.gather(*self.warming, return_exceptions=True)
        while self.idle:
            await _end(self.idle.pop())

    def _replace(self) -> None:
        """Start another process now, so that it is warm for the next request."""
        if len(self.idle) + len(self.warming) < self._at_once:
            task = asyncio.create_task(self._warm())
            self.warming.add(task)
            task.add_done_callback(self.warming.discard)

    async def _warm(self) -> None:
        with suppress(EvaluatorEnded):  # then the next request starts one, and gets the error
            self.idle.append(await _started(self._program.module))


async def _started(module: str) -> asyncio.subprocess.Process:
    pipe, nowhere = asyncio.subprocess.PIPE, asyncio.subprocess.DEVNULL
    shown = {name: value for name, value in os.environ.items() if name in KEPT}
    # -P: a folder called services where the user happens to stand is not ours.
    words = (sys.executable, "-P", "-m", module)
    try:
        process = await asyncio.create_subprocess_exec(*words, stdin=pipe, stdout=pipe, stderr=nowhere, env=shown)
    except OSError as why:
        raise EvaluatorEnded(f"no evaluator could be started: {why.strerror}") from why
    log.info("evaluator.started", pid=process.pid)
    return process


async def _answer(process: asyncio.subprocess.Process, question: bytes, sentence: str) -> bytes:
    """The reply. Raises TooCostly, EvaluatorEnded."""
    stdin, stdout = process.stdin, process.stdout
    assert stdin is not None and stdout is not None  # noqa: S101, PT018 - it was started with both
    try:
        async with asyncio.timeout(PATIENCE):
            stdin.write(question)
            await stdin.drain()
            (length,) = LENGTH.unpack(await stdout.readexactly(LENGTH.size))
            if length <= LARGEST:
                return await stdout.readexactly(length)
    except TimeoutError as late:
        raise EvaluatorEnded(f"the evaluator did not answer in {PATIENCE:g} s") from late
    except (asyncio.IncompleteReadError, ConnectionError) as gone:
        raise _why(await process.wait(), sentence) from gone
    raise EvaluatorEnded(f"the evaluator answered {length} bytes")


def _why(code: int, sentence: str) -> TooCostly | EvaluatorEnded:
    if (costly := ENDED_BY.get(signal.Signals(-code)) if code < 0 else None) is not None:
        return TooCostly(costly(sentence))
    return EvaluatorEnded(f"the evaluator ended with code {code}")


async def _end(process: asyncio.subprocess.Process) -> None:
    if process.returncode is None:
        process.kill()
    await process.wait()
    log.info("evaluator.ended", pid=process.pid, code=process.returncode)
