"""The program of the processes that evaluate expressions within a budget."""

from typing import Any

import msgspec

from services.expressions.budget import LARGEST, serve, too_much_memory
from services.expressions.cel import bound
from services.expressions.evaluation import EvaluationFailure, Expression, FailureReason, evaluate_bound

COSTLY = "it takes more than {}"
"""Why something is refused; the limit stands for ``{}``."""


class EvaluatorRequest(msgspec.Struct, frozen=True):
    """An expression to evaluate."""

    text: str
    where: str
    variables: msgspec.Raw


class FillRequest(msgspec.Struct, frozen=True):
    """A template, and the variables that fill it."""

    written: msgspec.Raw
    where: str
    is_text: bool
    """Whether it is a text that stays one, such as manifests."""
    variables: dict[str, Any] | None
    """None: it is only compiled."""


class EvaluatorReply(msgspec.Struct, frozen=True):
    """The value, or why there is none."""

    value: Any = None
    failure: tuple[FailureReason, str] | None = None


def answer(data: bytes) -> bytes:
    """The encoded reply to an encoded request."""
    request = msgspec.msgpack.decode(data, type=EvaluatorRequest)
    try:
        reply = msgspec.msgpack.encode(_reply(request))
    except MemoryError:
        return _refused(f"{request.where}: {too_much_memory(COSTLY)}")
    if len(reply) > LARGEST:
        return _refused(f"{request.where}: its value has {len(reply)} bytes: at most {LARGEST} are taken")
    return reply


def _reply(request: EvaluatorRequest) -> EvaluatorReply:
    result = evaluate_bound(Expression(request.text, request.where), bound(msgspec.msgpack.decode(request.variables)))
    if isinstance(result, EvaluationFailure):
        return EvaluatorReply(failure=(result.reason, result.why))
    return EvaluatorReply(result)


def _refused(why: str) -> bytes:
    return msgspec.msgpack.encode(EvaluatorReply(failure=(FailureReason.TOO_COSTLY, why)))


def main() -> None:
    """Serve until the service closes the pipe."""
    answer(msgspec.msgpack.encode(EvaluatorRequest("true", "", msgspec.Raw(msgspec.msgpack.encode({})))))
    serve(answer)


if __name__ == "__main__":
    main()
