"""CDEvents, as CloudEvents or as the bare JSON of the specification."""

import re

from events.cloudevents import CloudEvent
from services.edge.http.problem import wrong
from services.edge.webhooks.providers import cloudevents
from services.edge.webhooks.providers.provider import Provider
from services.edge.webhooks.request import WebhookRequest, members, moment, needed, text
from services.edge.webhooks.signatures import bearer

_TYPE = re.compile(r"dev\.cdevents\.[a-z]+\.[a-z]+\.\d+\.\d+\.\d+(-[a-z0-9.]+)?")
SAME = ("id", "source", "type")
"""What the envelope copies from the context (CDEvents' CloudEvents binding)."""


def event(request: WebhookRequest) -> CloudEvent:
    if not cloudevents.is_event(request):
        return cloudevents.bounded(_of_context(request, members(request.body)), request)
    envelope = cloudevents.event(request)
    inner = _of_context(request, members(envelope.data))
    for name in SAME:
        if getattr(envelope, name) != getattr(inner, name):
            raise wrong(f"{name} of the CloudEvent differs from context.{name}: must be equal", f"context.{name}")
    return envelope


def _of_context(request: WebhookRequest, body: dict[str, object]) -> CloudEvent:
    kind = needed(body, "context", "type")
    if not _TYPE.fullmatch(kind):
        raise wrong("context.type must be such as dev.cdevents.pipelinerun.started.0.2.0", "context.type")
    if (time := moment(body, "context", "timestamp")) is None:
        raise wrong("context.timestamp must be a time such as 2026-01-31T12:00:00Z", "context.timestamp")
    return CloudEvent(
        id=needed(body, "context", "id"),
        source=needed(body, "context", "source"),
        type=kind,
        subject=text(body, "subject", "id") or None,
        time=time,
        datacontenttype="application/json",
        data=request.body,
    )


CDEVENTS = Provider("cdevents", bearer, event, media=frozenset(), handshake=True)
