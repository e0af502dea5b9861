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
    rule_result,
    too_much_memory,
    too_much_time,
)
from services.edge.triggers.rules import RuleResult
from services.edge.triggers.trigger import ActiveTrigger

AT_ONCE = 2
"""Processes: while one is busy, the other can serve."""
PATIENCE = 15.0
"""Seconds until an evaluator without a reply is ended: far more than its budget, since the machine may be busy."""
TRIES = 3
"""How often a request is tried over which evaluators end, before the Trigger counts as the cause."""
KEPT = ("PATH", "LANG", "LC_ALL", "PYTHONPATH", "SYSTEMROOT")
"""The environment variables that an evaluator gets: no address and no key."""
ENDED_BY = {signal.SIGPROF: too_much_time, signal.SIGABRT: too_much_memory, signal.SIGSEGV: too_much_memory}
"""The signals that end an evaluator because of its request, and for no other reason."""

log = structlog.get_logger()


class TooCostly(Exception):
    """A Trigger exceeds its budget; the message is one sentence."""


class EvaluatorEnded(Exception):
    """The evaluator ended or did not reply, perhaps not because of the Trigger. Safe to repeat."""


class Evaluator(Protocol):
    """Compiles Triggers, evaluates them on deliveries, and validates requests.

    Every call raises InvalidResource, TooCostly, EvaluatorEnded.
    """

    async def read(self, trigger: ActiveTrigger) -> float:
        """Compile a Trigger; returns the processor seconds it took."""
        ...

    async def evaluate(self, trigger: ActiveTrigger, delivery: WebhookDelivery) -> tuple[tuple[RuleResult, ...], float]:
        """The result of every rule, and the processor seconds."""
        ...

    async def check(self, delivery: WebhookDelivery) -> float:
        """Validate a request; returns the processor seconds it took."""
        ...


class EvaluatorPool:
    """All evaluators; tenants whose rules have exceeded a budget share one apart, so that no other waits for them."""

    def __init__(self) -> None:
        self._usual = EvaluatorLane(AT_ONCE)
        self._suspect = EvaluatorLane(1)
        self._suspects: set[str] = set()
        """Tenants whose rules have exceeded a budget, as long as this process runs."""

    async def read(self, trigger: ActiveTrigger) -> float:
        """See `Evaluator`."""
        request = EvaluationRequest(trigger.written)
        for _ in range(TRIES - 1):
            with suppress(EvaluatorEnded):
                return (await self._send(trigger.tenant, request)).seconds
        return (await self._send(trigger.tenant, request)).seconds

    async def evaluate(self, trigger: ActiveTrigger, delivery: WebhookDelivery) -> tuple[tuple[RuleResult, ...], float]:
        """See `Evaluator`."""
        reply = await self._send(trigger.tenant, EvaluationRequest(trigger.written, delivery))
        return tuple(rule_result(trigger.name, each) for each in reply.results), reply.seconds

    async def check(self, delivery: WebhookDelivery) -> float:
        """See `Evaluator`."""
        return (await self._send(delivery.endpoint.tenant, EvaluationRequest(b"", delivery))).seconds

    async def aclose(self) -> None:
        """End every process."""
        await self._usual.close()
        await self._suspect.close()

    async def _send(self, tenant: str, request: EvaluationRequest) -> EvaluationReply:
        lane = self._suspect if tenant in self._suspects else self._usual
        try:
            return _checked(await lane.send(request))
        except TooCostly:
            self._suspects.add(tenant)
            raise


class EvaluatorLane:
    """Some evaluators, and the requests that wait for one, in order of arrival."""

    def __init__(self, at_once: int) -> None:
        self._at_once = at_once
        self._turns = asyncio.Semaphore(at_once)
        self.idle: list[asyncio.subprocess.Process] = []
        self.warming: set[asyncio.Task[None]] = set()

    async def send(self, request: EvaluationRequest) -> EvaluationReply:
        """The reply. Raises TooCostly, EvaluatorEnded."""
        async with self._turns:
            process = self.idle.pop() if self.idle else await _started()
            try:
                reply = await _answer(process, framed(msgspec.msgpack.encode(request)))
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
            self.idle.append(await _started())


def _checked(reply: EvaluationReply) -> EvaluationReply:
    if reply.refused:
        raise InvalidResource(reply.refused)
    if reply.costly:
        raise TooCostly(reply.costly)
    if reply.fault:
        raise RuntimeError(reply.fault)
    return reply


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
    """The reply. Raises TooCostly, EvaluatorEnded."""
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
