"""A pool of evaluator processes: started on demand, kept warm, replaced when one ends."""

import asyncio
import os
import signal
import sys
from contextlib import suppress
from typing import Protocol

import msgspec
import structlog

from schemas.crds import InvalidResource
from services.edge.triggers.delivery import WebhookDelivery
from services.edge.triggers.evaluator import (
    LARGEST,
    LENGTH,
    EvaluationReply,
    EvaluationRequest,
    framed,
    too_much_memory,
    too_much_time,
    verdict,
)
from services.edge.triggers.rules import RuleResult
from services.edge.triggers.trigger import ActiveTrigger

AT_ONCE = 2
"""Processes: while one is busy with something costly, the other goes on."""
PATIENCE = 15.0
"""Seconds until one that does not answer is ended: far more than its budget, for the machine may be busy."""
TRIES = 3
"""How often something is asked that an evaluator went away over, before the Trigger is held to be why."""
KEPT = ("PATH", "LANG", "LC_ALL", "PYTHONPATH", "SYSTEMROOT")
"""Of our environment, what an evaluator is given: no address and no key."""
ENDED_BY = {signal.SIGPROF: too_much_time, signal.SIGABRT: too_much_memory, signal.SIGSEGV: too_much_memory}
"""What an evaluator is ended by for what it was asked, and nothing else."""

log = structlog.get_logger()


class TooCostly(Exception):
    """A Trigger takes more than it may; the message is one sentence."""


class EvaluatorEnded(Exception):
    """The evaluator went away or did not answer, and it is not known that the Trigger is why. Safe to repeat."""


class Evaluator(Protocol):
    """Holds Triggers against events, and reads requests."""

    async def read(self, trigger: ActiveTrigger) -> float:
        """Seconds of a processor that it took. Raises Refused, TooCostly, Ended."""
        ...

    async def judge(self, trigger: ActiveTrigger, heard: WebhookDelivery) -> tuple[tuple[RuleResult, ...], float]:
        """What every rule says, and seconds of a processor. Raises Refused, TooCostly, Ended."""
        ...

    async def check(self, asked: WebhookDelivery) -> float:
        """Seconds of a processor that it took to read a request. Raises Refused, TooCostly, Ended."""
        ...


class EvaluatorPool:
    """All of them: tenants over whose rules one was ended have one apart, so that no other waits for the next."""

    def __init__(self) -> None:
        self._usual = EvaluatorLane(AT_ONCE)
        self._suspect = EvaluatorLane(1)
        self._suspects: set[str] = set()
        """Tenants; for as long as this process runs."""

    async def read(self, trigger: ActiveTrigger) -> float:
        """Seconds of a processor that it took. Raises Refused, TooCostly, Ended."""
        ask = EvaluationRequest(trigger.written)
        for _ in range(TRIES - 1):
            with suppress(EvaluatorEnded):
                return (await self._ask(trigger.tenant, ask)).seconds
        return (await self._ask(trigger.tenant, ask)).seconds

    async def judge(self, trigger: ActiveTrigger, heard: WebhookDelivery) -> tuple[tuple[RuleResult, ...], float]:
        """What every rule says, and seconds of a processor. Raises Refused, TooCostly, Ended."""
        found = await self._ask(trigger.tenant, EvaluationRequest(trigger.written, heard))
        return tuple(verdict(trigger.name, each) for each in found.said), found.seconds

    async def check(self, asked: WebhookDelivery) -> float:
        """Seconds of a processor that it took to read a request. Raises Refused, TooCostly, Ended."""
        return (await self._ask(asked.endpoint.tenant, EvaluationRequest(b"", asked))).seconds

    async def aclose(self) -> None:
        """Let all go."""
        await self._usual.close()
        await self._suspect.close()

    async def _ask(self, tenant: str, ask: EvaluationRequest) -> EvaluationReply:
        lane = self._suspect if tenant in self._suspects else self._usual
        try:
            return _checked(await lane.ask(ask))
        except TooCostly:
            self._suspects.add(tenant)
            raise


