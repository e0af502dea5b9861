"""The program of the processes that evaluate Triggers on what they hear within a budget."""

import time
from functools import lru_cache
from typing import get_args

import msgspec

from schemas.crds import InvalidResource, read_trigger
from schemas.registry import declared
from services.edge.triggers.delivery import BusEvent, WebhookDelivery
from services.edge.triggers.rules import CompiledTrigger, IntakeRequest, RuleResult
from services.edge.webhooks.direct import check
from services.expressions.budget import LARGEST, serve, too_much_memory

COSTLY = "its rules take more than {} for one event"
"""Why a Trigger is refused; the limit stands for ``{}``."""
REQUESTS: dict[str, type[IntakeRequest]] = {declared(each).type: each for each in get_args(IntakeRequest)}
"""The requests of rules by their CloudEvents type."""
READ = 512
"""Compiled Triggers that are cached."""


class EvaluationRequest(msgspec.Struct, frozen=True):
    """A Trigger to compile, or what to evaluate it on."""

    trigger: bytes
    """The Trigger, as in `ActiveTrigger.written`; empty: the delivery is a request by itself, which is validated."""
    heard: WebhookDelivery | BusEvent | None = None
    """The delivery or message to evaluate it on; None: the Trigger is only compiled."""


class RuleResultMessage(msgspec.Struct, frozen=True):
    """A `RuleResult` as it is sent between the processes."""

    rule: str
    why: str
    type: str
    """The CloudEvents type of its request; empty: it requests nothing."""
    intake: bytes
    """The request as JSON."""
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
        return EvaluationReply(costly=too_much_memory(COSTLY))
    except Exception as fault:  # noqa: BLE001 - the edge gets it in the reply and logs it
        return EvaluationReply(fault=f"{type(fault).__name__}: {fault}")
    return EvaluationReply(results, time.process_time() - began)


def _results(request: EvaluationRequest) -> tuple[RuleResultMessage, ...]:
    if isinstance(request.heard, WebhookDelivery) and not request.trigger:
        check(request.heard.event, request.heard.endpoint)
        return ()
    rules = _read(request.trigger)
    return tuple(map(_message, rules.evaluate(request.heard))) if request.heard else ()


@lru_cache(maxsize=READ)
def _read(trigger: bytes) -> CompiledTrigger:
    return CompiledTrigger(read_trigger(msgspec.json.decode(trigger)))


def _message(result: RuleResult) -> RuleResultMessage:
    intake = result.intake
    kind, data = (declared(type(intake)).type, msgspec.json.encode(intake)) if intake else ("", b"")
    return RuleResultMessage(result.rule, result.why, kind, data, result.once, result.failed)


def rule_result(trigger: str, message: RuleResultMessage) -> RuleResult:
    """The result in a message from an evaluator."""
    return RuleResult(trigger, message.rule, message.why, _intake(message), message.once, message.failed)


def _intake(message: RuleResultMessage) -> IntakeRequest | None:
    return msgspec.json.decode(message.intake, type=REQUESTS[message.type]) if message.type else None


def encode_reply(reply: EvaluationReply) -> bytes:
    """The reply as it is sent; one that is too large becomes a refusal."""
    data = msgspec.msgpack.encode(reply)
    if len(data) <= LARGEST:
        return data
    return msgspec.msgpack.encode(
        EvaluationReply(costly=f"its rules ask for {len(data)} bytes: at most {LARGEST} are taken")
    )


def main() -> None:
    """Serve until the edge closes the pipe."""
    _warm_up()
    serve(lambda request: encode_reply(evaluate(msgspec.msgpack.decode(request, type=EvaluationRequest))))


def _warm_up() -> None:
    """Load everything now: otherwise it would count as processor time of the first event."""
    spec = {"name": "x", "rules": [{"name": "x", "when": "false", "then": "Release"}]}
    _read(msgspec.json.encode({"metadata": {"name": "x", "namespace": "x"}, "spec": spec}))


if __name__ == "__main__":
    main()
