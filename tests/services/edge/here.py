"""An evaluator within the test's own process."""

from typing import Any

from services.edge.triggers.evaluator import EvaluationRequest, evaluate, rule_result
from services.edge.triggers.evaluator_pool import _checked


class Here:
    """Evaluates in this process."""

    async def read(self, trigger):
        return _checked(evaluate(EvaluationRequest(trigger.written))).seconds

    async def evaluate(self, trigger, delivery):
        reply = _checked(evaluate(EvaluationRequest(trigger.written, delivery)))
        return tuple(rule_result(trigger.name, each) for each in reply.results), 0.0

    async def check(self, delivery):
        return _checked(evaluate(EvaluationRequest(b"", delivery))).seconds


class Instead:
    """Whichever evaluator the test puts in."""

    def __init__(self) -> None:
        self.inner: Any = Here()

    async def check(self, delivery):
        return await self.inner.check(delivery)
