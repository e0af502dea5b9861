"""Plain JSON with a bearer token, as curl sends it; a file per sender, so that adding one is adding a file."""

from events.cloudevents import CloudEvent
from services.edge.webhooks.providers.provider import Provider
from services.edge.webhooks.request import WebhookRequest, members, short, text
from services.edge.webhooks.signatures import bearer


def event(said: WebhookRequest) -> CloudEvent:
    """Named by ``Idempotency-Key``, or by its body."""
    kind = text(members(said.body), "type")
    return CloudEvent(
        id=short(said.headers.get("idempotency-key") or said.digest(), "Idempotency-Key"),
        source=said.place,
        type=short(kind, "type") if kind else "dev.alate.hook.plain",
        time=said.now,
        datacontenttype="application/json",
        data=said.body,
    )


PLAIN = Provider("plain", bearer, event)
