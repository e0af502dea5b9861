"""Evaluates a Trigger's rules on an event, as a pure function: which match, what each requests, and why."""

import re
from dataclasses import dataclass
from hashlib import sha256

from schemas.crds import InvalidResource, RuleSpec, Trigger, read_colony
from schemas.crds.manifest import GROUP, VERSION
from schemas.requests import ClusterRequest, ReleaseRequest
from services.edge.triggers.cel import CompiledExpression, CompiledTemplate, NoValue, Variables, bound
from services.edge.triggers.delivery import WebhookDelivery

LONGEST = 32
"""Characters of a Colony's name that a rule makes: with a cluster's name there are 50."""

IntakeRequest = ClusterRequest | ReleaseRequest


@dataclass(frozen=True)
class RuleResult:
    """What one rule says about one event."""

    trigger: str
    rule: str
    why: str
    """One sentence."""
    intake: IntakeRequest | None = None
    """What is asked for; None: nothing."""
    once: str = ""
    """The wish's identity within the rule: asked for again under it, it is the same."""
    failed: bool = False
    """The rule holds, and yet what it asks for cannot be said: a mistake in the rule."""


class CompiledRule:
    """One line of a Trigger, read."""

    def __init__(self, spec: RuleSpec, where: str) -> None:
        """Raises Refused."""
        self.spec = spec
        self.when = CompiledExpression(spec.when, f"{where}.when")
        self.once = CompiledTemplate(spec.once, f"{where}.once") if spec.once else None
        self.colony = CompiledTemplate(spec.colony, f"{where}.colony")


class CompiledTrigger:
    """A Trigger whose expressions have been read, ready to be asked."""

    def __init__(self, trigger: Trigger) -> None:
        """Raises Refused, with the place of the first mistake."""
        spec = trigger.spec
        self.name, self.tenant = trigger.metadata.name, trigger.metadata.namespace
        self._name = CompiledTemplate(spec.name, "spec.name")
        self._rules = [CompiledRule(rule, f"spec.rules[{place}]") for place, rule in enumerate(spec.rules)]

    def judge(self, heard: WebhookDelivery) -> tuple[RuleResult, ...]:
        """What every rule says."""
        variables = bound(heard.variables())
        return tuple(self._judge(rule, heard, variables) for rule in self._rules)

    def _judge(self, rule: CompiledRule, heard: WebhookDelivery, variables: Variables) -> RuleResult:
        try:
            holds = rule.when.of(variables)
        except NoValue as why:
            return self._says(rule, f"does not hold: {why}")
        if holds is not True:
            return self._says(rule, f"does not hold: when is {_shown(holds)}")
        try:
            return self._asks(rule, heard, variables)
        except (NoValue, InvalidResource) as why:
            return RuleResult(self.name, rule.spec.name, f"holds, but: {why}", failed=True)

    def _asks(self, rule: CompiledRule, heard: WebhookDelivery, variables: Variables) -> RuleResult:
        name = label(str(self._name.of(variables)))
        once = str(rule.once.of(variables)) if rule.once else f"{heard.event.source}\0{heard.event.id}"
        origin = label(f"trigger-{self.name}", 63)
        if rule.spec.then == "Release":
            release = ReleaseRequest(tenant=self.tenant, name=name, origin=origin)
            return RuleResult(self.name, rule.spec.name, f"lets Colony {name} go", release, once)
        spec = rule.colony.of(variables)
        request = ClusterRequest(tenant=self.tenant, name=name, spec=_checked(name, spec), origin=origin)
        return RuleResult(self.name, rule.spec.name, f"asks for Colony {name}", request, once)

    def _says(self, rule: CompiledRule, why: str) -> RuleResult:
        return RuleResult(self.name, rule.spec.name, why)


def _checked(name: str, spec: object) -> dict[str, object]:
    if not isinstance(spec, dict):
        raise NoValue("colony must be a mapping")
    read_colony({"apiVersion": f"{GROUP}/{VERSION}", "kind": "Colony", "metadata": {"name": name}, "spec": spec})
    return spec


def label(text: str, longest: int = LONGEST) -> str:
    """A DNS label that stands for the text: itself where it is one, else made of it with a digest behind."""
    plain = re.sub(r"[^a-z0-9]+", "-", text.lower()).strip("-")
    if text and plain == text and len(text) <= longest:
        return text
    digest = sha256(text.encode(errors="backslashreplace")).hexdigest()[:8]
    return f"{plain[: longest - 9].rstrip('-')}-{digest}".lstrip("-")


def _shown(value: object) -> str:
    text = str(value).lower() if isinstance(value, bool) else repr(value)
    return text if len(text) <= 60 else f"{text[:59]}…"
