"""A stored delivery in the variables of rules: the event, its data, and its endpoint."""

from collections.abc import Mapping
from dataclasses import dataclass

import msgspec

from events.bus import Stored
from events.cloudevents import CloudEvent, Malformed, decode
from schemas.registry import UNREADABLE
from schemas.subjects import names_of
from services.edge.webhooks.secrets import WebhookEndpoint


@dataclass(frozen=True)
class WebhookDelivery:
    """One delivery."""

    event: CloudEvent
    endpoint: WebhookEndpoint
    sequence: int
    """Its sequence in the stream of deliveries."""

    def variables(self) -> Mapping[str, object]:
        """The variables of CEL expressions."""
        event = self.event
        attributes = {"id": event.id, "source": event.source, "type": event.type, "subject": event.subject or ""}
        time = event.time.isoformat() if event.time else ""
        return {
            "event": {**event.extensions, **attributes, "time": time},
            "data": payload(event.data),
            "hook": self.endpoint._asdict(),
        }


def read_delivery(stored: Stored) -> WebhookDelivery:
    """The delivery in a message of the bus. Raises Malformed."""
    try:
        _, provider, tenant, name, _ = names_of(stored.subject)
    except ValueError as error:
        raise Malformed(f"{stored.subject} is no subject of a webhook") from error
    return WebhookDelivery(
        decode(stored.headers, stored.data), WebhookEndpoint(provider, tenant, name), stored.sequence
    )


def payload(data: bytes) -> object:
    """The data of the event if it is JSON; None otherwise."""
    try:
        return msgspec.json.decode(data)
    except UNREADABLE:  # any bytes may be carried; rules see none
        return None
