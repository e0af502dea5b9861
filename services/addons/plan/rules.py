"""How profiles are read: selectors in CEL, and the catalog."""

from schemas.crds import AddonProfileSpec, ClusterSelectorSpec, InvalidResource
from services.addons.catalog.build import expand
from services.addons.plan.profile import ProfileRules
from services.addons.plan.windows import unreadable
from services.expressions.evaluation import EvaluationFailure
from services.expressions.facts import ClusterFacts
from services.expressions.selectors import matches, problem

SELECTOR = "spec.clusters"


def profile_rules() -> ProfileRules:
    """The rules of the service."""
    return ProfileRules(expand, _matches, _check)


def _matches(selector: ClusterSelectorSpec, facts: ClusterFacts) -> bool | EvaluationFailure:
    return matches(selector, facts, SELECTOR)


def _check(spec: AddonProfileSpec) -> str:
    try:
        for addon in spec.addons:
            expand(addon)
    except InvalidResource as wrong:
        return str(wrong)
    stages = spec.rollout.stages if spec.rollout else ()
    selectors = [(spec.clusters, SELECTOR)]
    selectors += [(each.clusters, f"spec.rollout.stages[{place}].clusters") for place, each in enumerate(stages)]
    failure = next((found for selector, where in selectors if (found := problem(selector, where))), None)
    return failure.why if failure else unreadable(spec.rollout.windows if spec.rollout else ())
