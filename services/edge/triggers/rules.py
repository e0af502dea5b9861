"""Evaluates a Trigger's rules on an event, as a pure function: which match, what each requests, and why."""

import re
from dataclasses import dataclass
from hashlib import sha256

from schemas.crds import InvalidResource, RuleSpec, Trigger, read_colony
from schemas.crds.manifest import GROUP, VERSION
from schemas.requests import ClusterRequest, ReleaseRequest
from services.edge.triggers.delivery import WebhookDelivery
from services.expressions.cel import CompiledExpression, CompiledTemplate, NoValue, Variables, bound

LONGEST = 32
"""Characters of the name of a Colony that a rule requests: together with a cluster's name there are 50."""

IntakeRequest = ClusterRequest | ReleaseRequest


@dataclass(frozen=True)
class RuleResult:
    """The result of one rule on one event."""

    trigger: str
    rule: str
    why: str
    """One sentence."""
    intake: IntakeRequest | None = None
    """The request; None: the rule requests nothing."""
    once: str = ""
    """The identity of the request within the rule: a repeated one has the same."""
    failed: bool = False
    """The rule holds, but its request cannot be built: a mistake in the rule."""


class CompiledRule:
    """One compiled rule of a Trigger."""

    def __init__(self, spec: RuleSpec, where: str) -> None:
        """Raises InvalidResource."""
        self.spec = spec
        self.when = CompiledExpression(spec.when, f"{where}.when")
        self.once = CompiledTemplate(spec.once, f"{where}.once") if spec.once else None
        self.colony = CompiledTemplate(spec.colony, f"{where}.colony")


class CompiledTrigger:
    """A Trigger with its compiled expressions."""

    def __init__(self, trigger: Trigger) -> None:
        """Raises InvalidResource, with the place of the first mistake."""
        spec = trigger.spec
        self.name, self.tenant = trigger.metadata.name, trigger.metadata.namespace
        self._name = CompiledTemplate(spec.name, "spec.name")
        self._rules = [CompiledRule(rule, f"spec.rules[{place}]") for place, rule in enumerate(spec.rules)]

    def evaluate(self, delivery: WebhookDelivery) -> tuple[RuleResult, ...]:
        """The result of every rule on a delivery."""
        variables = bound(delivery.variables())
        return tuple(self._evaluate(rule, delivery, variables) for rule in self._rules)

    def _evaluate(self, rule: CompiledRule, delivery: WebhookDelivery, variables: Variables) -> RuleResult:
        try:
            holds = rule.when.of(variables)
        except NoValue as why:
            return self._without_request(rule, f"does not hold: {why}")
        if holds is not True:
            return self._without_request(rule, f"does not hold: when is {_shown(holds)}")
        try:
            return self._request(rule, delivery, variables)
        except (NoValue, InvalidResource) as why:
            return RuleResult(self.name, rule.spec.name, f"holds, but: {why}", failed=True)

    def _request(self, rule: CompiledRule, delivery: WebhookDelivery, variables: Variables) -> RuleResult:
        name = label(str(self._name.of(variables)))
        once = str(rule.once.of(variables)) if rule.once else f"{delivery.event.source}\0{delivery.event.id}"
        origin = label(f"trigger-{self.name}", 63)
        if rule.spec.then == "Release":
            release = ReleaseRequest(tenant=self.tenant, name=name, origin=origin)
            return RuleResult(self.name, rule.spec.name, f"lets Colony {name} go", release, once)
        spec = rule.colony.of(variables)
        request = ClusterRequest(tenant=self.tenant, name=name, spec=_checked(name, spec), origin=origin)
        return RuleResult(self.name, rule.spec.name, f"asks for Colony {name}", request, once)

    def _without_request(self, rule: CompiledRule, why: str) -> RuleResult:
        return RuleResult(self.name, rule.spec.name, why)


def _checked(name: str, spec: object) -> dict[str, object]:
    if not isinstance(spec, dict):
        raise NoValue("colony must be a mapping")
    read_colony({"apiVersion": f"{GROUP}/{VERSION}", "kind": "Colony", "metadata": {"name": name}, "spec": spec})
    return spec


def label(text: str, longest: int = LONGEST) -> str:
    """A DNS label for a text: the text itself if it is one, else one made of it and a digest."""
    plain = re.sub(r"[^a-z0-9]+", "-", text.lower()).strip("-")
    if text and plain == text and len(text) <= longest:
        return text
    digest = sha256(text.encode(errors="backslashreplace")).hexdigest()[:8]
    return f"{plain[: longest - 9].rstrip('-')}-{digest}".lstrip("-")


def _shown(value: object) -> str:
    text = str(value).lower() if isinstance(value, bool) else repr(value)
    return text if len(text) <= 60 else f"{text[:59]}…"
