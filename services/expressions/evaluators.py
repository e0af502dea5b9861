"""Evaluates expressions: at once where that is cheap, otherwise in a process with a budget."""

from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress

import msgspec

from services.expressions.cel import CelValue, bound
from services.expressions.cost import is_cheap, measure
from services.expressions.evaluation import (
    EvaluationFailure,
    Expression,
    FailureReason,
    compiled,
    evaluate_bound,
)
from services.expressions.evaluator import COSTLY, EvaluatorReply, EvaluatorRequest
from services.expressions.processes import TRIES, EvaluatorEnded, EvaluatorProcesses, EvaluatorProgram, TooCostly

PROGRAM = EvaluatorProgram("services.expressions.evaluator", COSTLY)
LARGEST_VARIABLES = 16_000_000
"""Bytes of the variables of one request."""


class Evaluators:
    """Evaluates expressions; those of a tenant that has exceeded a budget wait only for each other.

    Close it at the end with `aclose`.
    """

    def __init__(self) -> None:
        self._processes = EvaluatorProcesses(PROGRAM)

    async def evaluate(
        self, expressions: Sequence[Expression], variables: Mapping[str, object], tenant: str = ""
    ) -> tuple[CelValue | EvaluationFailure, ...]:
        """The value of each expression as in JSON, or why it has none; the variables must be as in JSON.

        Raises EvaluatorEnded, which is safe to repeat.
        """
        if _are_cheap(expressions, variables):
            known = bound(variables)
            return tuple(evaluate_bound(each, known) for each in expressions)
        return tuple([await self._evaluate(each, variables, tenant) for each in expressions])

    async def aclose(self) -> None:
        """End every process."""
        await self._processes.aclose()

    async def _evaluate(
        self, expression: Expression, variables: Mapping[str, object], tenant: str
    ) -> CelValue | EvaluationFailure:
        """Raises EvaluatorEnded."""
        if isinstance(program := compiled(expression), EvaluationFailure):
            return program
        request = EvaluatorRequest(expression.text, expression.where, dict(variables))
        data = msgspec.msgpack.encode(request)
        if len(data) > LARGEST_VARIABLES:
            return _costly(expression, f"its variables have {len(data)} bytes: at most {LARGEST_VARIABLES} are read")
        try:
            reply = await self._send(tenant, data)
        except TooCostly as why:
            return _costly(expression, str(why))
        return EvaluationFailure(*reply.failure) if reply.failure else reply.value

    async def _send(self, tenant: str, data: bytes) -> EvaluatorReply:
        """Raises TooCostly, EvaluatorEnded."""
        for _ in range(TRIES - 1):
            with suppress(EvaluatorEnded):
                return await self._processes.send(tenant, data, _read)
        return await self._processes.send(tenant, data, _read)


def _are_cheap(expressions: Iterable[Expression], variables: Mapping[str, object]) -> bool:
    programs = [each for each in map(compiled, expressions) if not isinstance(each, EvaluationFailure)]
    return is_cheap((each.shape for each in programs), measure(variables))


def _costly(expression: Expression, why: str) -> EvaluationFailure:
    return EvaluationFailure(FailureReason.TOO_COSTLY, f"{expression.where}: {why}")


def _read(data: bytes) -> EvaluatorReply:
    return msgspec.msgpack.decode(data, type=EvaluatorReply)
