"""Compiles and evaluates Triggers in processes with a budget."""

from contextlib import suppress
from typing import Protocol

import msgspec

from schemas.crds import InvalidResource
from services.edge.triggers.delivery import Heard, WebhookDelivery
from services.edge.triggers.evaluator import COSTLY, EvaluationReply, EvaluationRequest, rule_result
from services.edge.triggers.rules import RuleResult
from services.edge.triggers.trigger import ActiveTrigger
from services.expressions.processes import TRIES, EvaluatorEnded, EvaluatorProcesses, EvaluatorProgram, TooCostly

PROGRAM = EvaluatorProgram("services.edge.triggers.evaluator", COSTLY)


class Evaluator(Protocol):
    """Compiles Triggers, evaluates them on what they hear, and validates requests.

    Every call raises InvalidResource, TooCostly, EvaluatorEnded.
    """

    async def read(self, trigger: ActiveTrigger) -> float:
        """Compile a Trigger; returns the processor seconds it took."""
        ...

    async def evaluate(self, trigger: ActiveTrigger, heard: Heard) -> tuple[tuple[RuleResult, ...], float]:
        """The result of every rule, and the processor seconds."""
        ...

    async def check(self, delivery: WebhookDelivery) -> float:
        """Validate a request; returns the processor seconds it took."""
        ...


class EvaluatorPool:
    """Evaluates Triggers in processes of their own."""

    def __init__(self) -> None:
        self._processes = EvaluatorProcesses(PROGRAM)

    async def read(self, trigger: ActiveTrigger) -> float:
        """See `Evaluator`."""
        request = EvaluationRequest(trigger.written)
        for _ in range(TRIES - 1):
            with suppress(EvaluatorEnded):
                return (await self._send(trigger.tenant, request)).seconds
        return (await self._send(trigger.tenant, request)).seconds

    async def evaluate(self, trigger: ActiveTrigger, heard: Heard) -> tuple[tuple[RuleResult, ...], float]:
        """See `Evaluator`."""
        reply = await self._send(trigger.tenant, EvaluationRequest(trigger.written, heard))
        return tuple(rule_result(trigger.name, each) for each in reply.results), reply.seconds

    async def check(self, delivery: WebhookDelivery) -> float:
        """See `Evaluator`."""
        return (await self._send(delivery.endpoint.tenant, EvaluationRequest(b"", delivery))).seconds

    async def aclose(self) -> None:
        """End every process."""
        await self._processes.aclose()

    async def _send(self, tenant: str, request: EvaluationRequest) -> EvaluationReply:
        return await self._processes.send(tenant, msgspec.msgpack.encode(request), _read)


def _read(data: bytes) -> EvaluationReply:
    return _checked(msgspec.msgpack.decode(data, type=EvaluationReply))


def _checked(reply: EvaluationReply) -> EvaluationReply:
    if reply.refused:
        raise InvalidResource(reply.refused)
    if reply.costly:
        raise TooCostly(reply.costly)
    if reply.fault:
        raise RuntimeError(reply.fault)
    return reply
