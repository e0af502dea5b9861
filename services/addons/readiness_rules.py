"""Rules in CEL over an add-on's objects: when it is ready, and when those that depend on it may begin."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from events.errors import Denied, NotFound, TryLater
from events.kube.client import Kube, Object
from events.kube.discovery import find
from services.addons.objects.faults import AGAIN
from services.addons.objects.in_parallel import in_parallel
from services.addons.objects.target import MANAGER
from services.addons.owned_objects import OwnedObject, read_existing
from services.expressions.evaluation import EvaluationFailure, Expression, FailureReason
from services.expressions.evaluators import Evaluators
from services.expressions.processes import EvaluatorEnded


async def unmet(evaluators: Evaluators, rules: Sequence[str], where: str, seen: Iterable[Object], tenant: str) -> str:
    """The first rule that does not hold, as a sentence; empty if all do.

    Raises Denied for a rule that cannot be compiled or costs too much, TryLater if none can be evaluated now.
    """
    if not rules:
        return ""
    written = [Expression(rule, f"{where}[{place}]") for place, rule in enumerate(rules)]
    try:
        values = await evaluators.evaluate(written, {"objects": list(seen)}, tenant)
    except EvaluatorEnded as ended:
        raise TryLater(f"{where} could not be evaluated: {ended}", AGAIN) from ended
    for rule, value in zip(rules, values, strict=True):
        if isinstance(value, EvaluationFailure):
            if value.reason is not FailureReason.NO_VALUE:
                raise Denied(value.why, str(value.reason))
            return value.why
        if value is not True:
            return f"{where}: {rule} is not true yet"
    return ""


async def read_all(kube: Kube, has: Iterable[OwnedObject]) -> list[Object]:
    """Those of the objects that exist, as they are now. Raises TryLater, Denied."""
    found = await in_parallel(lambda one: read_existing(kube, one), has)
    return [each for each in found if each is not None]


async def rehearse(kube: Kube, canary: Mapping[str, Any]) -> None:
    """Have the API server accept an object in a dry run, with every webhook. Raises TryLater, Denied."""
    try:
        resource = await find(kube, canary["apiVersion"], canary["kind"])
        meta = {"namespace": "default"} if resource.namespaced else {}
        document = {**canary, "metadata": meta | canary["metadata"]}
        await kube.apply(resource, document, manager=MANAGER, dry_run=True)
    except NotFound as missing:
        raise TryLater(missing.message, AGAIN) from missing
