"""A process that evaluates what tenants write within a budget; what exceeds it ends only this process.

It reads requests from standard input and writes replies to standard output, each preceded by its length.
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
"""Processor time for one Trigger and one event: a thousand times what rules usually take."""
MEMORY = 256 * 1024 * 1024
"""Bytes of memory that an evaluation may use, beyond what the process has at its start."""
LARGEST = 1_000_000
"""Bytes of a reply: the limit of a message on the bus."""
READ = 512
"""Compiled Triggers that are cached."""
LENGTH = struct.Struct(">I")


class EvaluationRequest(msgspec.Struct, frozen=True):
    """A Trigger to compile, or a delivery to evaluate it on."""

    trigger: bytes
    """The Trigger, as in `ActiveTrigger.written`; empty: the delivery is a request by itself, which is validated."""
    delivery: WebhookDelivery | None = None
    """The delivery to evaluate; None: the Trigger is only compiled."""


class RuleResultMessage(msgspec.Struct, frozen=True):
    """A `RuleResult` as it is sent between the processes."""

    rule: str
    why: str
    request: ClusterRequest | None
    release: ReleaseRequest | None
    once: str
    failed: bool


class EvaluationReply(msgspec.Struct, frozen=True):
    """The reply; at most one of the three reasons is not empty."""

    results: tuple[RuleResultMessage, ...] = ()
    seconds: float = 0.0
    """Processor time that was used."""
    refused: str = ""
    """Why the Trigger is invalid."""
    costly: str = ""
    """Why it exceeds its budget."""
    fault: str = ""
    """An internal error."""


def evaluate(request: EvaluationRequest) -> EvaluationReply:
    """The results of a Trigger's rules, and the processor time that they took."""
    began = time.process_time()
    try:
        results = _results(request)
    except InvalidResource as why:
        return EvaluationReply(refused=str(why))
    except MemoryError:
        return EvaluationReply(costly=too_much_memory())
    except Exception as fault:  # noqa: BLE001 - the edge gets it in the reply and logs it
        return EvaluationReply(fault=f"{type(fault).__name__}: {fault}")
    return EvaluationReply(results, time.process_time() - began)


def _results(request: EvaluationRequest) -> tuple[RuleResultMessage, ...]:
    if request.delivery and not request.trigger:
        check(request.delivery.event, request.delivery.endpoint)
        return ()
    rules = _read(request.trigger)
    return tuple(map(_message, rules.evaluate(request.delivery))) if request.delivery else ()


def too_much_memory() -> str:
    """Why a Trigger is refused."""
    return f"its rules take more than {MEMORY // 1024 // 1024} MiB of memory for one event"


def too_much_time() -> str:
    """Why a Trigger is refused."""
    return f"its rules take more than {SECONDS:g} s of a processor for one event"


@lru_cache(maxsize=READ)
def _read(trigger: bytes) -> CompiledTrigger:
    return CompiledTrigger(read_trigger(msgspec.json.decode(trigger)))


def _message(result: RuleResult) -> RuleResultMessage:
    request = result.intake if isinstance(result.intake, ClusterRequest) else None
    release = result.intake if isinstance(result.intake, ReleaseRequest) else None
    return RuleResultMessage(result.rule, result.why, request, release, result.once, result.failed)


def rule_result(trigger: str, message: RuleResultMessage) -> RuleResult:
    """The result in a message from an evaluator."""
    return RuleResult(
        trigger, message.rule, message.why, message.request or message.release, message.once, message.failed
    )


def framed(data: bytes) -> bytes:
    """The data, preceded by its length."""
    return LENGTH.pack(len(data)) + data


def encode_reply(reply: EvaluationReply) -> bytes:
    """The reply as it is sent; one that is too large becomes a refusal."""
    data = msgspec.msgpack.encode(reply)
    if len(data) <= LARGEST:
        return data
    return msgspec.msgpack.encode(
        EvaluationReply(costly=f"its rules ask for {len(data)} bytes: at most {LARGEST} are taken")
    )


def _requests(stream: BinaryIO) -> Iterator[EvaluationRequest]:
    decoder = msgspec.msgpack.Decoder(EvaluationRequest)
    while len(head := stream.read(LENGTH.size)) == LENGTH.size:
        yield decoder.decode(stream.read(*LENGTH.unpack(head)))


def main() -> None:
    """Serve until the edge closes the pipe. The kernel ends an evaluation that takes too long by SIGPROF."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the edge gets it as well, and closes the pipe when it is done
    signal.signal(signal.SIGPROF, signal.SIG_DFL)
    _warm_up()
    _limit()
    for request in _requests(sys.stdin.buffer):
        signal.setitimer(signal.ITIMER_PROF, SECONDS)
        data = encode_reply(evaluate(request))
        signal.setitimer(signal.ITIMER_PROF, 0.0)
        sys.stdout.buffer.write(framed(data))
        sys.stdout.buffer.flush()


def _warm_up() -> None:
    """Load everything now: otherwise it would count as processor time of the first event."""
    spec = {"name": "x", "rules": [{"name": "x", "when": "false", "then": "Release"}]}
    _read(msgspec.json.encode({"metadata": {"name": "x", "namespace": "x"}, "spec": spec}))


def _limit() -> None:
    """Limit the memory, and write no core dump."""
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    resource.setrlimit(resource.RLIMIT_AS, (_held() + MEMORY,) * 2)


def _held() -> int:
    """Bytes of address space that are in use already."""
    try:
        return int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
    except OSError:  # not Linux: more than any process has at its start
        return 2 * 1024**3


if __name__ == "__main__":
    main()
