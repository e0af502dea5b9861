"""CloudEvents that request clusters directly: the endpoint's token is the right to do so, no Trigger is needed."""

from datetime import datetime

import msgspec

from events.bus import Message
from events.cloudevents import CloudEvent, encode, msg_id
from schemas.crds import InvalidResource, read_colony
from schemas.crds.manifest import GROUP, VERSION
from schemas.registry import UNREADABLE, declared, why
from schemas.requests import ClusterRequest
from schemas.subjects import token
from services.edge.triggers.cause import caused_event
from services.edge.triggers.delivery import WebhookDelivery
from services.edge.webhooks.secrets import WebhookEndpoint

TYPE = declared(ClusterRequest).type
PROVIDER = "cloudevents"
ORIGIN = "http"


def is_request(event: CloudEvent, endpoint: WebhookEndpoint) -> bool:
    """Whether it is a request by itself."""
    return endpoint.provider == PROVIDER and event.type == TYPE


def read_request(event: CloudEvent, endpoint: WebhookEndpoint) -> ClusterRequest:
    """What it asks for, its spec unread. Raises InvalidResource."""
    try:
        asked = msgspec.json.decode(event.data, type=ClusterRequest)
    except UNREADABLE as wrong:
        raise InvalidResource(f"data is no request for clusters: {why(wrong)}") from wrong
    if asked.tenant != endpoint.tenant:
        raise InvalidResource(f"tenant is {asked.tenant}: this endpoint asks for tenant {endpoint.tenant} alone")
    return asked


def check(event: CloudEvent, endpoint: WebhookEndpoint) -> None:
    """Read all that it asks for, which takes seconds where its add-ons are large. Raises InvalidResource."""
    asked = read_request(event, endpoint)
    read_colony(
        {"apiVersion": f"{GROUP}/{VERSION}", "kind": "Colony", "metadata": {"name": asked.name}, "spec": asked.spec}
    )


def direct_message(asked: ClusterRequest, delivery: WebhookDelivery, now: datetime) -> tuple[Message, str]:
    """The message of the request, and its id for deduplication: its sender and the event's id."""
    event = caused_event(asked.but(origin=ORIGIN), delivery, delivery.event.id, delivery.endpoint.path, now)
    headers, data = encode(event)
    return Message(f"cluster.requested.{token(asked.tenant)}", data, headers), msg_id(event)
