"""Evaluates a Trigger on a sample delivery, up to the request that it would publish."""

from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

import msgspec
import yaml

from events.bus import Message
from events.cloudevents import STRUCTURED, CloudEvent, Malformed, decode
from schemas.crds import read_trigger
from schemas.wire import UNREADABLE
from services.cli.documents import documents
from services.cli.output.render import Form, document
from services.edge.http.problem import Problem
from services.edge.triggers.delivery import WebhookDelivery
from services.edge.triggers.publisher import wish
from services.edge.triggers.rules import CompiledTrigger, RuleResult
from services.edge.webhooks.providers import PROVIDERS
from services.edge.webhooks.request import WebhookRequest
from services.edge.webhooks.secrets import WebhookEndpoint
from services.errors import BadInput

IDS = ("x-github-delivery", "webhook-id", "idempotency-key")
"""Headers in which senders name a delivery."""
NAMES = ("x-github-event", "x-gitlab-event")
"""Headers in which senders name an event."""


@dataclass(frozen=True)
class Trial:
    """One rule held against the event."""

    tenant: str
    verdict: RuleResult
    message: Message | None
    """What would be said; None: nothing."""


def tried(file: Path, event: Path, name: str = "") -> list[Trial]:
    """Every rule of every Trigger of a file. Raises BadInput, Refused.

    `name`: the event is a body as its sender posts it, and this is what the sender calls it in a header.
    """
    body = _body(event)
    return [trial for document in documents(file, "Trigger") for trial in _tried(document, body, event, name)]


def _tried(document: dict[str, object], body: bytes, file: Path, name: str) -> list[Trial]:
    trigger = read_trigger(document)
    spec, tenant = trigger.spec, trigger.metadata.namespace
    endpoint = WebhookEndpoint(spec.provider or next(iter(PROVIDERS)), tenant, spec.endpoint or "test")
    heard = WebhookDelivery(_event(body, file, spec.provider, endpoint, name), endpoint, 0)
    return [Trial(tenant, verdict, _message(verdict, heard)) for verdict in CompiledTrigger(trigger).judge(heard)]


def _message(verdict: RuleResult, heard: WebhookDelivery) -> Message | None:
    return wish(verdict, verdict.intake, heard, datetime.now(UTC))[0] if verdict.intake else None


def _body(file: Path) -> bytes:
    try:
        return file.read_bytes()
    except OSError as error:
        raise BadInput(f"{file} cannot be read ({error.strerror}): name a file with an event in it") from error


def _event(body: bytes, file: Path, provider: str | None, endpoint: WebhookEndpoint, name: str) -> CloudEvent:
    """A CloudEvent, or what its sender posts to the endpoint of the Trigger. Raises BadInput."""
    if name or (provider in PROVIDERS and not _is_event(body)):
        return _posted(body, file, endpoint, name)
    try:
        return decode({"content-type": f"{STRUCTURED}+json"}, body)
    except (Malformed, UnicodeDecodeError, RecursionError) as error:
        raise BadInput(f"{file} holds no CloudEvent in JSON: {error}") from error


def _is_event(body: bytes) -> bool:
    try:
        return "specversion" in msgspec.json.decode(body, type=dict[str, msgspec.Raw])
    except UNREADABLE:
        return False


def _posted(body: bytes, file: Path, endpoint: WebhookEndpoint, name: str) -> CloudEvent:
    headers = {"content-type": "application/json", **dict.fromkeys(IDS, "test"), **dict.fromkeys(NAMES, name)}
    try:
        return PROVIDERS[endpoint.provider].event(WebhookRequest(body, headers, (), datetime.now(UTC), endpoint.path))
    except Problem as wrong:
        cure = ": say it with --event" if wrong.where.lower() in NAMES else ""
        raise BadInput(f"{file} is nothing that {endpoint.provider} posts: {wrong.detail}{cure}") from wrong


def written(trials: list[Trial], *, form: Form) -> str:
    """A line per rule and below them the messages; or one JSON object."""
    if form != "table":
        return document({"rules": [_item(each) for each in trials]}, form)
    named = [(f"{each.tenant}/{each.verdict.trigger}", each.verdict.rule) for each in trials]
    widths = [max(map(len, column)) for column in zip(*named, strict=True)]
    lines = [
        f"{trigger:{widths[0]}}   {rule:{widths[1]}}   {each.verdict.why}\n"
        for (trigger, rule), each in zip(named, trials, strict=True)
    ]
    return "".join((*lines, *(f"\n{_yaml(each.message)}" for each in trials if each.message)))


def _item(trial: Trial) -> dict[str, object]:
    verdict, message = trial.verdict, trial.message
    said = {"subject": message.subject, "data": msgspec.json.decode(message.data)} if message else None
    return {"tenant": trial.tenant, "trigger": verdict.trigger, "rule": verdict.rule, "why": verdict.why, "says": said}


def _yaml(message: Message) -> str:
    return yaml.safe_dump({"subject": message.subject, "data": msgspec.json.decode(message.data)}, sort_keys=False)
