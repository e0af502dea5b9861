"""Evaluates a Trigger's rules on an event, as a pure function: which match, what each requests, and why."""

import re
from collections.abc import Callable
from dataclasses import dataclass
from datetime import timedelta
from hashlib import blake2b, sha256
from typing import NamedTuple

from msgspec import UNSET

from schemas import durations
from schemas.crds import InvalidResource, RuleSpec, Trigger, read_colony
from schemas.crds.manifest import GROUP, VERSION
from schemas.crds.trigger import ACTIONS
from schemas.requests import ClusterRequest, ProfileRequest, ReleaseRequest, RequestingTrigger, WithdrawRequest
from services.edge.triggers.bus_subject import check_heard
from services.edge.triggers.delivery import BusEvent, Heard
from services.edge.triggers.profiles import job_profile, named_profile
from services.expressions.cel import CompiledExpression, CompiledTemplate, NoValue, Variables, bound

LONGEST = 32
"""Characters of the name of a Colony that a rule requests: together with a cluster's name there are 50."""

RUN_KEPT = timedelta(days=1)
"""How long the AddonProfile of a Job is kept by default."""

IntakeRequest = ClusterRequest | ReleaseRequest | ProfileRequest | WithdrawRequest


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


class RuleValues(NamedTuple):
    """What a request is made of: the values of the expressions of a rule that holds."""

    tenant: str
    name: str
    origin: str
    once: str
    content: object
    """The Colony's, the AddonProfile's or the Job's spec; None: the rule has none."""
    cluster: str
    """The cluster that the rule or the message names; empty: none."""
    expires_after: timedelta | None
    trigger: RequestingTrigger | None
    """None: the Trigger stands in a file."""


class CompiledRule:
    """One compiled rule of a Trigger."""

    def __init__(self, spec: RuleSpec, where: str) -> None:
        """Raises InvalidResource."""
        self.spec = spec
        self.when = CompiledExpression(spec.when, f"{where}.when")
        self.once = CompiledTemplate(spec.once, f"{where}.once") if spec.once else None
        self.cluster = CompiledTemplate(spec.cluster, f"{where}.cluster") if spec.cluster else None
        field = ACTIONS[spec.then]
        self.content = CompiledTemplate(getattr(spec, field) if field else None, f"{where}.{field}")


class CompiledTrigger:
    """A Trigger with its compiled expressions."""

    def __init__(self, trigger: Trigger) -> None:
        """Raises InvalidResource, with the place of the first mistake."""
        spec = trigger.spec
        check_heard(spec.messages)
        for place, watched in enumerate(spec.objects):
            CompiledExpression(watched.when, f"spec.objects[{place}].when")
        self.name, self.tenant = trigger.metadata.name, trigger.metadata.namespace
        uid = trigger.metadata.uid
        self._owner = RequestingTrigger(name=self.name, uid=uid) if uid else None
        self._name = CompiledTemplate(spec.name, "spec.name")
        self._rules = [CompiledRule(rule, f"spec.rules[{place}]") for place, rule in enumerate(spec.rules)]

    def evaluate(self, heard: Heard) -> tuple[RuleResult, ...]:
        """The result of every rule on a delivery or message."""
        variables = bound(heard.variables())
        return tuple(self._evaluate(rule, heard, variables) for rule in self._rules)

    def _evaluate(self, rule: CompiledRule, heard: Heard, variables: Variables) -> RuleResult:
        try:
            holds = rule.when.of(variables)
        except NoValue as why:
            return self._without_request(rule, f"does not hold: {why}")
        if holds is not True:
            return self._without_request(rule, f"does not hold: when is {_shown(holds)}")
        try:
            return self._request(rule, heard, variables)
        except (NoValue, InvalidResource) as why:
            return RuleResult(self.name, rule.spec.name, f"holds, but: {why}", failed=True)

    def _request(self, rule: CompiledRule, heard: Heard, variables: Variables) -> RuleResult:
        action = RuleValues(
            self.tenant,
            label(str(self._name.of(variables))),
            label(f"trigger-{self.name}", 63),
            str(rule.once.of(variables)) if rule.once else f"{heard.event.source}\0{heard.event.id}",
            rule.content.of(variables),
            str(rule.cluster.of(variables)) if rule.cluster else _cluster(heard),
            rule.spec.expires_after,
            self._owner,
        )
        why, request = REQUESTS[rule.spec.then](action)
        return RuleResult(self.name, rule.spec.name, why, request, action.once)

    def _without_request(self, rule: CompiledRule, why: str) -> RuleResult:
        return RuleResult(self.name, rule.spec.name, why)


def _cluster(heard: Heard) -> str:
    return heard.channel.cluster if isinstance(heard, BusEvent) else ""


def _colony(action: RuleValues) -> tuple[str, IntakeRequest]:
    tenant, name, origin = action[:3]
    request = ClusterRequest(tenant=tenant, name=name, spec=_checked(name, action.content), origin=origin)
    return f"asks for Colony {name}", request


def _release(action: RuleValues) -> tuple[str, IntakeRequest]:
    tenant, name, origin = action[:3]
    return f"lets Colony {name} go", ReleaseRequest(tenant=tenant, name=name, origin=origin)


def _deploy(action: RuleValues) -> tuple[str, IntakeRequest]:
    spec, clusters = named_profile(action.name, action.content, action.cluster)
    return f"deploys AddonProfile {action.name} on {', '.join(clusters)}", _profile(action, action.name, spec)


def _withdraw(action: RuleValues) -> tuple[str, IntakeRequest]:
    tenant, name, origin = action[:3]
    return f"withdraws AddonProfile {name}", WithdrawRequest(tenant=tenant, name=name, origin=origin)


def _run(action: RuleValues) -> tuple[str, IntakeRequest]:
    """Each key of the rule is another Job, so that none of them is changed by a later one."""
    key = blake2b(action.once.encode(errors="backslashreplace"), digest_size=4).hexdigest()
    name = label(f"{action.name}-{key}", LONGEST + 9)
    spec = job_profile(name, action.content, action.cluster)
    kept = action if action.expires_after else action._replace(expires_after=RUN_KEPT)
    return f"runs Job {name} on {action.cluster}", _profile(kept, name, spec)


def _profile(action: RuleValues, name: str, spec: dict[str, object]) -> ProfileRequest:
    expires = durations.write(action.expires_after) if action.expires_after else ""
    return ProfileRequest(
        tenant=action.tenant,
        name=name,
        spec=spec,
        origin=action.origin,
        expires_after=expires,
        trigger=action.trigger or UNSET,
    )


REQUESTS: dict[str, Callable[[RuleValues], tuple[str, IntakeRequest]]] = {
    "Request": _colony,
    "Release": _release,
    "Deploy": _deploy,
    "Withdraw": _withdraw,
    "Run": _run,
}
"""The request of each action, with the sentence about it. Each raises NoValue, InvalidResource."""


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