class EvaluatorLane:
    """Some evaluators, and those who wait for one, in the order in which they came."""

    def __init__(self, at_once: int) -> None:
        self._at_once = at_once
        self._turns = asyncio.Semaphore(at_once)
        self.idle: list[asyncio.subprocess.Process] = []
        self.warming: set[asyncio.Task[None]] = set()

    async def ask(self, ask: EvaluationRequest) -> EvaluationReply:
        """Raises TooCostly, Ended."""
        async with self._turns:
            process = self.idle.pop() if self.idle else await _started()
            try:
                found = await _answer(process, framed(msgspec.msgpack.encode(ask)))
            except BaseException:
                self._replace()
                await _end(process)
                raise
            self.idle.append(process)
        return found

    async def close(self) -> None:
        """Let all go."""
        for each in tuple(self.warming):
            each.cancel()
        await asyncio.gather(*self.warming, return_exceptions=True)
        while self.idle:
            await _end(self.idle.pop())

    def _replace(self) -> None:
        """Start another now, so that it is warm for whoever asks next."""
        if len(self.idle) + len(self.warming) < self._at_once:
            task = asyncio.create_task(self._warm())
            self.warming.add(task)
            task.add_done_callback(self.warming.discard)

    async def _warm(self) -> None:
        with suppress(EvaluatorEnded):  # then whoever asks next starts it, and is told
            self.idle.append(await _started())


def _checked(found: EvaluationReply) -> EvaluationReply:
    if found.refused:
        raise InvalidResource(found.refused)
    if found.costly:
        raise TooCostly(found.costly)
    if found.fault:
        raise RuntimeError(found.fault)
    return found


async def _started() -> asyncio.subprocess.Process:
    pipe, nowhere = asyncio.subprocess.PIPE, asyncio.subprocess.DEVNULL
    shown = {name: value for name, value in os.environ.items() if name in KEPT}
    # -P: a folder called services where the user happens to stand is not ours.
    words = (sys.executable, "-P", "-m", "services.edge.triggers.evaluator")
    try:
        process = await asyncio.create_subprocess_exec(*words, stdin=pipe, stdout=pipe, stderr=nowhere, env=shown)
    except OSError as why:
        raise EvaluatorEnded(f"no evaluator could be started: {why.strerror}") from why
    log.info("evaluator.started", pid=process.pid)
    return process


async def _answer(process: asyncio.subprocess.Process, question: bytes) -> EvaluationReply:
    """Raises TooCostly, Ended."""
    stdin, stdout = process.stdin, process.stdout
    assert stdin is not None and stdout is not None  # noqa: S101, PT018 - it was started with both
    try:
        async with asyncio.timeout(PATIENCE):
            stdin.write(question)
            await stdin.drain()
            (length,) = LENGTH.unpack(await stdout.readexactly(LENGTH.size))
            if length <= LARGEST:
                return msgspec.msgpack.decode(await stdout.readexactly(length), type=EvaluationReply)
    except TimeoutError as late:
        raise EvaluatorEnded(f"the evaluator did not answer in {PATIENCE:g} s") from late
    except (asyncio.IncompleteReadError, ConnectionError) as gone:
        raise _why(await process.wait()) from gone
    raise EvaluatorEnded(f"the evaluator answered {length} bytes")


def _why(code: int) -> TooCostly | EvaluatorEnded:
    if (costly := ENDED_BY.get(signal.Signals(-code)) if code < 0 else None) is not None:
        return TooCostly(costly())
    return EvaluatorEnded(f"the evaluator ended with code {code}")


async def _end(process: asyncio.subprocess.Process) -> None:
    if process.returncode is None:
        process.kill()
    await process.wait()
    log.info("evaluator.ended", pid=process.pid, code=process.returncode)
