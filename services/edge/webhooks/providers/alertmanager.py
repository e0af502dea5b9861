"""Prometheus Alertmanager: a group of alerts that fires or is resolved."""

from events.cloudevents import CloudEvent
from services.edge.http.problem import wrong
from services.edge.webhooks.providers.provider import Provider
from services.edge.webhooks.request import WebhookRequest, members, needed, text
from services.edge.webhooks.signatures import bearer

STATUSES = ("firing", "resolved")


def event(request: WebhookRequest) -> CloudEvent:
    """It has no id of its own: equal bytes are the same notification, whether retried or repeated."""
    body = members(request.body)
    if (status := needed(body, "status")) not in STATUSES:
        raise wrong(f"status must be {' or '.join(STATUSES)}", "status")
    if not isinstance(body.get("alerts"), list):
        raise wrong("alerts must be a list: expected a notification of version 4", "alerts")
    return CloudEvent(
        id=request.digest(),
        source=text(body, "externalURL") or request.place,
        type=f"io.prometheus.alertmanager.{status}",
        subject=text(body, "groupKey")[:256] or None,
        time=request.now,
        datacontenttype="application/json",
        data=request.body,
    )


ALERTMANAGER = Provider("alertmanager", bearer, event)
