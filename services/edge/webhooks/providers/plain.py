"""Plain JSON with a bearer token, as curl sends it; a file per sender, so that adding one is adding a file."""

from events.cloudevents import CloudEvent
from services.edge.webhooks.providers.provider import Provider
from services.edge.webhooks.request import WebhookRequest, members, short, text
from services.edge.webhooks.signatures import bearer


def event(request: WebhookRequest) -> CloudEvent:
    """Named by ``Idempotency-Key``, or by its body."""
    kind = text(members(request.body), "type")
    return CloudEvent(
        id=short(request.headers.get("idempotency-key") or request.digest(), "Idempotency-Key"),
        source=request.place,
        type=short(kind, "type") if kind else "dev.alate.hook.plain",
        time=request.now,
        datacontenttype="application/json",
        data=request.body,
    )


PLAIN = Provider("plain", bearer, event)
