"""Standard Webhooks (id, time and body are signed); a file per sender, so that adding one is adding a file."""

from events.cloudevents import CloudEvent
from services.edge.webhooks.providers.provider import Provider
from services.edge.webhooks.request import WebhookRequest, members, moment, short, text
from services.edge.webhooks.signatures import signed_standard


def event(request: WebhookRequest) -> CloudEvent:
    """``type`` and ``timestamp`` are where the specification advises to put them."""
    body = members(request.body)
    kind = text(body, "type")
    return CloudEvent(
        id=request.headers["webhook-id"],
        source=request.place,
        type=short(kind, "type") if kind else "com.standardwebhooks.message",
        time=moment(body, "timestamp") or request.now,
        datacontenttype="application/json",
        data=request.body,
    )


STANDARD = Provider("standard", signed_standard, event)
