"""GitLab: signs as Standard Webhooks where configured; else it sends a token, which can be replayed."""

from events.cloudevents import CloudEvent
from services.edge.webhooks.providers.provider import Provider
from services.edge.webhooks.request import WebhookRequest, members, moment, needed, short, text
from services.edge.webhooks.signatures import signed_standard, token

STEPS = ("action", "status")
"""What of ``object_attributes`` says what has become of it: of merge requests, of pipelines."""


def verify(request: WebhookRequest) -> None:
    if "webhook-signature" in request.headers:
        signed_standard(request)
    else:
        token(request, "x-gitlab-token")


def event(request: WebhookRequest) -> CloudEvent:
    """``com.gitlab.<kind>.<step>`` of the project, e.g. ``com.gitlab.merge_request.open``."""
    body = members(request.body)
    steps = (text(body, "object_attributes", step) for step in STEPS)
    kind = ".".join(filter(None, ("com.gitlab", needed(body, "object_kind"), next(filter(None, steps), ""))))
    names = (text(body, "object_attributes", part) for part in ("iid", "id"))
    return CloudEvent(
        id=_delivery(request),
        source=text(body, "project", "web_url") or request.place,
        type=short(kind, "object_attributes"),
        subject=next(filter(None, names), None),
        time=moment(body, "object_attributes", "updated_at") or request.now,
        datacontenttype="application/json",
        data=request.body,
    )


def _delivery(request: WebhookRequest) -> str:
    """The same from every retry; older servers send neither header, and then the body names itself."""
    names = (request.headers.get(name, "") for name in ("webhook-id", "idempotency-key"))
    return short(next(filter(None, names), request.digest()), "Idempotency-Key")


GITLAB = Provider("gitlab", verify, event)
