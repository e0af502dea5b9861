"""GitHub: signs the body; the headers name delivery and event and are not signed."""

import re

from events.cloudevents import CloudEvent
from services.edge.http.problem import wrong
from services.edge.webhooks.providers.provider import Provider
from services.edge.webhooks.request import WebhookRequest, members, moment, short, text
from services.edge.webhooks.signatures import signed_hex

_EVENT = re.compile(r"[a-z_]{1,64}")


def verify(request: WebhookRequest) -> None:
    signed_hex(request, "x-hub-signature-256")


def event(request: WebhookRequest) -> CloudEvent:
    """By CloudEvents' own adapter (cloudevents/adapters/github.md), its rows read as one rule."""
    body = members(request.body)
    kind = request.headers.get("x-github-event", "")
    if not _EVENT.fullmatch(kind):
        raise wrong("X-GitHub-Event must name an event, such as workflow_run", "X-GitHub-Event")
    action = text(body, "action")
    sources = (text(body, part, "url") for part in ("repository", "organization", "sender"))
    return CloudEvent(
        id=short(request.headers.get("x-github-delivery", ""), "X-GitHub-Delivery"),
        source=next(filter(None, sources), request.place),
        type=f"com.github.{kind}.{short(action, 'action')}" if action else f"com.github.{kind}",
        subject=text(body, kind, "id") or text(body, kind, "number") or None,
        time=moment(body, kind, "updated_at") or request.now,
        datacontenttype="application/json",
        data=request.body,
    )


GITHUB = Provider("github", verify, event)
