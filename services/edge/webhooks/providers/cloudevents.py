"""CloudEvents 1.0 over HTTP in binary or structured mode, with the endpoint's token."""

from datetime import timedelta

from events.cloudevents import PREFIX, STRUCTURED, CloudEvent, Malformed, decode
from services.edge.http.problem import Problem, wrong
from services.edge.webhooks.providers.provider import Provider
from services.edge.webhooks.request import WebhookRequest, short
from services.edge.webhooks.signatures import TOLERANCE, bearer

OLDEST = timedelta(days=7)
"""An event that happened before that could be a replay of one that we have forgotten."""


def is_event(request: WebhookRequest) -> bool:
    """Whether it is one at all, in either mode."""
    return request.headers.get("content-type", "").lower().startswith(STRUCTURED) or "ce-specversion" in request.headers


def event(request: WebhookRequest) -> CloudEvent:
    return bounded(_read(request), request)


def bounded(found: CloudEvent, request: WebhookRequest) -> CloudEvent:
    """The same event, if its names are short and its time is near. Raises Problem 422."""
    short(found.id, "id")
    short(found.type, "type")
    if found.time and found.time - request.now > TOLERANCE:
        raise wrong(f"time is {found.time.isoformat()}, which is still to come", "time")
    if found.time and request.now - found.time > OLDEST:
        raise wrong(f"time is {found.time.isoformat()}: at most {OLDEST.days} days ago", "time")
    return found


def _read(request: WebhookRequest) -> CloudEvent:
    media = request.headers.get("content-type", "")
    if media.lower().startswith(f"{STRUCTURED}-batch"):
        raise Problem(415, "batches are not taken: send one event a request", "Content-Type")
    structured = {"content-type": media} if media.lower().startswith(STRUCTURED) else {}
    attributes = {name: value for name, value in request.headers.items() if name.startswith(PREFIX)}
    if media and not structured:
        attributes["ce-datacontenttype"] = media  # over HTTP, that is where it stands (HTTP binding 3.1.1)
    try:
        return decode(structured or {"ce-specversion": "", **attributes}, request.body)
    except Malformed as why:
        raise wrong(str(why)) from why


CLOUDEVENTS = Provider("cloudevents", bearer, event, media=frozenset(), handshake=True)
