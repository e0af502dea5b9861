"""An evaluator within the test's own process."""

from services.edge.triggers.evaluator import EvaluationRequest, answer, verdict
from services.edge.triggers.evaluator_pool import _checked


class Here:
    """Evaluates in this process."""

    async def read(self, trigger):
        return _checked(answer(EvaluationRequest(trigger.written))).seconds

    async def judge(self, trigger, heard):
        found = _checked(answer(EvaluationRequest(trigger.written, heard)))
        return tuple(verdict(trigger.name, each) for each in found.said), 0.0

    async def check(self, asked):
        return _checked(answer(EvaluationRequest(b"", asked))).seconds


class Instead:
    """Whichever evaluator the test puts in."""

    def __init__(self) -> None:
        self.inner = Here()

    async def check(self, asked):
        return await self.inner.check(asked)
