"""Checks the objects of a cluster before an add-on is deployed."""

from collections.abc import Sequence

from events.errors import NotFound
from events.kube.client import Kube, Object
from events.kube.discovery import find
from schemas.crds.object_checks import ObjectCheckSpec
from services.addons.objects.faults import HeldBack
from services.addons.readiness_rules import unmet
from services.addons.waiting import GATED
from services.expressions.evaluators import Evaluators


async def check_objects(
    evaluators: Evaluators, kube: Kube, checks: Sequence[ObjectCheckSpec], addon: str, tenant: str
) -> None:
    """Raises HeldBack until all checks hold, Denied for a condition that cannot be evaluated."""
    for place, check in enumerate(checks):
        where, seen = f"{addon}.preDeployChecks[{place}]", await _listed(kube, check)
        if check.condition is None:
            why = "" if seen else f"{where}: there is no {_named(check)}"
        else:
            why = await unmet(evaluators, [check.condition], where, seen, tenant)
        if why:
            raise HeldBack(f"waits: {why}", GATED)


async def _listed(kube: Kube, check: ObjectCheckSpec) -> list[Object]:
    try:
        resource = await find(kube, check.api_version, check.kind)
        listed = (await kube.list(resource, check.namespace if resource.namespaced else None)).items
    except NotFound:
        return []
    return [each for each in listed if check.name in (None, each["metadata"]["name"])]


def _named(check: ObjectCheckSpec) -> str:
    what = f"{check.kind} {check.name}" if check.name else check.kind
    return f"{what} in {check.namespace}" if check.namespace else what
