"""A process that evaluates what tenants write within a budget; what exceeds it ends only this process.

It is spoken to over its standard input and output, one question after another, each with its length before it.
"""

import resource
import signal
import struct
import sys
import time
from collections.abc import Iterator
from functools import lru_cache
from pathlib import Path
from typing import BinaryIO

import msgspec

from schemas.crds import InvalidResource, read_trigger
from schemas.requests import ClusterRequest, ReleaseRequest
from services.edge.triggers.delivery import WebhookDelivery
from services.edge.triggers.rules import CompiledTrigger, RuleResult
from services.edge.webhooks.direct import check

SECONDS = 0.5
"""Of a processor, for one Trigger and one event: a thousand times what rules usually take."""
MEMORY = 256 * 1024 * 1024
"""Bytes an evaluation may take, beyond what the process has at its start."""
LARGEST = 1_000_000
"""Bytes of an answer: what the bus takes as one message."""
READ = 512
"""Triggers that are kept read."""
LENGTH = struct.Struct(">I")


class EvaluationRequest(msgspec.Struct, frozen=True):
    """One question."""

    trigger: bytes
    """The Trigger, as `Followed.written` has it; empty: what was heard is a request by itself, and shall be read."""
    heard: WebhookDelivery | None = None
    """What it is held against; None: it shall only be read."""


class RuleResultMessage(msgspec.Struct, frozen=True):
    """A `RuleResult`, as it goes over the wire."""

    rule: str
    why: str
    request: ClusterRequest | None
    release: ReleaseRequest | None
    once: str
    failed: bool


class EvaluationReply(msgspec.Struct, frozen=True):
    """One answer; of the reasons at most one is there."""

    said: tuple[RuleResultMessage, ...] = ()
    seconds: float = 0.0
    """Of a processor that it took."""
    refused: str = ""
    """The Trigger cannot be read."""
    costly: str = ""
    """It takes too much."""
    fault: str = ""
    """Ours."""


def answer(ask: EvaluationRequest) -> EvaluationReply:
    """What a Trigger says, and what that took."""
    began = time.process_time()
    try:
        said = _judged(ask)
    except InvalidResource as why:
        return EvaluationReply(refused=str(why))
    except MemoryError:
        return EvaluationReply(costly=too_much_memory())
    except Exception as fault:  # noqa: BLE001 - it is told to the edge, which logs it
        return EvaluationReply(fault=f"{type(fault).__name__}: {fault}")
    return EvaluationReply(said, time.process_time() - began)


def _judged(ask: EvaluationRequest) -> tuple[RuleResultMessage, ...]:
    if ask.heard and not ask.trigger:
        check(ask.heard.event, ask.heard.endpoint)
        return ()
    rules = _read(ask.trigger)
    return tuple(map(_said, rules.judge(ask.heard))) if ask.heard else ()


def too_much_memory() -> str:
    """Why it is not followed."""
    return f"its rules take more than {MEMORY // 1024 // 1024} MiB of memory for one event"


def too_much_time() -> str:
    """Why it is not followed."""
    return f"its rules take more than {SECONDS:g} s of a processor for one event"


@lru_cache(maxsize=READ)
def _read(trigger: bytes) -> CompiledTrigger:
    return CompiledTrigger(read_trigger(msgspec.json.decode(trigger)))


def _said(verdict: RuleResult) -> RuleResultMessage:
    request = verdict.intake if isinstance(verdict.intake, ClusterRequest) else None
    release = verdict.intake if isinstance(verdict.intake, ReleaseRequest) else None
    return RuleResultMessage(verdict.rule, verdict.why, request, release, verdict.once, verdict.failed)


def verdict(trigger: str, said: RuleResultMessage) -> RuleResult:
    """The way back."""
    return RuleResult(trigger, said.rule, said.why, said.request or said.release, said.once, said.failed)


def framed(data: bytes) -> bytes:
    """With its length before it."""
    return LENGTH.pack(len(data)) + data


def packed(found: EvaluationReply) -> bytes:
    """As it is sent; what is too large says so instead."""
    data = msgspec.msgpack.encode(found)
    if len(data) <= LARGEST:
        return data
    return msgspec.msgpack.encode(
        EvaluationReply(costly=f"its rules ask for {len(data)} bytes: at most {LARGEST} are taken")
    )


def _questions(stream: BinaryIO) -> Iterator[EvaluationRequest]:
    decoder = msgspec.msgpack.Decoder(EvaluationRequest)
    while len(head := stream.read(LENGTH.size)) == LENGTH.size:
        yield decoder.decode(stream.read(*LENGTH.unpack(head)))


def main() -> None:
    """Answer until the edge leaves. What takes too long is ended by SIGPROF, which the kernel sends."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the edge is told as well, and says when there is nothing left to do
    signal.signal(signal.SIGPROF, signal.SIG_DFL)
    _warm_up()
    _limit()
    for ask in _questions(sys.stdin.buffer):
        signal.setitimer(signal.ITIMER_PROF, SECONDS)
        data = packed(answer(ask))
        signal.setitimer(signal.ITIMER_PROF, 0.0)
        sys.stdout.buffer.write(framed(data))
        sys.stdout.buffer.flush()


def _warm_up() -> None:
    """What is loaded later would count as the first event's."""
    spec = {"name": "x", "rules": [{"name": "x", "when": "false", "then": "Release"}]}
    _read(msgspec.json.encode({"metadata": {"name": "x", "namespace": "x"}, "spec": spec}))


def _limit() -> None:
    """So much memory, and no core dump of it."""
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    resource.setrlimit(resource.RLIMIT_AS, (_held() + MEMORY,) * 2)


def _held() -> int:
    """Bytes of addresses that are in use already."""
    try:
        return int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
    except OSError:  # no Linux: more than any has at its start
        return 2 * 1024**3


if __name__ == "__main__":
    main()
