"""Evaluators within the test's own process, for tests on virtual time."""

from typing import Any

from services.expressions import evaluator, template_filler
from services.expressions.evaluators import EXPRESSIONS, TEMPLATES, Evaluators
from services.expressions.processes import EvaluatorProgram


class _Here:
    """Answers at once, without a budget."""

    def __init__(self, program: EvaluatorProgram) -> None:
        self._program = program
        self._templates = template_filler.CompiledTemplates()

    async def send(self, tenant: str, request: bytes, read: Any) -> Any:
        if self._program is EXPRESSIONS:
            return read(evaluator.answer(request))
        return read(template_filler.answer(request, self._templates))

    async def aclose(self) -> None:
        """Nothing was started."""


class EvaluatorsHere(Evaluators):
    """As the real ones, but without processes."""

    def __init__(self) -> None:
        here: Any = _Here(EXPRESSIONS), _Here(TEMPLATES)
        self._expressions, self._templates = here
