"""Evaluates expressions and fills templates: at once where that is cheap, otherwise in a process with a budget."""

from collections.abc import Mapping, Sequence
from contextlib import suppress

import msgspec

from services.expressions.cost import AT_ONCE
from services.expressions.evaluation import (
    EvaluationFailure,
    Expression,
    FailureReason,
    KnownVariables,
    PlainValue,
    evaluate_bound,
    is_template,
)
from services.expressions.evaluator import COSTLY, EvaluatorReply, EvaluatorRequest, FillRequest
from services.expressions.processes import TRIES, EvaluatorEnded, EvaluatorProcesses, EvaluatorProgram, TooCostly

EXPRESSIONS = EvaluatorProgram("services.expressions.evaluator", COSTLY)
TEMPLATES = EvaluatorProgram("services.expressions.template_filler", COSTLY)
LARGEST_REQUEST = 16_000_000
"""Bytes of a request, most of them variables."""


class Evaluators:
    """Evaluates what tenants write; a tenant that has exceeded a budget waits only for others that have.

    Every call raises EvaluatorEnded, which is safe to repeat. Variables must be as in JSON. Close it with `aclose`.
    """

    def __init__(self) -> None:
        self._expressions = EvaluatorProcesses(EXPRESSIONS)
        self._templates = EvaluatorProcesses(TEMPLATES)

    async def evaluate(
        self, expressions: Sequence[Expression], variables: Mapping[str, object], tenant: str = ""
    ) -> tuple[PlainValue | EvaluationFailure, ...]:
        """The value of each expression as in JSON, or why it has none."""
        known, left = KnownVariables(variables), AT_ONCE
        values = []
        for each in expressions:
            if (cost := known.microseconds(each)) <= left:
                left -= cost
                values.append(evaluate_bound(each, known.bound))
            else:
                request = EvaluatorRequest(each.text, each.where, known.encoded)
                values.append(await _sent(self._expressions, tenant, request))
        return tuple(values)

    async def fill_text(
        self, text: str, where: str, variables: Mapping[str, object], tenant: str = ""
    ) -> str | EvaluationFailure:
        """A text with its templates filled in, such as manifests, or why that fails."""
        return await self._fill(text, where, variables, tenant, is_text=True)

    async def fill_value(
        self, written: PlainValue, where: str, variables: Mapping[str, object], tenant: str = ""
    ) -> PlainValue | EvaluationFailure:
        """A value as in JSON with the templates in its texts filled in, or why that fails.

        A text that is only one `{{ … }}` keeps the type of its value.
        """
        return await self._fill(written, where, variables, tenant, is_text=False)

    async def check(self, written: PlainValue, where: str, tenant: str = "") -> EvaluationFailure | None:
        """Why the templates in a text or a value can never be filled as they are written; None: they can."""
        reply = await self._fill(written, where, None, tenant, is_text=isinstance(written, str))
        return reply if isinstance(reply, EvaluationFailure) else None

    async def aclose(self) -> None:
        """End every process."""
        await self._expressions.aclose()
        await self._templates.aclose()

    async def _fill(
        self, written: PlainValue, where: str, variables: Mapping[str, object] | None, tenant: str, *, is_text: bool
    ) -> PlainValue | EvaluationFailure:
        if not is_template(written):
            return written
        given = None if variables is None else dict(variables)
        request = FillRequest(msgspec.Raw(msgspec.msgpack.encode(written)), where, is_text, given)
        return await _sent(self._templates, tenant, request)


async def _sent(
    processes: EvaluatorProcesses, tenant: str, request: EvaluatorRequest | FillRequest
) -> PlainValue | EvaluationFailure:
    """Raises EvaluatorEnded."""
    data = msgspec.msgpack.encode(request)
    if len(data) > LARGEST_REQUEST:
        return _costly(request.where, f"its variables have {len(data)} bytes: at most {LARGEST_REQUEST} are read")
    try:
        reply = await _answered(processes, tenant, data)
    except TooCostly as why:
        return _costly(request.where, str(why))
    return EvaluationFailure(*reply.failure) if reply.failure else reply.value


async def _answered(processes: EvaluatorProcesses, tenant: str, data: bytes) -> EvaluatorReply:
    """Raises TooCostly, EvaluatorEnded."""
    for _ in range(TRIES - 1):
        with suppress(EvaluatorEnded):
            return await processes.send(tenant, data, _read)
    return await processes.send(tenant, data, _read)


def _costly(where: str, why: str) -> EvaluationFailure:
    return EvaluationFailure(FailureReason.TOO_COSTLY, f"{where}: {why}")


def _read(data: bytes) -> EvaluatorReply:
    return msgspec.msgpack.decode(data, type=EvaluatorReply)
