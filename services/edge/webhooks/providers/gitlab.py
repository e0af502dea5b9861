"""GitLab: signs as Standard Webhooks where configured; else it sends a token, which can be replayed."""

from events.cloudevents import CloudEvent
from services.edge.webhooks.providers.provider import Provider
from services.edge.webhooks.request import WebhookRequest, members, moment, needed, short, text
from services.edge.webhooks.signatures import signed_standard, token

STEPS = ("action", "status")
"""What of ``object_attributes`` says what has become of it: of merge requests, of pipelines."""


def verify(said: WebhookRequest) -> None:
    if "webhook-signature" in said.headers:
        signed_standard(said)
    else:
        token(said, "x-gitlab-token")


def event(said: WebhookRequest) -> CloudEvent:
    """``com.gitlab.<kind>.<step>`` of the project, e.g. ``com.gitlab.merge_request.open``."""
    body = members(said.body)
    steps = (text(body, "object_attributes", step) for step in STEPS)
    kind = ".".join(filter(None, ("com.gitlab", needed(body, "object_kind"), next(filter(None, steps), ""))))
    names = (text(body, "object_attributes", part) for part in ("iid", "id"))
    return CloudEvent(
        id=_delivery(said),
        source=text(body, "project", "web_url") or said.place,
        type=short(kind, "object_attributes"),
        subject=next(filter(None, names), None),
        time=moment(body, "object_attributes", "updated_at") or said.now,
        datacontenttype="application/json",
        data=said.body,
    )


def _delivery(said: WebhookRequest) -> str:
    """The same from every retry; older servers send neither header, and then the body names itself."""
    names = (said.headers.get(name, "") for name in ("webhook-id", "idempotency-key"))
    return short(next(filter(None, names), said.digest()), "Idempotency-Key")


GITLAB = Provider("gitlab", verify, event)
