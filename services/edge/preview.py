"""All that the command line may import of the edge: what a Trigger would publish for an event."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime

import msgspec

from events.bus import Message
from events.cloudevents import STRUCTURED, CloudEvent, Malformed, decode
from schemas.crds import Trigger, read_trigger
from schemas.registry import UNREADABLE
from services.edge.http.problem import Problem
from services.edge.triggers.delivery import BusEvent, Heard, WebhookDelivery
from services.edge.triggers.publisher import intake_message
from services.edge.triggers.rules import CompiledTrigger, RuleResult
from services.edge.triggers.sample import InvalidSample, bus_event
from services.edge.triggers.trigger import ActiveTrigger
from services.edge.webhooks.providers import PROVIDERS
from services.edge.webhooks.request import WebhookRequest
from services.edge.webhooks.secrets import WebhookEndpoint

__all__ = ["InvalidSample", "Trial", "check_trigger", "trials"]

IDS = ("x-github-delivery", "webhook-id", "idempotency-key")
"""Headers in which senders name a delivery."""
NAMES = ("x-github-event", "x-gitlab-event")
"""Headers in which senders name an event."""


def check_trigger(written: Mapping[str, object]) -> None:
    """Read a Trigger with its expressions, as the edge does. Raises InvalidResource."""
    CompiledTrigger(read_trigger(written))


@dataclass(frozen=True)
class Trial:
    """One rule of a Trigger, evaluated on an event."""

    tenant: str
    result: RuleResult
    message: Message | None
    """What would be published; None: nothing."""


def trials(trigger: Trigger, body: bytes, name: str, now: datetime) -> Iterator[Trial]:
    """Every rule of a Trigger, evaluated on an event. Raises InvalidSample.

    With a `name` the event is a body as its sender posts it, and the sender names it so in a header.
    """
    heard = _heard(trigger, body, name, now)
    for result in _results(trigger, heard):
        message = intake_message(result, result.intake, heard, now)[0] if result.intake else None
        yield Trial(trigger.metadata.namespace, result, message)


def _heard(trigger: Trigger, body: bytes, name: str, now: datetime) -> Heard:
    """What the event is to a Trigger: a webhook at the endpoint that it names, or a message. Raises InvalidSample."""
    spec = trigger.spec
    if not name and (event := bus_event(body)):
        return event
    endpoint = WebhookEndpoint(
        spec.provider or next(iter(PROVIDERS)), trigger.metadata.namespace, spec.endpoint or "test"
    )
    return WebhookDelivery(_event(body, spec.provider, endpoint, name, now), endpoint, 0)


def _results(trigger: Trigger, heard: Heard) -> tuple[RuleResult, ...]:
    compiled = CompiledTrigger(trigger)
    if isinstance(heard, BusEvent) and not ActiveTrigger(trigger).listens(heard.channel):
        why = f"does not hear {heard.channel.subject}: see messages in its spec, and its namespace"
        return tuple(RuleResult(compiled.name, rule.name, why) for rule in trigger.spec.rules)
    return compiled.evaluate(heard)


def _event(body: bytes, provider: str | None, endpoint: WebhookEndpoint, name: str, now: datetime) -> CloudEvent:
    """A CloudEvent, or what its sender posts to the endpoint of the Trigger. Raises InvalidSample."""
    if name or (provider in PROVIDERS and not _is_event(body)):
        return _posted(body, endpoint, name, now)
    try:
        return decode({"content-type": f"{STRUCTURED}+json"}, body)
    except (Malformed, UnicodeDecodeError, RecursionError) as error:
        raise InvalidSample(f"holds no CloudEvent in JSON: {error}") from error


def _is_event(body: bytes) -> bool:
    try:
        return "specversion" in msgspec.json.decode(body, type=dict[str, msgspec.Raw])
    except UNREADABLE:
        return False


def _posted(body: bytes, endpoint: WebhookEndpoint, name: str, now: datetime) -> CloudEvent:
    headers = {"content-type": "application/json", **dict.fromkeys(IDS, "test"), **dict.fromkeys(NAMES, name)}
    try:
        return PROVIDERS[endpoint.provider].event(WebhookRequest(body, headers, (), now, endpoint.path))
    except Problem as wrong:
        cure = ": say it with --event" if wrong.where.lower() in NAMES else ""
        raise InvalidSample(f"is nothing that {endpoint.provider} posts: {wrong.detail}{cure}") from wrong
